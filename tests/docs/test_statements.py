"""The page of the requirements' statements is written from its table, and its tests exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("write_statements", ROOT / "scripts/write_statements.py")
assert _spec and _spec.loader
statements = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(statements)


def test_the_committed_page_is_the_written_one() -> None:
    assert statements.PAGE.read_text() == statements.render(), "run python scripts/write_statements.py"


def test_every_statement_names_a_test_that_exists_or_says_what_is_missing() -> None:
    known = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^\s*def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    for row in statements.read():
        assert row.get("open") or row["shown"] in known, row["says"]
        if "case" in row:
            assert (ROOT / "tests/golden/corpus" / row["case"] / "expected.md").is_file(), row["says"]


def test_every_document_has_statements() -> None:
    assert {row["document"] for row in statements.read()} == set(statements.DOCUMENTS)
