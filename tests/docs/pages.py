"""Reading a page of the docs: its blocks, in order, and what each is for.

A `bash` block is run. A `text` block after it is what it printed. A block after a paragraph that ends in
"into `NAME`:" is the content of that file. Everything else is only for reading.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])

_BLOCK = re.compile(r"^(?P<fence>`{3,})(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=fence)$", re.M | re.S)
_FILE_BEFORE = re.compile(r"into `(?P<name>[\w./-]+)`:\s*\Z")


class Block(NamedTuple):
    language: str
    text: str
    line: int
    file: str | None
    """The file that it is the content of."""


def read_blocks(page: Path) -> list[Block]:
    text = page.read_text()
    blocks = []
    for found in _BLOCK.finditer(text):
        named = _FILE_BEFORE.search(text, 0, found.start())
        line = text.count("\n", 0, found.start()) + 2
        blocks.append(Block(found["language"], found["text"], line, named["name"] if named else None))
    return blocks


def without_blocks(text: str) -> str:
    return _BLOCK.sub("", text)
