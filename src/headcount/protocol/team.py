"""Define a team's life: who may be started, the two phases of a stand-down, and closing."""

#     active -- stand down --> pending_shutdown -- all answered --> stopping --> closing --> shutdown
#       ^                            |                                |  ^
#       +-------- a rejection -------+                  escalated, stuck -+  (a repeated request continues)
#
# **Two phases, so that a refusal costs nothing.** All members are asked at once. Only when each has
# answered, timed out or exited, they are inspected and stopped, in parallel. A rejection ends the request
# before that.
#
# **A request** covers all members (a team's stand-down) or the named ones. A member points to the request
# that it is part of. A wider request takes over the narrower ones that overlap with it. A member that was
# asked stays asked and answers the mail that it has. A member that is being stopped continues to stop.
#
# This file has the values and the reasons to refuse (`why_not_*`). The steps are in `team_step.py` and
# `shutdown.py`. A refusal is decided in the transaction that would have applied the request.
#
# `Status` has no table. `shutdown.py` computes it from the open request after every step.

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from headcount.protocol.member import Activity, Member, State, Trigger
from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.domain.policy import Policy
    from headcount.protocol.phase import Phase


class Status(StrEnum):
    ACTIVE = "active"  # members may be started, tasks claimed
    PENDING_SHUTDOWN = "pending_shutdown"  # all members are asked; answers are awaited
    STOPPING = "stopping"  # all have answered; members are inspected, saved and stopped
    ESCALATED = "escalated"  # all others have ended; someone must decide about the rest
    STUCK = "stuck"  # something could not be proved gone
    CLOSING = "closing"  # finalizers, workspaces, archive, tombstone
    SHUTDOWN = "shutdown"  # closed; the receipt stays


DRAINING: Final = frozenset(Status) - {Status.ACTIVE, Status.SHUTDOWN}

# The steps of closing, in order. Finalizers release resources before workspaces are removed. The archive is
# complete before the tombstone marks the team as closed.
CLOSE_STEPS: Final = ("finalizers", "workspaces", "archive", "tombstone")

DECISIONS: Final = {
    "force-kill": Trigger.FORCE_KILL,
    "reassign": Trigger.REASSIGN,
    "human": Trigger.HUMAN,
    "wait": Trigger.WAIT,
    "keep-here": Trigger.KEEP_HERE,
}


@dataclass(frozen=True, slots=True)
class Request:
    """One stand-down, from asking to its end."""

    id: str
    targets: tuple[str, ...]  # keys of incarnations
    whole_team: bool
    reason: str = ""
    force: bool = False
    keep_team: bool = False
    by: str = "operator"
    asking: bool = True
    taken_over: tuple[Request, ...] = ()  # narrower requests, in the state that they had
    result: str | None = None  # shutdown, rejected: how it ended
    rejected_by: tuple[tuple[str, str], ...] = ()
    forced: tuple[str, ...] = ()  # members that force was given for, unless it is for all

    def forces(self, key: str) -> bool:
        """Return whether force applies to this member. It survives when a wider request takes over."""
        return (
            self.force
            or key in self.forced
            or any(key in r.targets and r.forces(key) for r in self.taken_over)
        )


class EscalationState(StrEnum):
    OPEN = "open"
    PARKED = "parked"  # left to a person
    DECIDED = "decided"
    MOOT = "moot"  # no decision is needed any more


UNDECIDED: Final = (EscalationState.OPEN, EscalationState.PARKED)


@dataclass(frozen=True, slots=True)
class Escalation:
    """A question about a member that the lead or the operator decides."""

    id: str
    key: str
    cause: str  # dirty, silence, refusal or salvage
    issues: tuple[str, ...] = ()
    attempts: int = 0
    state: EscalationState = EscalationState.OPEN
    decision: str | None = None
    by: str | None = None
    here: bool = False  # all of it is saved on its host, and the hub does not have it


