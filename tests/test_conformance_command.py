"""`fencepost conformance`: what passes, what differs, and what is no test at all."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli import main
from fencepost.conformance.operations import METHODS
from tests.support import VECTORS

SMALL = str(VECTORS / "canonical-json.jsonl")
SOME = (SMALL, str(VECTORS / "validation.jsonl"))

# A port of the store, as somebody else would wrap it: JSON lines in, JSON lines out.
ADAPTER = """
import json, sys
import fencepost
from fencepost.conformance import operations

store = None
for line in sys.stdin:
    request = json.loads(line)
    op, args = request["op"], request["args"]
    try:
        if op == "open":
            store, result = fencepost.open(args["path"], engine="python", synchronous="off"), None
        elif op == "dump":
            result = operations.dump(store)
        elif op == "close":
            result = store.close()
        else:
            result = operations.call(store, op, args)
        answer = {"result": result}
    except fencepost.FencepostError as error:
        answer = {"error": error.code}
    print(json.dumps(answer, ensure_ascii=False), flush=True)
"""


def command(tmp_path: Path, source: str) -> str:
    file = tmp_path / "adapter.py"
    file.write_text(source, "utf-8")
    return shlex.join([sys.executable, "-X", "utf8", "-W", "ignore", str(file)])


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main(["conformance", *arguments, "--json"])
    printed = capsys.readouterr().out
    return code, json.loads(printed) if printed else {}


def one_case(name: str = "ops-mixed") -> dict[str, Any]:
    with (VECTORS / f"{name}.jsonl").open(encoding="utf-8") as lines:
        case: dict[str, Any] = json.loads(list(lines)[1])
    return case


def written(tmp_path: Path, *cases: dict[str, Any]) -> str:
    file = tmp_path / "vectors.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")
    return str(file)


def test_vectors_pass(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = written(tmp_path, one_case("ops-mixed"), one_case("ops-more"))
    code, summary = run(*SOME, cases, "--engine", engine, capsys=capsys)
    assert code == 0
    assert summary == {"cases": 153, "passed": 153, "failed": []}


def test_the_report_in_words(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", SMALL, "--engine", engine]) == 0
    assert capsys.readouterr().out == f"{SMALL}: 48 of 48 cases pass\n"


def test_a_port_behind_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = written(tmp_path, one_case("ops-mixed"), one_case("ops-more"))
    port = command(tmp_path, ADAPTER)
    code, summary = run(*SOME, cases, "--command", port, capsys=capsys)
    assert (code, summary["failed"], summary["cases"]) == (0, [], 153)


def planted_result(case: dict[str, Any]) -> str:
    for index, op in enumerate(case["ops"]):
        if isinstance(op.get("result"), dict) and "metadata" in op["result"]:
            op["result"]["metadata"]["generation"] += 1
            return f"ops[{index}] {op['op']}.metadata.generation: expected 2, got 1"
    raise AssertionError("the case has no resource")


def planted_error(case: dict[str, Any]) -> str:
    case["ops"][0].pop("result", None)
    case["ops"][0]["error"] = "busy"
    return f"ops[0] {case['ops'][0]['op']}: expected the error busy, got"


def planted_row(case: dict[str, Any]) -> str:
    case["tables"]["resources"][0]["resource_version"] += 100
    return "tables.resources[0].resource_version: expected 1"


def planted_type(case: dict[str, Any]) -> str:
    row = case["tables"]["resources"][0]
    row["generation"] = str(row["generation"])
    return "tables.resources[0].generation: expected"


def planted_missing_row(case: dict[str, Any]) -> str:
    rows = case["tables"]["resources"]
    rows.pop()
    return f"tables.resources: expected {len(rows)} items, got {len(rows) + 1}"


def planted_member(case: dict[str, Any]) -> str:
    del case["tables"]["resources"][0]["updated_at"]
    return "tables.resources[0]: expected members"


def planted_id(case: dict[str, Any]) -> str:
    """One id where the store gives two."""
    first, second = case["tables"]["resources"][:2]
    second["uid"] = first["uid"]
    return "tables.resources[1].uid: expected"


@pytest.mark.parametrize(
    "plant",
    [
        planted_result,
        planted_error,
        planted_row,
        planted_type,
        planted_missing_row,
        planted_member,
        planted_id,
    ],
)
def test_a_planted_difference_is_named(
    engine: str, plant: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, right = one_case("ops-mixed"), one_case("ops-more")
    says = plant(wrong)
    file = written(tmp_path, wrong, right)
    code, summary = run(file, "--engine", engine, capsys=capsys)
    assert code == 1
    assert (summary["cases"], summary["passed"]) == (2, 1)
    (failed,) = summary["failed"]
    assert (failed["file"], failed["case"]) == (file, wrong["id"])
    assert any(says in difference for difference in failed["differences"])
    assert main(["conformance", file, "--engine", engine]) == 1
    printed = capsys.readouterr().out
    assert f"{file}: {wrong['id']}: differs\n" in printed
    assert says in printed
    assert f"{file}: 1 of 2 cases pass\n" in printed


def test_every_planted_wrong_result_is_found(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each operation of a case in turn gets a result that it does not have."""
    ops = len(one_case()["ops"])
    for index in range(0, ops, 9):
        case = one_case()
        op = case["ops"][index]
        if "error" in op:
            del op["error"]
        op["result"] = {"planted": index}
        code, summary = run(written(tmp_path, case), "--engine", engine, capsys=capsys)
        assert code == 1
        assert f"ops[{index}] {op['op']}" in summary["failed"][0]["differences"][0]


