"""Cycling a member: the handover is stored, then it is stood down, then its successor starts with it."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from headcount.app.members import find_member
from headcount.app.standing_down import status_of
from headcount.engine.apply import apply
from headcount.engine.cycling import cycling, store_handover, why_not_cycle
from headcount.errors import Declined, UsageError

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.ports import Tx
    from headcount.protocol.team import Team


SELF_CYCLES = 6
"""How often a member may cycle itself within an hour; the witness and the operator may at any time."""
CYCLED = "cycled_itself"
_HOUR_S = 3600.0


def own_name(app: App) -> str:
    """For a member that cycles itself."""
    if not app.caller.is_member:
        raise UsageError(
            "No member to cycle", "--self is for members, and you are the operator",
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
        if itself:
            count_self_cycle(tx, found, member.key)
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


def count_self_cycle(tx: Tx, team: Team, key: str) -> None:
    """A member that cycles itself again and again costs a start each time, and never gets to work."""
    name, now = key.partition("#")[0], time.time()
    before = (tx.fact(team.id, name, CYCLED) or {}).get("at", [])
    recent = [at for at in before if now - at < _HOUR_S]
    if len(recent) >= SELF_CYCLES:
        raise Declined(
            f"Did not cycle {key}", f"it has cycled itself {len(recent)} times within an hour",
            ("Ask the lead with `headcount send lead -s SUBJECT -m BODY`",), code="cycled-too-often",
        )  # fmt: skip
    tx.put_fact(team.id, name, CYCLED, {"at": [*recent, now]})


def _check(tx: Tx, team: Team, key: str) -> None:
    refused = why_not_cycle(tx, team, key)
    if refused is not None:
        raise Declined(
            f"Did not cycle {key}", refused[1], (f"See its state with `headcount status {team.name}`",),
            code=refused[0],
        )  # fmt: skip
