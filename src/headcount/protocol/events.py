"""Define what can happen to a team, as values: the input of the rules."""

# The rules get nothing but these events and, in a run, those of `phase_events.py`. There are three kinds:
#
#     requests       of people and of the run; they may be refused
#     reports        of members, which may be late, repeated or wrong; they change state, but prove nothing
#     observations   of the engine: processes, workspaces, time; only these count as proof
#
# `key` names an incarnation (`alice#2`). `epoch` ties a result or a timeout to the entry into a state
# that requested it. An event of an earlier epoch is late and changes nothing.

from __future__ import annotations

from typing import Final

from headcount.value_classes import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """The root of all events."""


# --- requests -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spawn(Event):
    """Start a member; its generation is the next one of its name."""

    name: str
    role: str = "worker"
    task: str | None = None  # the task of a run that it is started for
    awaits_review: bool = False  # it stays after its done signal
    by: str = "operator"
    account: str = ""  # the client and account whose usage limit it shares; "" if it has none


@dataclass(frozen=True, slots=True)
class StandDown(Event):
    """Stand down the named members, or the whole team (`names` is None).

    `cycling`: the next generation of each member follows it.
    """

    request_id: str
    names: tuple[str, ...] | None = None  # None: the whole team
    reason: str = ""
    force: bool = False  # override refusals
    keep_team: bool = False  # do not close the team afterwards
    by: str = "operator"
    cycling: bool = False
    now: bool = False  # do not wait for answers to this request


@dataclass(frozen=True, slots=True)
class PolicyChanged(Event):
    """The operator changed numbers of this team's policy. The step that gets it has the new policy."""

    changes: tuple[tuple[str, object, object], ...]  # key, old and new value
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class Decided(Event):
    """An escalation was decided: force-kill, reassign, human, wait or keep-here."""

    escalation_id: str
    decision: str
    by: str = "operator"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Released(Event):
    """A verified member is not needed any more, because its reviews passed."""

    key: str


@dataclass(frozen=True, slots=True)
class ChangesRequested(Event):
    """A verified member must continue to work; `text` has the comments of its reviewers."""

    key: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class RefusedForGood(Event):
    """It refused as often as a run asks, so someone must decide."""

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


# --- reports of members (late, repeated or wrong) ----------------------------------------------------------


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
    """An idle member has work again: its client began a turn."""

    key: str


@dataclass(frozen=True, slots=True)
class Limited(Event):
    """Its client has reached a usage limit."""

    key: str
    reason: str = ""
    until: str = ""  # as the client reports it, or ""


@dataclass(frozen=True, slots=True)
class ClientFailed(Event):
    """Its client failed as often as the policy allows. Its own process exits next, because of that."""

    key: str
    cause: str


@dataclass(frozen=True, slots=True)
class Spent(Event):
    """Its total usage so far, with the cost of its team and of the day where clients report costs."""

    key: str
    tokens: int = 0
    turns: int = 0
    cost_usd: float = 0.0
    team_usd: float = 0.0
    day_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class TaskClaimed(Event):
    key: str
    task: str


@dataclass(frozen=True, slots=True)
class Reviewed(Event):
    """A reviewer's verdict, pass or changes, for the commit that it had at that moment."""

    key: str
    task: str
    verdict: str
    words: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Judged(Event):
    """The witness's verdict on findings that were mailed to it."""

    key: str
    clean: bool
    issues: tuple[str, ...] = ()
    by: str = "witness"


# --- observations (the only proof) ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Registered(Event):
    key: str


@dataclass(frozen=True, slots=True)
class StartFailed(Event):
    """A start failed and was undone; no process of it runs."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Exited(Event):
    """The member's own process ended; others of its tree may be alive.

    `cause` says why that is a failure: a signal or a code, and its last line. It is "" after code 0.
    """

    key: str
    detail: str = ""
    code: int | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Inspected(Event):
    """A workspace was inspected. `clean` is None if the witness has to judge.

    `head` is the commit of the workspace ("" if unknown), `commits` how many commits only its branch has.
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
    """The workspace was saved in `ref` and read back, or there was nothing to save (`ref` is None)."""

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
    here: bool = False
    """Its work is saved and read back on its host; only the hub does not have it."""


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
    """The last read of a workspace after the proof; later changes are in `ref`."""

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
    """A limit passed: of the member `key` in `epoch`, or of closing the team (`key` is None)."""

    key: str | None
    epoch: int


BY_NAME: Final[dict[str, type[Event]]] = {cls.__name__: cls for cls in Event.__subclasses__()}
