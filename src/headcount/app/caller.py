"""Who calls: a member by its token, or the operator; and the audit of what was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headcount.errors import HeadcountError, NotAllowed
from headcount.protocol import authority
from headcount.protocol.effects import Note
from headcount.store import ancestry, rules
from headcount.store.identity import refuse_code, refuse_descendants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.ports import Store


class Caller(NamedTuple):
    """`kind` is a row of the authority table; `who` is an incarnation's key, or "operator"."""

    kind: str
    who: str = "operator"
    team: str | None = None  # a member's team, by its id

    @property
    def team_name(self) -> str | None:
        return self.team.partition("#")[0] if self.team else None

    @property
    def key(self) -> str:
        return self.who

    @property
    def sender(self) -> str:
        """What its mail says: an office, or the incarnation."""
        return self.kind if self.kind in rules.OFFICES else self.who

    @property
    def is_member(self) -> bool:
        return self.team is not None


OPERATOR = Caller(authority.OPERATOR)
_OF_A_MEMBER = ("HEADCOUNT_MARK", "HEADCOUNT_MEMBER", "HEADCOUNT_TOKEN")


def identify(store: Store, environ: Mapping[str, str], home: str) -> Caller:
    """A caller that carries our mark, claims to be a member or descends from one is that member or nobody."""
    refuse_code(environ)
    if not any(environ.get(name) for name in _OF_A_MEMBER):
        refuse_descendants(home)
        return OPERATOR
    with store.read() as tx:
        identity = tx.identify(environ.get("HEADCOUNT_TOKEN", ""))
    if identity is None:
        raise NotAllowed(
            "Did not recognise the caller",
            "HEADCOUNT_TOKEN is missing, or of an incarnation that is gone",
            ("Run this as the operator, outside of a member's terminal",),
            code="unknown-caller",
        )
    elsewhere = ancestry.why_not_own(home, identity.team.partition("#")[0], identity.key)
    if elsewhere:
        raise NotAllowed(
            "Did not recognise the caller", f"the token is for {identity.key}, and {elsewhere}",
            ("A member calls from the processes that it started",), code="unknown-caller",
        )  # fmt: skip
    return Caller(authority.CALLER_OF_ROLE[identity.role], identity.key, identity.team)


def check(store: Store, caller: Caller, action: str, team_id: str | None = None) -> None:
    """By the one table; a refusal is in the journal before it is answered (A14)."""
    try:
        authority.check(action, caller.kind, caller.who if caller.is_member else "")
    except NotAllowed as refusal:
        audit(store, caller, action, refusal, team_id)
        raise


def audit(store: Store, caller: Caller, action: str, refusal: HeadcountError, team_id: str | None) -> None:
    place = team_id or caller.team
    if place is None:
        return
    with store.write() as tx:
        data: dict[str, object] = {"action": action, "code": refusal.code, "why": refusal.why}
        tx.note(place, [Note("refused", caller.who, data)])
