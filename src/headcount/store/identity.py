"""Who calls: a member by its token, the operator by owning the state directory, or nobody.

Only a digest of each token is kept. The token has all the entropy (it is made by `secrets`), so a fast hash
is the right one; it is compared in constant time all the same.
"""

from __future__ import annotations

import os

from headcount.domain.names import show
from headcount.errors import NotAllowed
from headcount.protocol import authority
from headcount.store import ancestry
from headcount.store.database import statements
from headcount.store.teams import is_sealed

try:
    from _blake2 import blake2b  # what `hashlib` gives out, without its import of OpenSSL
    from _operator import _compare_digest
except ImportError:  # another Python than CPython
    from hashlib import blake2b
    from hmac import compare_digest as _compare_digest  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

SQL = statements("identity")
MARK = "HEADCOUNT_MARK"
CODE = "hc1.code"  # `runtime.mark.CODE`; a member's command imports as little as it can
_MEMBER, _CODE = "member", "code"
_REAPERS = {  # the names in `runtime.reaper`
    b"hc-keeper": _MEMBER,
    b"hc-reaper": _MEMBER,
    b"hc-command": _CODE,
    b"hc-commands": _CODE,
}
# A command that acts as the operator is below these two. Any program can take their names, so the search goes
# on above them, and what is there decides.
_OPERATORS_COMMAND, _ITS_SERVER = b"hc-operator", b"hc-commands"
_SELECTOR_BYTES = 8
_MEMBER_VARIABLES = (MARK, "HEADCOUNT_MEMBER", "HEADCOUNT_TOKEN")


class Caller:
    """Who it is, and as what it acts: `kind` is authority's word, `sender` is what its mail says."""

    __slots__ = ("boxes", "key", "kind", "sender", "team")

    def __init__(self, team: str, key: str, kind: str) -> None:
        self.team = team  # "" for the operator, who says which one
        self.key = key
        self.kind = kind
        office = kind in (authority.LEAD, authority.WITNESS, authority.OPERATOR)
        self.sender = kind if office else key
        self.boxes = (key, kind) if office and key != kind else (key,)


def add_token(db: apsw.Connection, token: str, team_id: str, key: str, role: str) -> None:
    digest = hash_token(token)
    db.execute(SQL["add_token"], (digest[:_SELECTOR_BYTES], digest, team_id, key, role))


def identify(db: apsw.Connection, token: str) -> tuple[str, str, str] | None:
    """Team, key and role that a token stands for; None once that incarnation is gone."""
    digest = hash_token(token)
    for stored, team_id, key, role in db.execute(SQL["candidates"], (digest[:_SELECTOR_BYTES],)):
        if _compare_digest(stored, digest) and not is_sealed(db, team_id, key):
            return team_id, key, role
    return None


def hash_token(token: str) -> bytes:
    return blake2b(token.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def who_calls(db: apsw.Connection, environ: Mapping[str, str], home: str) -> Caller:
    """Whoever carries our mark, or descends from a member's process, is that member or nobody."""
    refuse_code(environ)
    if any(name in environ for name in _MEMBER_VARIABLES):
        return _member(db, environ, home)
    refuse_descendants(home)
    if os.stat(home).st_uid != os.getuid():
        raise NotAllowed(
            "Only the owner of the state directory is the operator", f"{home} belongs to another user",
            code="not-operator",
        )  # fmt: skip
    return Caller("", authority.OPERATOR, authority.OPERATOR)


def _member(db: apsw.Connection, environ: Mapping[str, str], home: str) -> Caller:
    claimed = f"{environ.get('HEADCOUNT_MEMBER', '?')}#{environ.get('HEADCOUNT_GENERATION', '?')}"
    found = identify(db, environ.get("HEADCOUNT_TOKEN", ""))
    if found is None:
        raise NotAllowed(
            f"{show(claimed)} is not known here",
            "HEADCOUNT_TOKEN is missing, wrong, or of an incarnation that is gone",
            ("A member keeps the environment that it was started with",),
            code="bad-token",
        )
    team_id, key, role = found
    said = {"HEADCOUNT_TEAM": team_id.partition("#")[0], "HEADCOUNT_MEMBER": key.partition("#")[0],
            "HEADCOUNT_GENERATION": key.partition("#")[2]}  # fmt: skip
    for name, value in said.items():
        if environ.get(name, value) != value:
            raise NotAllowed(
                f"{show(claimed)} is not who its token says",
                f"{name} is {show(environ[name])}, the token is for {key} of {team_id}",
                code="bad-token",
            )
    elsewhere = ancestry.why_not_own(home, team_id.partition("#")[0], key)
    if elsewhere:
        raise NotAllowed(
            f"{show(claimed)} is not who its token says",
            f"the token is for {key} of {team_id}, and {elsewhere}",
            ("A member calls from the processes that it started",), code="bad-token",
        )  # fmt: skip
    return Caller(team_id, key, authority.CALLER_OF_ROLE.get(role, authority.WORKER))


def refuse_code(environ: Mapping[str, str]) -> None:
    """Raise for code that headcount runs for a team: it is nobody, whatever else its environment says."""
    if environ.get(MARK) == CODE:
        raise _is_code()


def refuse_descendants(home: str) -> None:
    """Raise if the caller, whose own environment tells nothing, is below a member or below such code."""
    above = _find_above()
    if above == _CODE:
        raise _is_code()
    if above == _MEMBER or ancestry.below_our_tmux(home) or ancestry.is_elsewhere(home):
        raise NotAllowed(
            "This process belongs to a member, but does not say which",
            "a member's process, terminal or namespace is above it, and HEADCOUNT_TOKEN is not set",
            ("Keep the HEADCOUNT_ variables in the environment of what the member starts",),
            code="no-identity",
        )


def _is_code() -> NotAllowed:
    return NotAllowed(
        "This process has no authority",
        "headcount runs it for a team: a gate, a judge, a finalizer, a sync command, a filter or a driver",
        ("A verification gate that must call headcount needs `as_operator = true` under `[gates]`",),
        code="code-of-a-team",
    )


def descends_from_member(pid: int | None = None, proc: str = "/proc") -> bool:
    """Whether a process above this one carries a mark, even though our own environment was cleaned of it; or
    is one of our reapers, which is all that is left above a daemon."""
    return bool(_find_above(pid, proc))


def _find_above(pid: int | None = None, proc: str = "/proc") -> str:
    needle = b"\0" + MARK.encode() + b"="
    parent = os.getppid() if pid is None else pid
    below = b""
    while parent > 0:  # in a namespace of its own a member's keeper has the number 1
        try:
            with open(f"{proc}/{parent}/environ", "rb") as file:
                _, found, rest = (b"\0" + file.read()).partition(needle)
                if found:
                    return _CODE if rest.partition(b"\0")[0] == CODE.encode() else _MEMBER
        except OSError:
            pass  # another user's, or gone: its own parent may still tell
        name, parent = _name_and_parent(parent, proc)
        if name in _REAPERS and (below, name) != (_OPERATORS_COMMAND, _ITS_SERVER):
            return _REAPERS[name]
        below = name
    return ""


def _name_and_parent(pid: int, proc: str) -> tuple[bytes, int]:
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            # The command's name may hold spaces and brackets: the fields are counted from its last bracket.
            head, _, fields = file.read().rpartition(b")")
            return head.partition(b"(")[2], int(fields.split()[1])
    except (OSError, ValueError, IndexError):
        return b"", 0
