"""Every story, told again: what each command leads to is exactly what the file says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .story import tell

STORIES = sorted((Path(__file__).parent / "stories").glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story_goes_as_it_is_written(path: Path) -> None:
    told = tell(path.read_text(encoding="utf-8"))
    if os.environ.get("HEADCOUNT_REWRITE"):
        path.write_text(told, encoding="utf-8")
    assert told == path.read_text(encoding="utf-8")
