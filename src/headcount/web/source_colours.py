"""Colour source text by Pygments, in a child with limits: its lexers are regular expressions.

A member writes the text, and a crafted one can keep a lexer busy for hours. The kernel then ends the child,
and the text is shown without colours. With `-I` the child imports nothing of the working directory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Piece = list[str]
"""The name of a colour, which may be empty, and a text."""

SECONDS = 5
_BYTES = 1 << 29
_MOST_CHARACTERS = 600_000
# The beginning of a token's name in Pygments -> the class of the page's style.
_CLASSES = (
    ("Comment", "c"), ("Keyword", "k"), ("Operator.Word", "k"), ("Literal.String", "s"),
    ("Literal.Number", "n"), ("Name.Function", "f"), ("Name.Class", "f"), ("Name.Tag", "k"),
    ("Name.Decorator", "d"), ("Name.Attribute", "d"), ("Name.Builtin", "b"), ("Name.Constant", "b"),
    ("Generic.Heading", "f"), ("Generic.Subheading", "f"),
)  # fmt: skip


def colour(path: str, parts: Sequence[Sequence[str]]) -> list[list[list[Piece]]] | None:
    """Return the pieces of each line of each part; None where there is no lexer or it took too long."""
    if not parts or sum(len(line) for part in parts for line in part) > _MOST_CHARACTERS:
        return None
    try:
        child = subprocess.run(
            [sys.executable, "-I", "-m", "headcount.web.source_colours", str(SECONDS)],
            input=json.dumps({"path": path, "parts": parts}), capture_output=True, text=True, check=True,
            timeout=6 * SECONDS, cwd="/", env={},
        )  # fmt: skip
        found: list[list[list[Piece]]] | None = json.loads(child.stdout)
    except (subprocess.SubprocessError, OSError, ValueError):
        return None
    return found


def _colour(path: str, parts: list[list[str]]) -> list[list[list[Piece]]] | None:
    from pygments.lexers import find_lexer_class_for_filename

    lexer_class = find_lexer_class_for_filename(path.rpartition("/")[2])
    if lexer_class is None:
        return None
    lexer = lexer_class(stripnl=False, ensurenl=False)
    return [_split(lexer.get_tokens_unprocessed("\n".join(lines))) for lines in parts]


def _split(tokens: Any) -> list[list[Piece]]:
    """Return tokens by line; neighbours of one colour are one piece."""
    lines: list[list[Piece]] = [[]]
    for _, kind, text in tokens:
        name = str(kind).removeprefix("Token.")
        colour = next((short for start, short in _CLASSES if name.startswith(start)), "")
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append([])
            if part and lines[-1] and lines[-1][-1][0] == colour:
                lines[-1][-1][1] += part
            elif part:
                lines[-1].append([colour, part])
    return lines


def _main() -> None:
    import resource

    seconds = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    given = json.load(sys.stdin)
    json.dump(_colour(given["path"], given["parts"]), sys.stdout)


if __name__ == "__main__":
    _main()