@dataclass(frozen=True, slots=True)
class Team:
    """A team as the rules see it. `key`s of members name incarnations (`ada#2`)."""

    name: str
    generation: int = 1
    status: Status = Status.ACTIVE
    members: Mapping[str, Member] = field(default_factory=dict)
    generations: Mapping[str, int] = field(default_factory=dict)  # the last one of each name
    requests: Mapping[str, Request] = field(default_factory=dict)  # the open ones
    last_request: Request | None = None  # the last team-wide one that ended
    escalations: Mapping[str, Escalation] = field(default_factory=dict)
    escalation_count: int = 0
    close_step: str | None = None
    close_epoch: int = 0
    close_failures: int = 0
    warnings: tuple[str, ...] = ()
    run: Phase | None = None  # of a team that runs tasks

    @property
    def id(self) -> str:
        return f"{self.name}#{self.generation}"

    @property
    def draining(self) -> bool:
        return self.status in DRAINING

    def live(self) -> list[Member]:
        return [m for m in self.members.values() if m.live]

    def incarnation(self, name: str) -> Member | None:
        """Return the latest incarnation of `ada`, or exactly `ada#1`."""
        return self.members.get(name) if "#" in name else self.latest(name)

    def latest(self, name: str) -> Member | None:
        generation = self.generations.get(name)
        return None if generation is None else self.members.get(f"{name}#{generation}")

    def team_request(self) -> Request | None:
        return next((r for r in self.requests.values() if r.whole_team), None)


def limited_by(team: Team, account: str) -> str | None:
    """Return the member at a usage limit that `account` shares, or None. It blocks starts.

    A limit belongs to a client and an account. The limit of an unknown account blocks all starts.
    """
    limited = (m for m in team.members.values() if m.activity is Activity.LIMITED and m.live)
    return next((m.key for m in limited if m.account in ("", account)), None)


def why_not_start(team: Team, name: str, policy: Policy, account: str = "") -> tuple[str, str] | None:
    """Return code and reason why `name` may not be started now, or None."""
    if team.status is Status.SHUTDOWN:
        return "team-closed", f"{team.name} is shut down"
    if team.draining:
        return "draining", f"{team.name} is being stood down ({team.status})"
    # A name belongs to one incarnation at a time. A stuck or escalated one keeps it.
    last = team.latest(name)
    if last is not None and not last.settled:
        return "still-there", f"{last.key} is {last.state}; a new generation starts when the last one is gone"
    if limited := limited_by(team, account):
        return "usage-limit", f"{limited} has hit the usage limit of its client; it waits until that is over"
    if len(team.live()) >= policy.max_members:
        return "too-many-members", f"{policy.max_members} members are alive, the most that the policy allows"
    return None


def why_not_stand_down(
    team: Team, names: tuple[str, ...] | None, cycling: bool = False
) -> tuple[str, str] | None:
    """Return code and reason why these members may not be stood down, or None.

    A lead leaves only with its team (A13), unless it is cycled.
    """
    for name in names or ():
        member = team.latest(name)
        if member is None:
            return "unknown-member", f"{team.name} has no member {name}"
        if member.role == "lead" and not cycling:
            return "lead-goes-last", f"{name} leads {team.name}, and is stood down only with it"
    return None


def why_not_decide(team: Team, escalation_id: str, decision: str, policy: Policy) -> tuple[str, str] | None:
    """Return code and reason why this decision is not possible, or None. The first decision wins."""
    escalation = team.escalations.get(escalation_id)
    if escalation is None:
        return "unknown-escalation", f"{team.name} has no escalation {escalation_id}"
    if decision not in DECISIONS:
        return "unknown-decision", f"a decision is one of {', '.join(DECISIONS)}"
    # The member may have exited, or its salvage may have succeeded, after the escalation was opened.
    member = team.members[escalation.key]
    if escalation.state not in UNDECIDED or member.state is not State.ESCALATED:
        taken = f": {escalation.by} chose {escalation.decision}" if escalation.decision else ""
        return "already-decided", f"escalation {escalation_id} is {escalation.state}{taken}"
    if decision == "reassign" and team.draining:
        return "draining", f"{team.name} is being stood down, nothing is reassigned"
    if decision == "wait" and member.waits >= policy.max_waits:
        return "no-more-waits", f"{member.key} was given {member.waits} of {policy.max_waits} waits"
    if decision == "keep-here" and not escalation.here:
        return "not-about-the-hub", f"{member.key} was not escalated because the hub does not have its work"
    return None


def decisions_now(team: Team, escalation_id: str, policy: Policy) -> dict[str, str | None]:
    """Return every decision with the reason why it would be refused now; None if it is possible.

    Mail, commands and the page offer decisions from here only. `keep-here` is there only for an escalation
    about the hub, which most teams do not have.
    """
    escalation = team.escalations.get(escalation_id)
    choices = [name for name in DECISIONS if name != "keep-here" or (escalation and escalation.here)]
    refusals = {decision: why_not_decide(team, escalation_id, decision, policy) for decision in choices}
    return {decision: refused[1] if refused else None for decision, refused in refusals.items()}
