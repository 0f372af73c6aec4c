"""Moments, as everybody reads them."""

from __future__ import annotations

import time


def utc(at: float) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at * 1000) % 1000:03d}+00:00"
