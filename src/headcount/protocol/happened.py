"""What the rules decided, as typed events that other rules and front ends listen to.

A team's step reports them; the run (`run.py`) turns them into what happens to its tasks, in the same step.
Each is also a line of the journal, which is written from here: nothing in the rules or the engine reads a
line back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount.protocol.effects import Note

if TYPE_CHECKING:
    from headcount.protocol.member import State, Trigger


@dataclass(frozen=True, slots=True)
class Happened:
    """The root of what the rules report."""

    def entry(self) -> Note:
        """The line of the journal."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class MemberMoved(Happened):
    """A row of the member's table was taken; `before` may equal `after`."""

    key: str
    before: State
    after: State
    trigger: Trigger

    def entry(self) -> Note:
        # `cue` is what journals have called a trigger since the first version.
        data = {"from": str(self.before), "to": str(self.after), "cue": str(self.trigger)}
        return Note("moved", self.key, dict(data))


@dataclass(frozen=True, slots=True)
class MemberVerified(Happened):
    """Its workspace was found clean."""

    key: str

    def entry(self) -> Note:
        return Note("verified_clean", self.key)


@dataclass(frozen=True, slots=True)
class MemberStuck(Happened):
    """Something of it survived SIGKILL."""

    key: str
    alive: tuple[str, ...]

    def entry(self) -> Note:
        return Note("stuck", self.key, {"alive": list(self.alive)})


@dataclass(frozen=True, slots=True)
class MemberGone(Happened):
    """Proved gone, and its workspace was read for the last time. `unread`: why that failed, if it did."""

    key: str
    outcome: str | None
    unread: str = ""

    def entry(self) -> Note:
        return Note("gone", self.key, {"outcome": self.outcome, "unread": self.unread})


@dataclass(frozen=True, slots=True)
class MemberEscalated(Happened):
    key: str
    escalation: str
    cause: str
    issues: tuple[str, ...]

    def entry(self) -> Note:
        data = {"escalation": self.escalation, "cause": self.cause, "issues": list(self.issues)}
        return Note("escalated", self.key, dict(data))


@dataclass(frozen=True, slots=True)
class StillEscalated(Happened):
    """What was decided about it did not help: a salvage that was tried again failed again."""

    key: str
    escalation: str
    issues: tuple[str, ...]

    def entry(self) -> Note:
        data = {"escalation": self.escalation, "issues": list(self.issues)}
        return Note("still_escalated", self.key, dict(data))


@dataclass(frozen=True, slots=True)
class EscalationDecided(Happened):
    key: str
    escalation: str
    decision: str
    by: str
    reason: str = ""

    def entry(self) -> Note:
        data = {"escalation": self.escalation, "decision": self.decision, "by": self.by}
        return Note("decided", self.key, {**data, "reason": self.reason} if self.reason else dict(data))


@dataclass(frozen=True, slots=True)
class RequestRejected(Happened):
    """A stand-down ended because of these refusals: member's name and reason."""

    request: str
    rejected_by: tuple[tuple[str, str], ...]

    def entry(self) -> Note:
        rejected = [list(pair) for pair in self.rejected_by]
        return Note("rejected", "", {"request": self.request, "rejected_by": rejected})


@dataclass(frozen=True, slots=True)
class ReviewGiven(Happened):
    key: str
    task: str
    verdict: str
    words: str
    commit: str

    def entry(self) -> Note:
        data = {"task": self.task, "verdict": self.verdict, "words": self.words, "commit": self.commit}
        return Note("reviewed", self.key, dict(data))


@dataclass(frozen=True, slots=True)
class Refused(Happened):
    """What was asked for (`action`) is not allowed now. Whoever asked is told `code` and `why`."""

    action: str
    about: str
    code: str
    why: str
    by: str

    def entry(self) -> Note:
        data = {"action": self.action, "code": self.code, "why": self.why, "by": self.by}
        return Note("refused", self.about, dict(data))
