"""How many files may be open. An engine holds two descriptors for each member, so it takes what it is allowed
to; its members get back what it was started with, because a program that uses select() breaks above 1,024."""

from __future__ import annotations

import resource

_MOST = 65536  # more than the members of a machine need; some programs close every number up to the limit
_AT_START = resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def members_file_limit() -> int:
    """The soft limit that this process was started with."""
    return _AT_START
