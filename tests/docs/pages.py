"""The pages of the documentation, and how their examples are run.

A page reads well anywhere, so what is done with an example shows in the example itself:

- Python that begins with a comment like `# worker.py` is that file, in the page's folder;
- other Python is executed, all of a page in one namespace; `>>>` shows what comes back;
- `console` is what somebody types after `$ ` in one shell, and what they see; `...` stands
  for anything;
- blocks of other languages (and none) are not run.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

from tests.docs.shell import Shell

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RUN_ELSEWHERE = {
    "stress-your-code": "stress/tests/test_docs.py",
    "testing-your-queue": "stress/tests/test_systems.py",
    "findings": "stress/tests/test_findings.py",
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_FILE = re.compile(r"# ([\w/]+\.py)\n")


def pages() -> list[str]:
    """All pages, without their suffix, relative to the documentation's folder."""
    found = (path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md"))
    return sorted(str(path) for path in found if not str(path).startswith("_"))


def text(page: str) -> str:
    return (DOCS / f"{page}.md").read_text("utf-8")


def has_examples(page: str) -> bool:
    return (
        page not in RUN_ELSEWHERE
        and re.search(r"^```(python|console)", text(page), re.M) is not None
    )


class Runner:
    """Runs the examples of one page, in their order, in a folder of its own."""

    def __init__(self, folder: Path, shell: Shell) -> None:
        self._folder = folder
        self._shell = shell
        self._python = PythonEvaluator()
        self.count = 0

    def run(self, page: str) -> None:
        parsers = [
            PythonCodeBlockParser(doctest_optionflags=FLAGS),
            CodeBlockParser("console", self._console),
        ]
        parsers[0].codeblock_parser._evaluator = self._block
        for example in Sybil(parsers).parse(DOCS / f"{page}.md").examples():
            example.evaluate()
            self.count += 1

    def _block(self, example: Example) -> str | None:
        source = str(example.parsed)
        named = _FILE.match(source)
        if named is None:
            self._python(example)
        else:
            path = self._folder / named[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source, "utf-8")
        return None

    def _console(self, example: Example) -> str | None:
        checker = doctest.OutputChecker()
        for command, wanted in commands(str(example.parsed)):
            got = self._shell.run(command)
            if not checker.check_output(wanted, got, FLAGS):
                return f"$ {command}\nshould print\n{wanted}\nand printed\n{got}"
        return None


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown below it."""
    found = []
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        lines = part.splitlines(keepends=True)
        end = 1
        while lines[end - 1].endswith("\\\n"):
            end += 1
        found.append(("".join(lines[:end]).rstrip("\n"), "".join(lines[end:])))
    return found
