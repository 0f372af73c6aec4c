"""The tutorial, done as a reader would do it: what it shows is what comes out."""

from __future__ import annotations

import pytest

from .pages import DOCS, read_blocks
from .reader import Reader


@pytest.mark.timeout(300)
def test_tutorial_shows_what_its_commands_print(reader: Reader) -> None:
    blocks = read_blocks(DOCS / "tutorial.md")
    assert sum(block.language == "bash" for block in blocks) >= 14
    assert sum(block.file is not None for block in blocks) == 8
    reader.follow(DOCS / "tutorial.md")
