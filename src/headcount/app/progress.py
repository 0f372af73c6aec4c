"""Show the progress of a stand-down: one line for each member, with what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.app.app import policy_of
from headcount.app.stand_down_answer import report
from headcount.app.standing_down import is_over
from headcount.app.team_status import outcome_words
from headcount.protocol.member import Activity, State, limit_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.app.app import App
    from headcount.app.stand_down_answer import StandDownAnswer
    from headcount.domain.policy import Policy
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

_TOGETHER_S = 0.25
_LOOK_AGAIN_S = 1.0

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


def follow(app: App, team: str, answer: StandDownAnswer) -> Iterator[StandDownAnswer]:
    """Yield the answer, and again after every change, until only a person can continue."""
    for now, _ in follow_members(app, team, answer):
        yield now


def follow_members(
    app: App, team: str, answer: StandDownAnswer
) -> Iterator[tuple[StandDownAnswer, tuple[Team, Policy] | None]]:
    """The same, with the state that each answer was composed from; None with the first, which is given.

    Changes that follow each other quickly are read together. An end is read at once.
    """
    gone = [f"{m['name']}#{m['generation']}" for m in answer.get("alreadyGone", ())]
    ends, changes = f"ends/{team}", f"team/{team}"
    for channel in (ends, changes):
        app.store.listen(channel)
    state = None
    while True:
        yield answer, state
        if is_over(answer["status"]):
            return
        app.store.wait_any([ends], _TOGETHER_S)
        app.store.wait_any([ends, changes], _LOOK_AGAIN_S)
        with app.store.read() as tx:
            found = app.load(tx, team)
            answer = report(tx, found, answer["requestId"], gone)
            state = found, policy_of(tx.team_settings(found.id))


def progress(answer: StandDownAnswer, head: str, state: tuple[Team, Policy] | None = None) -> list[str]:
    """Return a line for each member: what it waits for, and the time limit. `head` names who was asked."""
    width = max((len(m["name"]) for m in answer["members"]), default=0)
    stage = answer.get("stage")
    now = stage if stage not in (None, "asking") else answer["status"].replace("_", " ")
    if state is None:
        return [f"{head}: {now}"]
    team, policy = state
    members = [team.members[f"{m['name']}#{m['generation']}"] for m in answer["members"]]
    return [f"{head}: {now}", *(_line(member, width, limit_s(member, policy)) for member in members)]


def _line(member: Member, width: int, limit: float | None) -> str:
    waiting = not member.settled and member.state is not State.RUNNING
    within = f" (at most {limit:g} s)" if limit is not None and waiting else ""
    return f"  {member.name.ljust(width)}  {waits_for(member)}{within}"


def waits_for(member: Member) -> str:
    """Return what a member that is being stood down waits for, in words."""
    if member.stuck:
        return f"stuck: {', '.join(member.alive) or 'not proved gone'}"
    if member.settled:
        return f"gone, {outcome_words(member.outcome, member.cause)}"
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
