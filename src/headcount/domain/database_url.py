"""Show the URL of a database to people."""

from __future__ import annotations

import re

_IN_FRONT = re.compile(r"(?<=://)([^/?#:@]*):.*(?=@)")
_BEHIND = re.compile(r"([?&]password=)[^&]*")


def hide_password(url: str) -> str:
    """Return the URL without its password."""
    return _BEHIND.sub(r"\1***", _IN_FRONT.sub(r"\1", url))
