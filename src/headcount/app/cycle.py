"""Cycling a member: the handover is stored, then it is stood down, then its successor starts with it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from headcount.app.members import find_member
from headcount.app.standing_down import status_of
from headcount.engine.hear import hear
from headcount.engine.succession import REASON, store_handover, wish_successor
from headcount.errors import Declined, UsageError
from headcount.protocol import events as ev
from headcount.protocol.team import why_not_stand_down

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team


def own_name(app: App) -> str:
    """For a member that cycles itself."""
    if not app.caller.is_member:
        raise UsageError(
            "Nobody to cycle", "--self is for members, and you are the operator",
            ("Name the member: `headcount cycle MEMBER`",), code="not-a-member",
        )  # fmt: skip
    return app.caller.who.partition("#")[0]


def cycle(app: App, name: str, remarks: str = "", team: str | None = None) -> dict[str, Any]:
    """No handover, no cycle (D16): the note, the wish and the request are one transaction."""
    team_name, member, _ = find_member(app, name, team)
    itself = app.caller.who == member.key
    if not itself:
        app.check("cycle")
    by = "witness" if itself else app.caller.who
    request = str(uuid.uuid4())
    with app.turn(team_name) as (tx, found, policy):
        _check(found, found.members[member.key])
        note = store_handover(tx, found, member.key, remarks)
        heard = hear(tx, found, [ev.StandDown(request, (name,), REASON, by=by)], policy, app.make_start)
        wish_successor(tx, heard.team, member.key, by)
    app.ring(heard)
    joined = heard.team.members[member.key].request or request
    answer = status_of(app, team_name, joined)
    return {
        "team": team_name, "member": name, "generation": member.generation, "handover": note,
        "status": answer["status"], "requestId": joined,
    }  # fmt: skip


def _check(team: Team, member: Member) -> None:
    if not member.live:
        raise Declined(f"{member.key} is gone", "nobody is left to cycle", code="gone")
    if member.task is not None and member.role == "worker":
        raise Declined(
            f"{member.key} works on task {member.task}",
            "a run starts the next worker of a task by itself",
            (f"Stand it down with `headcount down {team.name} --member {member.name}`",),
            code="run-cycles",
        )
    refused = why_not_stand_down(team, (member.name,))
    if refused is not None:
        raise Declined(f"Did not cycle {member.name}", refused[1], code=refused[0])
