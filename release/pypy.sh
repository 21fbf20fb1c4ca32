#!/usr/bin/env bash
# The pure wheel's own test suite on PyPy, for which there is no wheel of ours: release/pypy.sh DIST FOLDER [pytest's arguments]
#
# $PYPY is the interpreter, of Python 3.11 or newer. Without it, and as root on a Debian with debootstrap, a
# Debian 13 that has one is made in FOLDER. The tests are those of the sdist, without the package beside them.
set -euo pipefail

dist=$(realpath "$1") folder=$2
shift 2
mkdir -p "$folder"
folder=$(realpath "$folder")
root=$folder/root work=$folder/work
rm -rf "$work"
mkdir -p "$work/wheels"

printf '%s\n' click hypothesis opentelemetry-sdk prometheus-client pytest pytest-timeout pytest-xdist rich sybil \
    >"$work/needs.txt"
"${HOST_PYTHON:-python3}" -m pip download --quiet --dest "$work/wheels" --only-binary :all: \
    --platform any --implementation py --abi none --python-version 3.11 \
    --requirement "$work/needs.txt" pip virtualenv
cp "$dist"/fencepost-*-py3-none-any.whl "$work/wheels"
mkdir "$work/source"
tar --extract --gzip --strip-components 1 --directory "$work/source" --file "$dist"/fencepost-*.tar.gz
rm -r "$work/source/python"
# To be read alone, where the README and the pages name them: the harness needs what PyPy has no build of.
mkdir "$work/source/stress"
cp -r stress/tests "$work/source/stress"

cat >"$work/run" <<'RUN'
#!/bin/sh
set -eu
pypy=$1
shift
cd "$(dirname "$0")"
pip="$pypy -m pip install --quiet --root-user-action ignore --no-index --find-links wheels"
PYTHONPATH=$(echo wheels/pip-*.whl) $pip --target tools virtualenv
PYTHONPATH=tools "$pypy" -m virtualenv --quiet environment
PYTHONPATH=$(echo wheels/pip-*.whl) environment/bin/python -m pip install --quiet --root-user-action ignore \
    --no-index --find-links wheels --requirement needs.txt fencepost
cd source
../environment/bin/python --version
../environment/bin/fencepost info
exec ../environment/bin/python -m pytest -p no:cacheprovider "$@"
RUN

if [ -n "${PYPY:-}" ]; then
    exec sh "$work/run" "$PYPY" "$@"
fi
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "no PyPy to test with: set PYPY, or be root and install debootstrap" >&2
    exit 1
fi
if [ ! -x "$root/usr/bin/pypy3" ]; then
    rm -rf "$root"
    debootstrap --variant=minbase --include=pypy3 trixie "$root" >"$folder/debootstrap.log" || {
        tail -5 "$folder/debootstrap.log" >&2
        exit 1
    }
fi
# In a mount namespace of their own, /proc and /dev are gone again with the last process.
mkdir -p "$root/suite"
exec unshare --mount --fork sh -c '
    root=$1 work=$2
    shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --bind "$work" "$root/suite"
    exec chroot "$root" sh /suite/run /usr/bin/pypy3 "$@"
' sh "$root" "$work" "$@"
