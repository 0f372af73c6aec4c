"""Check a text against the part of the style rules that a program can check.

The rules are sentence length, openings with a clause as a subject, passive forms of everyday verbs, and a
list of private or archaic words. Code, paths, tables' markup and quotations are ignored.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from .pages import without_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_WORDS = 30  # The style asks for 25; this leaves room for lists.

_RULES = {
    "a clause is the subject": re.compile(
        r"^(?:Who|Whoever|Whom|Whose|Whatever|What) [a-z].*\.$"
        r"|^That (?:it|he|they|the|a|an|each|nobody|someone)\b"
    ),
    "an everyday verb in a private meaning": re.compile(
        r"\b(?:is|are|was|were|be|been) (?:told|said|heard|looked|given out)\b"
    ),
    "a word of the list": re.compile(
        r"\b(?:whoever|whomever|nobody drives|nobody drove|goes on|go on|went on|going on|somebody|anybody|"
        r"everybody|meanwhile|besides|hears? of|for ever|comes? to stand|(?<!there )(?:is|are|was|were) no|"
        r"stands? (?:in|at|on|there|beside|above|below|before|after|idle)|mends?|mended|mending|"
        r"deeds?|cues?|by way of|all the same|the very|speaks? with|honest answer|lies around|lay around)\b",
        re.IGNORECASE,
    ),
}
# Plain in their standard meaning.
_ALLOWED = re.compile(
    r"\b(?:is|are|was|were) no (?:longer|more|better|faster)\b|\bthe very (?:first|last)\b", re.IGNORECASE
)
_NAMES = "headcount|git|opencode|tmux|apsw|supervisord"  # They may begin a sentence.
_END = re.compile(rf"(?<=[.!?])\s+(?=[A-Z*(“\"\d]|(?:{_NAMES})\b)|[;:]\s+")


def problems(sentence: str) -> list[str]:
    """Return what is wrong with one sentence, as short texts."""
    plain = _ALLOWED.sub("", sentence)
    found = [f"{rule}: {match[0]!r}" for rule, pattern in _RULES.items() if (match := pattern.search(plain))]
    count = len(re.findall(r"\b(?!CODE\b|QUOTE\b)[A-Za-z][\w'’#-]*", plain))
    return [*found, f"{count} words"] if count > MOST_WORDS else found


def sentences(text: str) -> Iterator[str]:
    """Split prose into sentences. Code becomes one word, so that its content is neither read nor counted."""
    text = re.sub(r"``[^`]+``|`[^`\n]+(?:\n[^`\n]+)?`", "CODE", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\"[^\"\n]{1,200}\"|“[^”]*”", "QUOTE", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.) )|\n(?=\|)|\|", text):
        words = re.sub(r"\*\*", "", " ".join(paragraph.split()).lstrip("#>*- ").strip())
        yield from (part.strip() for part in _END.split(words) if re.search(r"[a-z]", part))


def page_sentences(page: Path) -> Iterator[str]:
    text = without_blocks(page.read_text(encoding="utf-8"))
    text = re.sub(r"<!--.*?-->|^    .*$|<[a-z/][^>]*>", "", text, flags=re.S | re.M)
    yield from sentences(text)


def docstring_sentences(module: Path) -> Iterator[tuple[int, str]]:
    """Yield line and sentence of the docstrings of a module, its public classes and functions."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if getattr(node, "name", "").startswith("_"):
            continue
        text = ast.get_docstring(node)
        if text:
            prose = re.sub(r"^    .*$", "", text, flags=re.M)  # an indented block is a table or an example
            line = getattr(node, "lineno", 1)
            yield from ((line, sentence) for sentence in sentences(prose))
