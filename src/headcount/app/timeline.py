"""Read the states of each member over time from the journal, and the events that deserve a mark.

A running member that is idle, paused or at a usage limit is shown as such: that time is not work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.journal_sentences import tell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.ports import Entry

# What is worth a mark on a lane, beside the states themselves.
_MARKED = frozenset(
    ("answered", "found_dirty", "escalated", "decided", "salvaged", "exited", "nudged", "captured", "stuck")
)


# What a line that is not a transition begins, if the member is in one of these states.
_BEGINS = {
    "paused": ("paused", ("running", "idle", "limited")),
    "resumed": ("running", ("paused",)),
    "limited": ("limited", ("running", "idle")),
    "limit_over": ("running", ("limited",)),
}


class Span(NamedTuple):
    """From `since` on it was in `state`, until the next span."""

    state: str
    since: float


class Mark(NamedTuple):
    at: float
    kind: str
    what: str


class Lane:
    """One incarnation. Its spans follow each other without a gap; `ended` is when it was proved gone."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.spans: list[Span] = []
        self.marks: list[Mark] = []
        self.ended: float | None = None

    def enter(self, state: str, at: float) -> None:
        if not self.spans or self.spans[-1].state != state:
            self.spans.append(Span(state, at))
        if state == "gone":
            self.ended = at

    @property
    def state(self) -> str:
        return self.spans[-1].state if self.spans else ""

    def as_dict(self, until: float) -> dict[str, Any]:
        """`until` ends the last span of one that is still there."""
        ends = [span.since for span in self.spans[1:]] + [self.ended or until]
        return {
            "spans": [
                {"state": span.state, "from": span.since, "to": end}
                for span, end in zip(self.spans, ends, strict=True)
                if span.state != "gone"
            ],
            "marks": [mark._asdict() for mark in self.marks],
        }


class Timeline:
    """Lanes that grow with the journal: feed it what is new, in order."""

    def __init__(self) -> None:
        self.lanes: dict[str, Lane] = {}
        self.seq = 0

    def add(self, entries: Iterable[Entry]) -> set[str]:
        """The keys of the lanes that changed."""
        changed = set()
        for entry in entries:
            self.seq = entry.seq
            if self._hear(entry):
                changed.add(entry.about)
        return changed

    def _hear(self, entry: Entry) -> bool:
        if entry.kind == "starting":
            self._lane(entry.about).enter("starting", entry.at)
        elif entry.kind == "moved":
            lane = self._lane(entry.about)
            lane.enter(_state_after(lane.state, entry.data), entry.at)
        elif entry.kind in _BEGINS and entry.about in self.lanes:
            lane, (state, before) = self.lanes[entry.about], _BEGINS[entry.kind]
            if lane.state in before:
                lane.enter(state, entry.at)
        elif entry.kind in _MARKED and entry.about in self.lanes:
            self.lanes[entry.about].marks.append(Mark(entry.at, entry.kind, tell(entry) or entry.kind))
        else:
            return False
        return True

    def _lane(self, key: str) -> Lane:
        return self.lanes.setdefault(key, Lane(key))


def _state_after(now: str, data: Mapping[str, Any]) -> str:
    """Return what a lane shows after a transition. Requested changes end neither a pause nor a limit."""
    if data["to"] != "running":
        return str(data["to"])
    if data["cue"] == "changes" and now in ("paused", "limited"):
        return now
    return "idle" if data["cue"] == "idle" else "running"


def read_timeline(entries: Iterable[Entry]) -> Timeline:
    timeline = Timeline()
    timeline.add(entries)
    return timeline
