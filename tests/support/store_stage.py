"""Teams, members and mail for tests of a store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcount.ports import Mail
from headcount.protocol.member import Member, State
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from headcount.ports import Tx
    from headcount.protocol.team import Team


def make_team(tx: Tx, name: str = "review", *names: str, **settings: Any) -> Team:
    """An open team with a running member for each name."""
    return add_members(tx, tx.create_team(name, "", settings), *names)


def add_members(tx: Tx, team: Team, *names: str, role: str = "worker") -> Team:
    members, generations = dict(team.members), dict(team.generations)
    for name in names:
        generations[name] = generations.get(name, 0) + 1
        member = Member(name, generations[name], role=role, state=State.RUNNING)
        members[member.key] = member
    after = replace(team, members=members, generations=generations)
    tx.save_team(team, after)
    return after


def close_team(tx: Tx, team: Team) -> Team:
    after = replace(team, status=Status.SHUTDOWN)
    tx.save_team(team, after)
    return after


def mail(team: Team, to: str, subject: str = "s", body: str = "b", **more: Any) -> Mail:
    return Mail("", team.id, more.pop("sender", "lead"), to, subject, body, **more)
