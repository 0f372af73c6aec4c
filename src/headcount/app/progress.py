"""Show the progress of a stand-down: one line for each member, with what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.app.app import policy_of
from headcount.app.standing_down import is_over, status_of
from headcount.protocol.member import Activity, State, limit_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.app.app import App
    from headcount.protocol.member import Member

_WAITS_FOR = {
    State.STARTING: "is starting",
    State.RUNNING: "waits until the others have ended",
    State.ASKED: "asked, has not answered yet",
    State.INSPECTING: "its workspace is being inspected",
    State.VERIFIED: "clean, waiting for its reviews",
    State.ESCALATED: "needs your decision",
    State.SALVAGING: "its work is being saved",
    State.STOPPING: "is asked to exit",
    State.KILLING: "is being killed",
    State.GONE: "stopped; checking its workspace one last time",
}

# Each of the three takes up to `nudge_timeout_s`, so the line names which one it is.
_NUDGED = ("sent back", "reminded", "reminded, its screen captured")


def follow(app: App, team: str, answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the answer, and again after every change, until only a person can continue."""
    gone = [f"{m['name']}#{m['generation']}" for m in answer.get("alreadyGone", ())]
    while True:
        yield answer
        if is_over(answer):
            return
        app.store.wait(f"team/{team}", 1.0)
        answer = status_of(app, team, answer["requestId"], gone)


def progress(app: App, team_name: str, answer: dict[str, Any], head: str) -> list[str]:
    """Return a line for each member: what it waits for, and the time limit. `head` names who was asked."""
    with app.store.read() as tx:
        team = app.load(tx, team_name)
        policy = policy_of(tx.team_settings(team.id))
    keys = [f"{m['name']}#{m['generation']}" for m in answer["members"]]
    width = max((len(m["name"]) for m in answer["members"]), default=0)
    lines = [_line(team.members[key], width, limit_s(team.members[key], policy)) for key in keys]
    stage = answer.get("stage")
    now = stage if stage not in (None, "asking") else answer["status"].replace("_", " ")
    return [f"{head}: {now}", *lines]


def _line(member: Member, width: int, limit: float | None) -> str:
    waiting = not member.settled and member.state is not State.RUNNING
    within = f" (at most {limit:g} s)" if limit is not None and waiting else ""
    return f"  {member.name.ljust(width)}  {waits_for(member)}{within}"


def outcome_words(outcome: str) -> str:
    """Return an outcome in words for people."""
    return "exited on its own" if outcome == "already_gone" else outcome


def waits_for(member: Member) -> str:
    """Return what a member that is being stood down waits for, in words."""
    if member.stuck:
        return f"stuck: {', '.join(member.alive) or 'not proved gone'}"
    if member.settled:
        return f"gone, {outcome_words(member.outcome) if member.outcome else 'never started'}"
    if member.state is State.RUNNING and member.request is None:
        return "continues its work"
    if member.state is State.RUNNING and member.activity is Activity.IDLE:
        return "is idle: will be inspected, not asked"
    if member.state is State.ASKED and member.answer:
        return f"{member.answer}, waiting for the others"
    if member.state is State.ESCALATED and member.escalation:
        return f"needs your decision: `headcount decide {member.escalation} …`"
    if member.state is State.NUDGED:
        return f"{_NUDGED[min(member.silences, 2)]}: {'; '.join(member.issues)}"
    if member.state is State.STOPPING and member.terminated:
        return "was sent SIGTERM"
    return _WAITS_FOR[member.state]
