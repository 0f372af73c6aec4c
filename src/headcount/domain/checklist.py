"""Describe a phase to others: the completion checklist and `status.json`.

One schema for `status.json`, checked when it is written and when it is read, so that a reason is never
written under one field and looked for under another.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

VERIFICATION: Final = "verification"
COMPLEXITY: Final = "complexity"
GATES: Final = (VERIFICATION, COMPLEXITY)

STATUSES: Final = ("running", "complete", "blocked")


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the checklist. Both a done and an open item give their evidence."""

    title: str
    done: bool
    evidence: str
    skipped: bool = False  # done, because nothing had to be done

    def __str__(self) -> str:
        return f"[{'-' if self.skipped else 'x' if self.done else ' '}] {self.title}: {self.evidence}"


@dataclass(frozen=True, slots=True)
class PhaseStatus:
    """`status.json`, field by field. Times are ISO 8601 with an offset."""

    status: str
    attempt: int
    started_at: str
    completed_at: str | None = None
    blocked_at: str | None = None
    reason: str = ""
    gate: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        wrong = [text for holds, text in self._claims() if not holds]
        if wrong:
            raise ValueError("; ".join(wrong))

    def _claims(self) -> tuple[tuple[bool, str], ...]:
        complete, blocked = self.status == "complete", self.status == "blocked"
        return (
            (self.status in STATUSES, f"status is one of {', '.join(STATUSES)}"),
            (type(self.attempt) is int and self.attempt >= 1, "attempt counts from 1"),
            (_is_time(self.started_at), "started_at is a time with an offset"),
            (
                _is_time_if(complete, self.completed_at),
                "completed_at stands with complete only",
            ),
            (_is_time_if(blocked, self.blocked_at), "blocked_at stands with blocked only"),
            (blocked == bool(self.reason), "reason stands with blocked only, and is never empty there"),
            (self.gate is None or (blocked and self.gate in GATES), f"gate is one of {', '.join(GATES)}"),
            (all(type(note) is str for note in self.notes), "notes are texts"),
        )

    def as_dict(self) -> dict[str, object]:
        """As it is written; the time of an end that did not come is left out."""
        raw = {**asdict(self), "notes": list(self.notes)}
        return {k: v for k, v in raw.items() if v is not None or k not in ("completed_at", "blocked_at")}


def read_status(raw: Mapping[str, Any]) -> PhaseStatus:
    """The other direction. Raises ValueError for a field that the schema does not have, or a wrong value."""
    unknown = set(raw) - {field.name for field in fields(PhaseStatus)}
    if unknown:
        raise ValueError(f"status.json has no field {', '.join(sorted(unknown))}")
    try:
        return PhaseStatus(**{**raw, "notes": tuple(raw.get("notes", ()))})
    except TypeError as error:
        raise ValueError(f"status.json is incomplete: {error}") from None


def _is_time(text: object) -> bool:
    if not isinstance(text, str):
        return False
    try:
        return datetime.fromisoformat(text).utcoffset() is not None
    except ValueError:
        return False


def _is_time_if(wanted: bool, text: str | None) -> bool:
    return _is_time(text) if wanted else text is None
