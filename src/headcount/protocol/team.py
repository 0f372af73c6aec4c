"""A team's life: who may be started, the two phases of a stand-down, and closing.

    active ── stand down ──→ pending_shutdown ── all answered ──→ stopping ──→ closing ──→ shutdown
      ↑                            │                                │  ↑
      └──────── a rejection ───────┘                   escalated, stuck ┘  (asking again goes on)

**Two phases, so that a refusal costs nothing.** Everyone is asked at once; only when each has answered, timed
out or exited is anyone inspected and stopped, all at once. A rejection ends the request before that, and
nothing has happened to anybody.

**A request** covers some members: all (a team's stand-down) or the named. Members point at the request that
they are part of. A wider request takes over the narrower ones it overlaps: whoever was asked stays asked and
answers the mail it has; whoever is being stopped goes on being stopped.

The values are here; `step.py` moves them. Refusals that a caller must hear (a start while draining) are asked
for first, with `why_not_*`, inside the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from headcount.protocol.member import Activity, Member, State, Trigger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.domain.policy import Policy
    from headcount.protocol.phase import Phase


class Status(StrEnum):
    ACTIVE = "active"
    PENDING_SHUTDOWN = "pending_shutdown"
    STOPPING = "stopping"
    ESCALATED = "escalated"
    STUCK = "stuck"
    CLOSING = "closing"
    SHUTDOWN = "shutdown"


DRAINING: Final = frozenset(Status) - {Status.ACTIVE, Status.SHUTDOWN}

# What closing does, in this order: nothing is removed before what holds on to it was let go, and the archive
# is complete before the tombstone says that the team is no more.
CLOSE_STEPS: Final = ("finalizers", "workspaces", "archive", "tombstone")

DECISIONS: Final = {
    "force-kill": Trigger.FORCE_KILL,
    "reassign": Trigger.REASSIGN,
    "human": Trigger.HUMAN,
    "wait": Trigger.WAIT,
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
    taken_over: tuple[Request, ...] = ()  # narrower requests, as they stood
    result: str | None = None  # shutdown, rejected: how it ended
    rejected_by: tuple[tuple[str, str], ...] = ()
    forced: tuple[str, ...] = ()  # whom force was given for, when it was not for all

    def forces(self, key: str) -> bool:
        """Force holds for whom it was given, and goes on when a wider request takes over."""
        return (
            self.force
            or key in self.forced
            or any(key in r.targets and r.forces(key) for r in self.taken_over)
        )


class EscalationState(StrEnum):
    OPEN = "open"
    PARKED = "parked"  # a person has it
    DECIDED = "decided"
    MOOT = "moot"  # it settled itself


UNDECIDED: Final = (EscalationState.OPEN, EscalationState.PARKED)


@dataclass(frozen=True, slots=True)
class Escalation:
    """Something only the lead or the operator can decide."""

    id: str
    key: str
    cause: str  # dirty, silence, refusal or salvage
    issues: tuple[str, ...] = ()
    attempts: int = 0
    state: EscalationState = EscalationState.OPEN
    decision: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Team:
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

    def latest(self, name: str) -> Member | None:
        generation = self.generations.get(name)
        return None if generation is None else self.members.get(f"{name}#{generation}")

    def team_request(self) -> Request | None:
        return next((r for r in self.requests.values() if r.whole_team), None)


def limited_by(team: Team) -> str | None:
    """The member that waits for the end of a usage limit, if there is one: the team's breaker."""
    return next((m.key for m in team.live() if m.activity is Activity.LIMITED), None)


def why_not_start(team: Team, name: str, policy: Policy) -> tuple[str, str] | None:
    """Code and reason why `name` may not be started now, or None."""
    if team.status is Status.SHUTDOWN:
        return "team-closed", f"{team.name} is shut down"
    if team.draining:
        return "draining", f"{team.name} is being stood down ({team.status})"
    last = team.latest(name)
    if last is not None and not last.settled:
        return "still-there", f"{last.key} is {last.state}; a new generation starts when the last one is gone"
    if limited := limited_by(team):
        return "usage-limit", f"{limited} has hit the usage limit of its client; it waits until that is over"
    if len(team.live()) >= policy.max_members:
        return "too-many-members", f"{policy.max_members} members are alive, the most that the policy allows"
    return None


def why_not_stand_down(
    team: Team, names: tuple[str, ...] | None, cycling: bool = False
) -> tuple[str, str] | None:
    """Code and reason why these may not be stood down, or None.

    A lead goes with its team only (A13), unless its next generation takes the office over.
    """
    for name in names or ():
        member = team.latest(name)
        if member is None:
            return "unknown-member", f"{team.name} has no member {name}"
        if member.role == "lead" and not cycling:
            return "lead-goes-last", f"{name} leads {team.name}, and is stood down only with it"
    return None


def why_not_decide(team: Team, escalation_id: str, decision: str, policy: Policy) -> tuple[str, str] | None:
    """Code and reason why this decision cannot be taken, or None. The first decision wins."""
    escalation = team.escalations.get(escalation_id)
    if escalation is None:
        return "unknown-escalation", f"{team.name} has no escalation {escalation_id}"
    if decision not in DECISIONS:
        return "unknown-decision", f"a decision is one of {', '.join(DECISIONS)}"
    member = team.members[escalation.key]
    if escalation.state not in UNDECIDED or member.state is not State.ESCALATED:
        taken = f": {escalation.by} chose {escalation.decision}" if escalation.decision else ""
        return "already-decided", f"escalation {escalation_id} is {escalation.state}{taken}"
    if decision == "reassign" and team.draining:
        return "draining", f"{team.name} is being stood down, nothing is reassigned"
    if decision == "wait" and member.waits >= policy.max_waits:
        return "no-more-waits", f"{member.key} was given {member.waits} of {policy.max_waits} waits"
    return None


def decisions_now(team: Team, escalation_id: str, policy: Policy) -> dict[str, str | None]:
    """Every decision, and why it would be refused at this moment; None: it would be taken.

    Whatever is offered to anybody (in mail, by a command, as a button) comes from here.
    """
    refusals = {decision: why_not_decide(team, escalation_id, decision, policy) for decision in DECISIONS}
    return {decision: refused[1] if refused else None for decision, refused in refusals.items()}
