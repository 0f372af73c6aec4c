from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import diagram

PAGE = Path(__file__).parents[2] / "docs/explanation/protocol.md"


def test_the_committed_page_is_what_the_tables_say() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert diagram.fill(text) == text, f"run: python -m tests.support.diagram --write {PAGE}"


def test_a_page_without_a_marker_is_refused() -> None:
    with pytest.raises(ValueError, match="member-diagram"):
        diagram.fill("# nothing is marked here\n")


def test_the_command_says_whether_a_page_is_current_and_writes_it(tmp_path: Path) -> None:
    stale = tmp_path / "page.md"
    text = PAGE.read_text(encoding="utf-8")
    stale.write_text(text.replace("| asked | approved |", "| asked | applauded |"), encoding="utf-8")
    assert diagram.main([str(stale)]) == 1
    assert diagram.main([str(stale), "--write"]) == 0
    assert stale.read_text(encoding="utf-8") == text
