"""What the journal says of each member over time: in which state from when to when, and what stood out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.journal_sentences import tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.ports import Entry

# What is worth a mark on a lane, beside the states themselves.
_MARKED = frozenset(
    ("answered", "found_dirty", "escalated", "decided", "salvaged", "exited", "nudged", "captured", "stuck")
)


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
            self._lane(entry.about).enter(entry.data["to"], entry.at)
        elif entry.kind in _MARKED and entry.about in self.lanes:
            self.lanes[entry.about].marks.append(Mark(entry.at, entry.kind, tell(entry) or entry.kind))
        else:
            return False
        return True

    def _lane(self, key: str) -> Lane:
        return self.lanes.setdefault(key, Lane(key))


def read_timeline(entries: Iterable[Entry]) -> Timeline:
    timeline = Timeline()
    timeline.add(entries)
    return timeline
