"""Writing JSON without `json`, whose import costs a member's command a quarter of its time.

The text is the same that `json.dumps(value, ensure_ascii=False, separators=(",", ":"))` makes; reading is
left to SQLite or to `json` itself.
"""

from __future__ import annotations

try:
    from _json import encode_basestring as quote  # the C functions that `json` itself uses
    from _json import encode_basestring_ascii as quote_ascii
except ImportError:  # another Python than CPython
    from json.encoder import encode_basestring as quote
    from json.encoder import encode_basestring_ascii as quote_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Raw", "dumps", "quote", "quote_ascii"]


class Raw(str):
    """Text that is JSON already."""

    __slots__ = ()


def dumps(value: object, quote: Callable[[str], str] = quote) -> str:
    if value is None:
        return "null"
    if isinstance(value, Raw):
        return value
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(key)}:{dumps(item, quote)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(dumps(item, quote) for item in value) + "]"
    raise TypeError(f"{type(value).__name__} has no JSON")
