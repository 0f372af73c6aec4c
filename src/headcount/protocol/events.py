"""What can happen to a team, as values. Everything that the rules are given is one of these, or, in a run,
one of
`phase_events.py`.

`key` names an incarnation (`alice#2`). `epoch` ties a result or a timeout to the very entry into a state
that asked for it: whatever comes from an earlier epoch is late, and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """The root of all events."""


# --- what somebody asks for ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spawn(Event):
    """Start a member; its generation is the next one of its name."""

    name: str
    role: str = "worker"
    task: str | None = None
    awaits_review: bool = False
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class StandDown(Event):
    """Stand down the named members, or the whole team (`names` is None).

    `cycling`: whoever leaves is followed by its next generation.
    """

    request_id: str
    names: tuple[str, ...] | None = None
    reason: str = ""
    force: bool = False
    keep_team: bool = False
    by: str = "operator"
    cycling: bool = False


@dataclass(frozen=True, slots=True)
class Decided(Event):
    """Somebody decided an escalation: force-kill, reassign, human or wait."""

    escalation_id: str
    decision: str
    by: str = "operator"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Released(Event):
    """A verified member is not needed any more: its reviews passed."""

    key: str


@dataclass(frozen=True, slots=True)
class ChangesRequested(Event):
    """A verified member has to work on: its reviewers' words go to it."""

    key: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class RefusedForGood(Event):
    """It was asked as often as a run asks, and refused each time: somebody must decide."""

    key: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Paused(Event):
    key: str
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class Resumed(Event):
    key: str
    by: str = "operator"


# --- what a member reports (a stranger: late, doubled or wrong) --------------------------------------------


@dataclass(frozen=True, slots=True)
class Answered(Event):
    key: str
    request_id: str
    approve: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DoneSignalled(Event):
    key: str
    task: str | None = None


@dataclass(frozen=True, slots=True)
class IdleReported(Event):
    key: str


@dataclass(frozen=True, slots=True)
class WorkResumed(Event):
    """It had nothing to do, and has again: its client has begun a turn."""

    key: str


@dataclass(frozen=True, slots=True)
class Limited(Event):
    """Its client has hit a usage limit, and may ask nothing before it is over."""

    key: str
    reason: str = ""
    until: str = ""  # as the client says it; "" when it does not


@dataclass(frozen=True, slots=True)
class Spent(Event):
    """What it has cost so far, in all."""

    key: str
    tokens: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True)
class TaskClaimed(Event):
    key: str
    task: str


@dataclass(frozen=True, slots=True)
class Reviewed(Event):
    """A reviewer's verdict, pass or changes, for the commit that it had been given when it spoke."""

    key: str
    task: str
    verdict: str
    words: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Judged(Event):
    """The witness's verdict on the findings it was sent."""

    key: str
    clean: bool
    issues: tuple[str, ...] = ()
    by: str = "witness"


# --- what was seen (the only things believed) ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Registered(Event):
    key: str


@dataclass(frozen=True, slots=True)
class StartFailed(Event):
    """What the start had made was undone; nothing of it runs."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Exited(Event):
    """The member's own process ended; others of its tree may live on."""

    key: str
    detail: str = ""
    code: int | None = None


@dataclass(frozen=True, slots=True)
class Inspected(Event):
    """Findings were read. `clean` is None while the witness has yet to judge them.

    `head` is the commit that the workspace is at, `commits` how many only its branch has; "" when it could
    not be read, or there is none.
    """

    key: str
    epoch: int
    spotless: bool
    clean: bool | None
    issues: tuple[str, ...] = ()
    head: str = ""
    commits: int = 0


@dataclass(frozen=True, slots=True)
class Saved(Event):
    """Everything is in `ref` and was read back, or there was nothing to save (`ref` is None)."""

    key: str
    epoch: int
    ref: str | None = None
    head: str = ""
    commits: int = 0


@dataclass(frozen=True, slots=True)
class SalvageFailed(Event):
    key: str
    epoch: int
    reason: str


@dataclass(frozen=True, slots=True)
class TreeEmpty(Event):
    """Proof: nothing that this incarnation started is alive."""

    key: str
    method: str = ""


@dataclass(frozen=True, slots=True)
class NotEmpty(Event):
    """Something survived SIGKILL for the whole grace."""

    key: str
    epoch: int
    alive: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LastRead(Event):
    """The workspace was read once more after the proof; what had changed is in `ref`."""

    key: str
    epoch: int
    ok: bool
    ref: str | None = None
    reason: str = ""
    head: str = ""
    commits: int = 0


@dataclass(frozen=True, slots=True)
class StepEnded(Event):
    """One step of closing the team ended."""

    step: str
    epoch: int
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class TimedOut(Event):
    """The time for what `key` (None: the team's closing) was doing in `epoch` is over."""

    key: str | None
    epoch: int
