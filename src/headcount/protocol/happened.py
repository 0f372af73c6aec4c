"""Define what the rules decided, as typed events for other rules and front ends."""

# A step of the team reports them. The run (`run.py`) turns them into events of its tasks, in the same
# step. Each also becomes a journal entry, which `entry` writes. The rules and the engine never read an
# entry back, so no rule depends on a string of the journal.

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.protocol.effects import Note
from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from headcount.protocol.member import State, Trigger


@dataclass(frozen=True, slots=True)
class Happened:
    """The root of all reports of the rules."""

    def entry(self) -> Note:
        """Return the journal entry."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class MemberMoved(Happened):
    """A member made a transition of its table; `before` may equal `after`."""

    key: str
    before: State
    after: State
    trigger: Trigger

    def entry(self) -> Note:
        # Journals of all versions name the trigger `cue`.
        data = {"from": str(self.before), "to": str(self.after), "cue": str(self.trigger)}
        return Note("moved", self.key, dict(data))


@dataclass(frozen=True, slots=True)
class MemberVerified(Happened):
    """Its workspace was found clean."""

    key: str

    def entry(self) -> Note:
        return Note("verified_clean", self.key)


@dataclass(frozen=True, slots=True)
class MemberFailed(Happened):
    """Its own process ended by a failure, and no stand-down was the reason."""

    key: str
    cause: str

    def entry(self) -> Note:
        return Note("failed", self.key, {"cause": self.cause})


@dataclass(frozen=True, slots=True)
class MemberStuck(Happened):
    """Something of it survived SIGKILL."""

    key: str
    alive: tuple[str, ...]

    def entry(self) -> Note:
        return Note("stuck", self.key, {"alive": list(self.alive)})


@dataclass(frozen=True, slots=True)
class MemberGone(Happened):
    """A member is settled: proved gone, last read over. `unread` is the error of that read, if any."""

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
    """A request (`action`) is not allowed now. The caller gets `code` and `why`."""

    action: str
    about: str
    code: str
    why: str
    by: str

    def entry(self) -> Note:
        data = {"action": self.action, "code": self.code, "why": self.why, "by": self.by}
        return Note("refused", self.about, dict(data))
