"""Strings as JavaScript source that evaluates to exactly them, inside a fence of a UTF-8 file.

Markdown normalises carriage returns and NUL, JavaScript normalises carriage returns in a template and
ends a comment at U+2028, and UTF-8 cannot hold a lone surrogate: all of these are written as escapes.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Final

_OUTSIDE_ASCII: Final = {0x2028: "\\u2028", 0x2029: "\\u2029", 0xFEFF: "\\ufeff"}
# In a template a line break and a tab stand as they are.
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in range(0x20) if code not in (0x09, 0x0A)}
_IN_TEMPLATE: Final = {**_CONTROLS, 0x0D: "\\r", **_OUTSIDE_ASCII}


def string(text: str) -> str:
    """A double-quoted string literal."""
    literal = encode_basestring(text)
    return literal if literal.isascii() else _encodable(literal.translate(_OUTSIDE_ASCII))


def template(text: str) -> str:
    """A template literal. Every `$` is escaped, so that no reader has to look for the brace."""
    text = text.replace("\\", "\\\\").replace("`", "\\`").replace("$", "\\$")
    if not text.isprintable():
        text = _encodable(text.translate(_IN_TEMPLATE))
    return f"`{text}`"


def _encodable(text: str) -> str:
    """Python writes the escape of a lone surrogate, `\\ud800`, as JavaScript does."""
    return text.encode(errors="backslashreplace").decode()
