"""Identify the caller, in one function for the shell, the MCP server, the page and the engine.

A caller that has one of a member's variables is the member that its token names, or is refused. Without them
it is the operator, if it owns the state directory and no process of a member is above it.

On the path of every member command: imports next to nothing.
"""

from __future__ import annotations

import os

from headcount.app import ancestry
from headcount.domain.names import show
from headcount.errors import NotAllowed
from headcount.protocol import authority
from headcount.protocol.mailboxes import OFFICES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.ports import Store

MEMBER_VARIABLES = (ancestry.MARK, "HEADCOUNT_MEMBER", "HEADCOUNT_TOKEN")


class Caller:
    """`kind` is a row of the authority table; `who` is an incarnation's key, or "operator"."""

    __slots__ = ("kind", "team", "who")

    def __init__(self, kind: str, who: str = authority.OPERATOR, team: str | None = None) -> None:
        self.kind = kind
        self.who = who
        self.team = team  # a member's team, by its id

    @property
    def is_member(self) -> bool:
        return self.team is not None

    @property
    def team_name(self) -> str | None:
        return self.team.partition("#")[0] if self.team else None

    @property
    def sender(self) -> str:
        """What its mail says: an office, or the incarnation."""
        return self.kind if self.kind in OFFICES else self.who

    @property
    def boxes(self) -> tuple[str, ...]:
        """A member's own mailbox, and that of its office."""
        return (self.who, self.kind) if self.kind in OFFICES and self.is_member else (self.who,)


OPERATOR = Caller(authority.OPERATOR)


def identify(store: Store, environ: Mapping[str, str], home: str, action: str = "") -> Caller:
    """The caller. A refusal is written to the journal, with what it was about to do (A14)."""
    try:
        return _identify(store, environ, home)
    except NotAllowed as refusal:
        who = environ.get("HEADCOUNT_MEMBER", "nobody")[:80]
        with store.write() as tx:
            tx.add_entry("", "refused", who, {"action": action, "code": refusal.code, "why": refusal.why})
        raise


def _identify(store: Store, environ: Mapping[str, str], home: str) -> Caller:
    if environ.get(ancestry.MARK) == ancestry.CODE_MARK:
        raise _is_code()
    if has_member_variables(environ):
        return _find_member(store, environ, home)
    above = ancestry.find_above()
    if above == ancestry.CODE:
        raise _is_code()
    if above == ancestry.MEMBER or ancestry.below_our_tmux(home) or ancestry.is_elsewhere(home):
        raise NotAllowed(
            "This process belongs to a member, but does not say which",
            "a member's process, terminal or namespace is above it, and HEADCOUNT_TOKEN is not set",
            ("Keep the HEADCOUNT_ variables in the environment of what the member starts",),
            code="no-identity",
        )
    if os.path.exists(home) and os.stat(home).st_uid != os.getuid():
        raise NotAllowed(
            "Only the owner of the state directory is the operator", f"{home} belongs to another user",
            code="not-operator",
        )  # fmt: skip
    return OPERATOR


def has_member_variables(environ: Mapping[str, str]) -> bool:
    """Also when they are empty: an emptied token is a member's that was tampered with."""
    return any(name in environ for name in MEMBER_VARIABLES)


def _find_member(store: Store, environ: Mapping[str, str], home: str) -> Caller:
    claimed = f"{environ.get('HEADCOUNT_MEMBER', '?')}#{environ.get('HEADCOUNT_GENERATION', '?')}"
    with store.read() as tx:
        found = tx.identify(environ.get("HEADCOUNT_TOKEN", ""))
    if found is None:
        raise NotAllowed(
            f"{show(claimed)} is not known here",
            "HEADCOUNT_TOKEN is missing, wrong, or of an incarnation that is gone",
            ("Keep the environment that the member was started with",),
            code="bad-token",
        )
    team = found.team.partition("#")[0]
    name, _, generation = found.key.partition("#")
    expected = {"HEADCOUNT_TEAM": team, "HEADCOUNT_MEMBER": name, "HEADCOUNT_GENERATION": generation}
    for variable, value in expected.items():
        if environ.get(variable, value) != value:
            raise NotAllowed(
                f"{show(claimed)} does not match its token",
                f"{variable} is {show(environ[variable])}, the token is for {found.key} of {found.team}",
                code="bad-token",
            )
    elsewhere = ancestry.why_not_own(home, team, found.key)
    if elsewhere:
        raise NotAllowed(
            f"{show(claimed)} does not match its token",
            f"the token is for {found.key} of {found.team}, and {elsewhere}",
            ("A member calls from the processes that it started",), code="bad-token",
        )  # fmt: skip
    return Caller(authority.CALLER_OF_ROLE.get(found.role, authority.WORKER), found.key, found.team)


def _is_code() -> NotAllowed:
    return NotAllowed(
        "This process has no authority",
        "headcount runs it for a team: a gate, a judge, a finalizer, a sync command, a filter or a driver",
        ("A verification gate that must call headcount needs `as_operator = true` under `[gates]`",),
        code="code-of-a-team",
    )


def refuse_python(sources: Iterable[str], environ: Mapping[str, str]) -> None:
    """A Python definition is a program, and `permissions = "edit"` allows a member no programs."""
    found = next((path for path in sources if path.endswith(".py")), None)
    if found is None or not (has_member_variables(environ) or ancestry.descends_from_member()):
        return
    raise NotAllowed(
        f"Did not read {found}", "a definition in Python is a program, and this runs inside a member",
        ("Write the definition in TSX, which is read and never run", "Or let the operator build it"),
        code="python-in-member",
    )  # fmt: skip
