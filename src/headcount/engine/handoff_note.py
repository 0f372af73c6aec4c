"""A handoff note out of the state and the journal, so that it is never empty and never from memory."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headcount.domain.templates import witness_handoff
from headcount.protocol.member import Member, State
from headcount.protocol.shutdown import LAST_ROLES

if TYPE_CHECKING:
    from headcount.ports import Entry, Tx
    from headcount.protocol.team import Escalation, Team

_PENDING = (State.INSPECTING, State.NUDGED)
_LOOK_BACK = 500  # entries; the note keeps five actions

# Which lines of the journal are somebody's action, and how they read.
_ACTIONS = {
    "starting": "Started {about}",
    "exited": "Saw {about} exit",
    "answered": "Stand-down of {about}: {answer}",
    "verified_clean": "Verified {about} clean",
    "found_dirty": "Found {about} dirty: {issues}",
    "nudged": "Nudged {about}",
    "escalated": "Escalated {about}: {issues}",
    "decided": "{by} decided {decision} about {about}",
    "salvaged": "Saved the work of {about} to {ref}",
    "gone": "Proved {about} gone ({outcome})",
    "stand_down": "{by} asked to stand down {targets}",
    "rejected": "The stand-down was refused",
    "task_completed": "{about} completed by {by}",
    "reviewed": "{about} reviewed {task}: {verdict}",
    "handover": "{about} handed over",
}


def compose(
    tx: Tx,
    team: Team,
    remarks: str,
    next_steps: tuple[str, ...],
    kind: str = "witness_cycle",
    about: Member | None = None,
) -> tuple[str, str]:
    """Return subject and body of WITNESS_HANDOFF for the team in `tx`; `about` hands over."""
    entries = tx.recent(team.id, _LOOK_BACK)
    signalled = {e.about: _clock(e.at) for e in entries if e.data.get("to") == str(State.INSPECTING)}
    pending = [m for m in team.live() if m.state in _PENDING]
    workers = [m for m in team.live() if m.role not in LAST_ROLES]
    return witness_handoff(
        team.name,
        time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        tuple((m.name, _status(m)) for m in workers),
        tuple(_pending(m, signalled.get(m.key)) for m in pending),
        tuple(line for entry in entries if (line := _action(entry))),
        "\n".join(filter(None, (*(f"- {w}" for w in team.warnings), remarks))),
        next_steps or _next_steps(team, pending, about),
        kind,
    )


def _status(member: Member) -> str:
    shown = "stuck" if member.stuck else str(member.state)
    if member.state is State.RUNNING:
        shown = member.activity
    task = f" on {member.task}" if member.task else ""
    return f"{shown}{task}, generation {member.generation}"


def _pending(member: Member, since: str | None) -> str:
    found = f", last found: {'; '.join(member.issues)}" if member.issues else ", not yet verified"
    return f"{member.name}: attempt {member.attempts}{f', since {since}' if since else ''}{found}"


def _next_steps(team: Team, pending: list[Member], about: Member | None) -> tuple[str, ...]:
    """What is the successor's to do: a worker's task, a lead's decisions, the witness's verifications."""
    open_ones = [e for e in team.escalations.values() if e.state in ("open", "parked")]
    if about is not None and about.role == "lead":
        return tuple(_to_decide(escalation) for escalation in open_ones)
    mine = about is not None and about.role == "worker" and about.task
    return (
        *((f"Go on with task {mine} where it stands: `git log`, `git status`",) if mine else ()),
        *(f"Verify the workspace of {member.name}" for member in pending),
        *(f"Get a decision about {e.key.partition('#')[0]} ({e.id})" for e in open_ones),
    )


def _to_decide(escalation: Escalation) -> str:
    issues = "; ".join(escalation.issues)
    return f"Decide {escalation.id} about {escalation.key}: {issues} (`headcount decide {escalation.id} …`)"


def _action(entry: Entry) -> str | None:
    wording = _ACTIONS.get(entry.kind)
    if wording is None:
        return None
    data = {key: ", ".join(map(str, v)) if isinstance(v, list) else v for key, v in entry.data.items()}
    try:
        return f"{_clock(entry.at)} {wording.format_map({**data, 'about': entry.about})}"
    except KeyError:
        return None  # written by another version, without that field


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(at))
