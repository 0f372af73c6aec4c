"""Cycling a member: the handover is stored, then it is stood down, then its successor starts with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.app.handoff import compose
from headcount.app.members import find_member
from headcount.app.standing_down import stand_down
from headcount.engine.succession import CYCLE, HANDOVER
from headcount.errors import Declined, NotAllowed
from headcount.protocol.effects import Note

if TYPE_CHECKING:
    from headcount.app.app import App


def cycle(app: App, name: str, remarks: str = "", team: str | None = None) -> dict[str, Any]:
    """No handover, no cycle (D16): if the note cannot be stored, nobody is asked to leave."""
    team_name, member, _ = find_member(app, name, team)
    if app.caller.who != member.key:
        app.check("cycle")
    if not member.live:
        raise Declined(f"{member.key} is gone", "nobody is left to cycle", code="gone")
    if member.task is not None and member.role == "worker":
        raise Declined(
            f"{member.key} works on task {member.task}",
            "a run starts the next worker of a task by itself",
            (f"Stand it down with `headcount down {team_name} --member {name}`",),
            code="run-cycles",
        )
    with app.turn(team_name) as (tx, found, _):
        plan = tx.fact(found.id, member.key, "plan")
        if plan is None:
            raise Declined(
                f"{member.key} cannot be cycled", "how it was planned is not known", code="no-plan"
            )
        kind = "witness_cycle" if member.role == "witness" else "member_cycle"
        _, note = compose(tx, found, remarks, (), kind)
        handover = {"note": note, "open": True, "from": member.key}
        tx.put_fact(found.id, name, HANDOVER, handover)
        tx.put_fact(found.id, member.key, CYCLE, {"plan": plan, "by": app.caller.who})
        tx.note(found.id, [Note("handover", member.key, {"remarks": remarks})])
    answer = _ask_to_leave(app, team_name, name)
    return {"team": team_name, "member": name, "generation": member.generation, "handover": note, **answer}


def _ask_to_leave(app: App, team_name: str, name: str) -> dict[str, Any]:
    try:
        answer = stand_down(app, team_name, [name], "Cycling: your handover is stored")
    except NotAllowed:
        # It cycles itself: what it wrote down is stored, and the witness asks it.
        from headcount.app.caller import OPERATOR

        caller, app.caller = app.caller, OPERATOR
        try:
            answer = stand_down(app, team_name, [name], "Cycling: your handover is stored")
        finally:
            app.caller = caller
    return {"status": answer["status"], "requestId": answer["requestId"]}
