"""Cycling a member: the handover is stored, then it is stood down, then its successor starts with it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from headcount.app.members import find_member
from headcount.app.standing_down import status_of
from headcount.engine.apply import apply
from headcount.engine.cycling import cycling, why_not_cycle
from headcount.engine.succession import store_handover
from headcount.errors import Declined, UsageError

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.ports import Tx
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
    """No handover, no cycle (D16): the note and the request are one transaction."""
    team_name, member, _ = find_member(app, name, team)
    itself = app.caller.who == member.key
    if not itself:
        app.check("cycle")
    by = "witness" if itself else app.caller.who
    request = str(uuid.uuid4())
    with app.turn(team_name) as (tx, found, policy):
        _check(tx, found, member.key)
        note = store_handover(tx, found, member.key, remarks)
        asked = cycling(request, member.name, by)
        applied = apply(tx, found, [asked], policy, app.make_start)
    app.ring(applied)
    joined = applied.team.members[member.key].request or request
    answer = status_of(app, team_name, joined)
    return {
        "team": team_name, "member": member.name, "generation": member.generation, "handover": note,
        "status": answer["status"], "requestId": joined,
    }  # fmt: skip


def _check(tx: Tx, team: Team, key: str) -> None:
    refused = why_not_cycle(tx, team, key)
    if refused is not None:
        raise Declined(
            f"Did not cycle {key}", refused[1], (f"See how it stands with `headcount status {team.name}`",),
            code=refused[0],
        )  # fmt: skip
