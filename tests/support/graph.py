"""The states of an exploration as a graph, kept small, and the ways through it that nobody disturbs.

I8 asks how long each state takes to come to rest when people do nothing more (`liveness.py`). Each step of
such a way is one that the explorer takes anyway, so here it is looked up. Limits go on along the way: whoever
stays in its epoch keeps what is left of its time, whatever place its member has in the next normal form.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from tests.support.liveness import AT_REST, TEMPERS
from tests.support.onlooker import Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PLACES = 4  # three members, and the team's closing
CLOSING = PLACES - 1
_NONE = -1
_CARRIES = 1 << 12
_TOO_MANY = 10_000  # steps without rest: the tables are small, so it goes round

Carry = tuple[int, ...]  # for each place after a step: whose limit goes on there, or none
FRESH: Carry = (_NONE,) * PLACES


class Way(NamedTuple):
    """Where a step leads, and whose time goes on."""

    to: int
    carry: Carry


class Graph:
    """States are numbers. What is not filled in when it is needed is asked for (`look`)."""

    def __init__(self, look: Callable[[int], None]) -> None:
        self._look = look
        self._answers = array("q")  # for each state and temper, the way by its answer
        self._overdue = array("q")  # for each state and place, the way when that limit passes
        self._limits = array("f")
        self._rests = bytearray()  # may it stay so?
        self._known = bytearray()
        self._carries: list[Carry] = []
        self._numbers: dict[Carry, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, status: str) -> int:
        self._answers.extend([_NONE] * len(TEMPERS))
        self._overdue.extend([_NONE] * PLACES)
        self._limits.extend([0.0] * PLACES)
        self._rests.append(status in AT_REST)
        self._known.append(0)
        return len(self) - 1

    def fill(
        self, state: int, answers: Sequence[Way | None], overdue: Sequence[tuple[float, Way] | None]
    ) -> None:
        """The answers by temper, the limits with what follows by place."""
        for index, way in enumerate(answers):
            self._answers[state * len(TEMPERS) + index] = self._pack(way)
        for place, waits in enumerate(overdue):
            if waits is not None:
                self._limits[state * PLACES + place] = waits[0]
                self._overdue[state * PLACES + place] = self._pack(waits[1])
        self._known[state] = 1

    def _pack(self, way: Way | None) -> int:
        if way is None:
            return _NONE
        number = self._numbers.setdefault(way.carry, len(self._carries))
        if number == len(self._carries):
            self._carries.append(way.carry)
        return way.to * _CARRIES + number

    # --- ways to rest

    def check_all_end(self, states: int, bound: float) -> float:
        """From each of the first states, in every temper; the longest time that one takes."""
        return max(max(self._times(temper, states, bound)) for temper in range(len(TEMPERS)))

    def _times(self, temper: int, states: int, bound: float) -> Iterator[float]:
        """The last first: a way without loss of time that meets one of them goes on as that one did."""
        times = array("f", [_NONE]) * states
        for state in reversed(range(states)):
            times[state] = spent = self._time(state, temper, times, bound)
            yield spent

    def time(self, state: int, temper: int, bound: float) -> float:
        """How long one state takes to come to rest."""
        return self._time(state, temper, array("f"), bound)

    def _time(self, state: int, temper: int, times: array[float], bound: float) -> float:
        first, spent = state, 0.0
        due: list[float] | None = None  # None: everybody's limit is whole
        for _ in range(_TOO_MANY):
            if due is None and state < len(times) and times[state] >= 0:
                return times[state]
            self._need(state)
            way, due, passed = self._next(state, temper, due)
            spent += passed
            if way is None:
                return self._at_rest(first, state, spent)
            if spent > bound:
                raise Stranded(first, f"I8: not at rest after {spent:.0f} s, the bound is {bound:.0f} s")
            if way.to == state:
                raise Stranded(first, "I8: something changed nothing, and nothing else will come")
            if due is not None:
                due = self._carried(way, due)
            state = way.to
        raise Stranded(first, "I8: it goes round and round")

    def _at_rest(self, first: int, state: int, spent: float) -> float:
        if not self._rests[state]:
            raise Stranded(first, "I8: nothing will come any more, and the team is not at rest")
        return spent

    def _need(self, state: int) -> None:
        if not self._known[state]:
            self._look(state)

    def _next(
        self, state: int, temper: int, due: list[float] | None
    ) -> tuple[Way | None, list[float] | None, float]:
        """An answer costs no time; else the limit that passes first does."""
        answer = self._answers[state * len(TEMPERS) + temper]
        if answer != _NONE:
            return self._unpack(answer), due, 0.0
        base = state * PLACES
        due = due or list(self._limits[base : base + PLACES])
        waiting = [(due[place], place) for place in range(PLACES) if self._overdue[base + place] != _NONE]
        if not waiting:
            return None, due, 0.0
        passed, place = min(waiting)
        return self._unpack(self._overdue[base + place]), [left - passed for left in due], passed

    def _unpack(self, packed: int) -> Way:
        to, number = divmod(packed, _CARRIES)
        return Way(to, self._carries[number])

    def _carried(self, way: Way, due: list[float]) -> list[float]:
        self._need(way.to)
        base = way.to * PLACES
        return [
            self._limits[base + place] if old == _NONE else due[old] for place, old in enumerate(way.carry)
        ]


class Stranded(Violation):
    """From this state it does not end, or not in time."""

    def __init__(self, state: int, text: str) -> None:
        super().__init__(text)
        self.state = state