def test_planted_canonical_and_validation_differences(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {"json": "1.0", "canonical": "1.0", "sha256": "x"}
    code, summary = run(written(tmp_path, wrong), "--engine", engine, capsys=capsys)
    assert (code, summary["failed"][0]["case"]) == (1, "line 1")
    accepted = {"op": "list_events", "args": {}, "error": "invalid"}
    refused = {"op": "list_events", "args": {"limit": 0}, "ok": True}
    code, summary = run(written(tmp_path, accepted, refused), "--engine", engine, capsys=capsys)
    assert code == 1
    assert [failed["differences"] for failed in summary["failed"]] == [
        ["list_events: expected the error invalid, got acceptance"],
        ["list_events: expected acceptance, got invalid (limit: 0 is not within 1 to 10000)"],
    ]


def test_a_port_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost = ADAPTER.replace('answer = {"result": result}', 'answer = {"result": result or None}')
    case = written(tmp_path, one_case())
    code, summary = run(case, "--command", command(tmp_path, lost), capsys=capsys)
    assert code == 1
    assert summary["failed"]


CASE = {"id": "x", "tables": {}}
BAD_FILES = [
    "",
    "{",
    "[1]",
    '{"json":"1"}',
    '{"json":"1","canonical":"1"}',
    '{"id":"x","ops":5,"tables":{}}',
    '{"id":"x","ops":[5],"tables":{}}',
    json.dumps({**CASE, "ops": [{"op": "get_resource", "args": {"controller": "a", "key": "k"}}]}),
    json.dumps({**CASE, "ops": [{"op": "unheard_of", "args": {}, "result": None}]}),
    json.dumps({**CASE, "ops": [{"op": "list_events", "args": {"x": 1}, "result": None}]}),
    '{"op":"unheard_of","args":{},"ok":true}',
]


@pytest.mark.parametrize("text", BAD_FILES, ids=range(len(BAD_FILES)))
def test_bad_files_are_bad_usage(
    text: str, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(text)
    assert main(["conformance", str(file), "--engine", engine]) == 254
    assert capsys.readouterr().err.startswith("fencepost conformance: ")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["missing.jsonl"],
        ["/"],
        [SMALL, "--engine", "rust"],
        [SMALL, "--unheard-of"],
        [SMALL, "--engine", "python", "--command", "x"],
    ],
    ids=str,
)
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["conformance", *arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 254
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    "port",
    [
        "/nonexistent/command",
        "",
        "'",
        shlex.join([sys.executable, "-c", ""]),
        shlex.join([sys.executable, "-c", "raise SystemExit(3)"]),
        shlex.join([sys.executable, "-c", "import sys; print(sys.stdin.readline())"]),
        shlex.join([sys.executable, "-c", "print('no json', flush=True); input()"]),
        shlex.join(
            [sys.executable, "-c", 'while input(): print(\'{"error": "busy"}\', flush=True)']
        ),
        shlex.join([sys.executable, "-c", "while input(): print('{\"result\": 5}', flush=True)"]),
    ],
    ids=lambda port: port[-30:],
)
@pytest.mark.parametrize("file", ["validation", "ops-mixed"])
def test_a_command_that_does_not_work(
    port: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["conformance", str(VECTORS / f"{file}.jsonl"), "--command", port])
    answers_five = "result" in port and file == "ops-mixed"
    assert code == (1 if answers_five else 254)
    assert "Traceback" not in capsys.readouterr().err


def test_every_operation_of_the_vectors_is_known() -> None:
    ops = set()
    for name in ("ops-mixed", "ops-more"):
        for line in (VECTORS / f"{name}.jsonl").read_text("utf-8").split("\n"):
            if line:
                ops |= {op["op"] for op in json.loads(line)["ops"]}
    assert ops == set(METHODS)
