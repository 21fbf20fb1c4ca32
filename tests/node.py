"""Canonical JSON as ECMAScript itself writes it, by a node process."""

from __future__ import annotations

import json
import subprocess
from typing import Any

# Reads a JSON text a line, writes it canonically: keys that are array indexes first, as
# objects keep them, then the others in the order of their code units.
_SCRIPT = r"""
const canonical = (value) => {
  if (Array.isArray(value)) return "[" + value.map(canonical).join(",") + "]";
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const index = (key) => /^(0|[1-9][0-9]{0,9})$/.test(key) && Number(key) <= 4294967294;
  const keys = Object.keys(value);
  const ordered = [
    ...keys.filter(index).sort((a, b) => Number(a) - Number(b)),
    ...keys.filter((key) => !index(key)).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
  ];
  return "{" + ordered.map((k) => JSON.stringify(k) + ":" + canonical(value[k])).join(",") + "}";
};
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    process.stdout.write(JSON.stringify(canonical(JSON.parse(line))) + "\n");
  }
});
"""


class Node:
    """One node process that answers line by line."""

    def __init__(self, command: str) -> None:
        self._process = subprocess.Popen(
            [command, "-e", _SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def canonical(self, value: Any) -> str:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(value) + "\n")
        stdin.flush()
        text: str = json.loads(stdout.readline())
        return text

    def end(self) -> None:
        self._process.communicate()
