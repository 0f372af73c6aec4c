"""The page of the requirements' statements is written from its table, and every row of it is run or found."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from .pages import ROOT
from .reader import Reader
from .scripts import load_script

statements = load_script("write_statements.py")
ROWS = statements.read()
SCRATCH = Path(__file__).parent / "statements"


def test_the_committed_page_is_the_written_one() -> None:
    assert statements.PAGE.read_text() == statements.render(), "run python scripts/write_statements.py"


def test_every_statement_has_one_way_to_be_shown() -> None:
    assert len(ROWS) >= 234
    for row in ROWS:
        assert len({"run", "shown", "open"} & set(row)) == 1, row["number"]
    assert len({row["says"] for row in ROWS}) == len(ROWS)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("document", statements.DOCUMENTS)
def test_every_command_of_the_page_shows_its_statement(document: int, reader: Reader) -> None:
    _prepare(reader)
    printed: dict[str, tuple[int, str]] = {}
    problems = []
    for row in ROWS:
        if row["document"] == document and "run" in row:
            if row["run"] not in printed:
                done = reader.run(row["run"])
                printed[row["run"]] = done.returncode, done.stdout + done.stderr
            problems += [f"{row['number']} {row['says']}: {why}" for why in _lacks(row, *printed[row["run"]])]
    assert not problems, "\n".join(problems)


def _prepare(reader: Reader) -> None:
    """A repository with the files of the page, and limits that do not keep a test waiting."""
    shutil.copytree(SCRATCH, reader.home / "statements")
    reader.cwd = str(reader.home / "statements")
    reader.env |= {"HEADCOUNT_POLICY_EXIT_GRACE_S": "0.3"}
    assert reader.run("git init --quiet && git add . && git commit --quiet -m Statements").returncode == 0


def _lacks(row: dict[str, Any], code: int, printed: str) -> list[str]:
    """What is wrong with an answer: its exit code, a text that is missing, or one that may not be there."""
    wrong = [f"exit code {code}\n{printed}"] if code != row.get("exit", 0) else []
    at = 0
    for text in row.get("prints", ()):
        found = printed.find(text, at)
        if found < 0:
            wrong.append(f"did not print {text!r}\n{printed}")
            break
        at = found + len(text)
    return wrong + [f"printed {text!r}" for text in row.get("never", ()) if text in printed]


def test_every_named_test_exists_and_is_run_by_ci() -> None:
    steps = re.findall(r"\./check(?: --\w+)?$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert "./check --all" in steps or {"./check", "./check --rest", "./check --clients"} <= set(steps)
    run = _tests_that_are_run()
    assert [row["number"] for row in ROWS if "shown" in row and row["shown"] not in run] == []


def _tests_that_are_run() -> set[str]:
    """The names of all test functions, without those that are always skipped."""
    found = set()
    for file in (ROOT / "tests").rglob("*.py"):
        text = file.read_text()
        if "def test_" not in text or "\npytestmark = pytest.mark.skip(" in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = [ast.unparse(mark) for mark in node.decorator_list]
                if not any(mark.startswith("pytest.mark.skip(") for mark in marks):
                    found.add(node.name)
    return found
