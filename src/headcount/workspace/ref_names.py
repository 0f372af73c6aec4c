"""Names in paths, branches and refs: the only place where one becomes the other.

Every mapping here is injective: two names never meet in one path, and nothing is found or deleted by
prefix. Valid team and member names stand for themselves; a byte that is not valid in one is written as
`%XX`, so even a name that should never have come this far cannot leave its directory. A repeat of a name
gets `.2`, `.3`, …: a full stop is in no valid name, so `alice-2` and the second `alice` stay apart.
"""

from __future__ import annotations

import re

HEADS = "refs/heads/"
SALVAGE = "refs/headcount/salvage"
CHECKPOINTS = "refs/headcount/checkpoints"
PLACED = "refs/headcount/placed"  # at a hub: which host has an incarnation

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_SALVAGE_REF = re.compile(SALVAGE + r"/([^/]+)/([^/]+)/(\d+)(?:\.(\d+))?")
_ESCAPED = re.compile(rb"%|\.git(?:modules)?$", re.IGNORECASE)


def encode(name: str) -> str:
    """A name as one path component; itself, if it is a valid name."""
    octets = name.encode("utf-8", "surrogateescape")
    return "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in octets) or "%"


def decode(component: str) -> str:
    octets = re.sub(rb"%([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), component.encode())
    return "" if component == "%" else octets.decode("utf-8", "surrogateescape")


def numbered(name: str, n: int) -> str:
    """The nth of its name; the first has no number."""
    return name if n == 1 else f"{name}.{n}"


def branch_name(team: str, member: str, n: int) -> str:
    # A member may be called "integration"; the team's branch of that name is not its branch.
    n += member == "integration"
    return numbered(f"headcount/{encode(team)}/{encode(member)}", n)


def integration_name(team: str) -> str:
    return f"headcount/{encode(team)}/integration"


def salvage_ref(team: str, member: str, generation: int, n: int) -> str:
    """`…/<generation>`, later `…/<generation>.2`: git cannot hold `…/1` and `…/1/2` side by side."""
    return numbered(f"{SALVAGE}/{encode(team)}/{encode(member)}/{generation}", n)


def parse_salvage_ref(ref: str) -> tuple[str, str, int, int] | None:
    """(team, member, generation, n), or None for a ref that is not one of ours."""
    found = _SALVAGE_REF.fullmatch(ref)
    if not found:
        return None
    return decode(found[1]), decode(found[2]), int(found[3]), int(found[4] or 1)


def checkpoint_ref(team: str, member: str, generation: int) -> str:
    return f"{CHECKPOINTS}/{encode(team)}/{encode(member)}/{generation}"


def placed_ref(team: str, member: str, generation: int, host: str) -> str:
    """The ref by which an operator tells a hub that this host may push the refs of an incarnation."""
    return f"{PLACED}/{encode(team)}/{encode(member)}/{generation}/{encode(host)}"


def next_name_at_hub(ref: str, taken: str) -> str:
    """Where a ref goes when the hub has other commits under the name `taken`: headcount overwrites nothing.

    A salvage gets the next number. A branch whose commits were replaced, as by `git commit --amend`, goes
    beside the first.
    """
    if found := parse_salvage_ref(taken):
        return salvage_ref(*found[:3], found[3] + 1)
    stem = f"{ref}.rewritten"
    number = taken.removeprefix(stem).removeprefix(".") if taken.startswith(stem) else "0"
    return numbered(stem, int(number or 1) + 1)


def to_tree(path: bytes) -> bytes:
    """A path as it can stand in a git tree: `.git` may not, so it gets a `%` in front, and so does `%…`."""
    if b"%" not in path and b".git" not in path.lower():
        return path
    return b"/".join(b"%" + part if _ESCAPED.match(part) else part for part in path.split(b"/"))


def from_tree(path: bytes) -> bytes:
    return b"/".join(part.removeprefix(b"%") for part in path.split(b"/"))


def shown(path: str) -> str:
    """A path for people and for JSON: as it is, or quoted as git quotes it if it holds anything unprintable.

    Exact either way: a name with a newline, or with bytes that are no UTF-8, is told from any other.
    """
    if path.isprintable() and not path.startswith('"'):
        return path
    octets = path.encode("utf-8", "surrogateescape")
    return '"' + "".join(_quoted(b) for b in octets) + '"'


def _quoted(octet: int) -> str:
    if octet in b'"\\':
        return "\\" + chr(octet)
    return chr(octet) if 0x20 <= octet < 0x7F else f"\\{octet:03o}"
