"""Every reachable state of a small team, every event in each of them, every invariant on every step.

States that differ only in names, or in what decides no rule, are one (`normal.py`), so there are finitely
many. What that drops (which outcome an end has) the simulator checks over whole histories.
"""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from headcount.protocol import events as ev
from headcount.protocol.bound import bound_s, close_step_s
from headcount.protocol.member import Member, limit_s
from headcount.protocol.team_step import step_team
from tests.support.graph import CLOSING, FRESH, Graph, Stranded, Way
from tests.support.invariants import check
from tests.support.liveness import TEMPERS, next_answer, waits_s
from tests.support.normal import Form, Forms
from tests.support.onlooker import Seen, Step, Violation, remember
from tests.support.possible import possible_for, possible_for_team, strange_to, strange_to_team
from tests.support.variants import Variant, first_team

if TYPE_CHECKING:
    from headcount.domain.policy import Policy
    from headcount.protocol.team import Escalation, Team

_OFTEN = 20_000  # states between two signs of life
_SAMPLE = 97  # of so many steps that were taken elsewhere one is taken all the same, and compared
_NOTHING = ev.Decided("e-unknown", "force-kill")  # is heard and refused; then the team goes on by itself


@dataclass(slots=True)
class Report:
    variant: str
    states: int = 0
    stands_for: int = 0
    steps: int = 0
    taken: int = 0  # the others were taken elsewhere, where nothing that the rules read is different
    strange: int = 0
    whole: bool = False
    seconds: float = 0.0
    cpu_s: float = 0.0
    longest_s: float = 0.0  # to come to rest, in the worst of the states
    bound_s: float = 0.0
    ends: dict[str, int] = field(default_factory=dict)
    moves: set[tuple[str, str]] = field(default_factory=set)  # of the team's status
    events: set[str] = field(default_factory=set)  # the kinds that were heard

    def __str__(self) -> str:
        ends = ", ".join(f"{count:,} {name}" for name, count in sorted(self.ends.items()))
        extent = "all" if self.whole else "the first"
        return (
            f"{self.variant:10} {extent} {self.states:,} states ({self.stands_for:,} with names), "
            f"{self.steps:,} steps ({self.taken:,} taken), {self.strange:,} strange events, "
            f"in {self.seconds:.0f} s ({self.cpu_s:.0f} s of one core's time); at rest: {ends}; "
            f"in {self.longest_s:,.0f} s at most, the bound is {self.bound_s:,.0f} s"
        )


class _Node(NamedTuple):
    team: Team
    seen: dict[str, Seen]
    form: Form


class Outcome(NamedTuple):
    """What an event did to the member that it is about, and did nothing else."""

    entry: int
    member: Member
    escalation: Escalation | None
    facts: Seen
    kept: bool  # its epoch goes on

    def happen_to(self, key: str, node: _Node) -> tuple[Team, dict[str, Seen]]:
        """The team of a node after the same has happened there, perhaps to a member of another name."""
        member = replace(self.member, name=key[0], escalation=f"e-{key}" if self.escalation else None)
        escalations = {e.id: e for e in node.team.escalations.values() if e.key != key}
        if self.escalation is not None:
            escalations[f"e-{key}"] = replace(self.escalation, id=f"e-{key}", key=key)
        members = {**node.team.members, key: member}
        return replace(node.team, members=members, escalations=escalations), {**node.seen, key: self.facts}


def _touches_only(key: str, node: _Node, after: Team, seen: dict[str, Seen]) -> bool:
    before = node.team
    return all(
        after.members[k] is m and seen[k] == node.seen[k] for k, m in before.members.items() if k != key
    ) and all(getattr(after, name) == getattr(before, name) for name in _NOT_OF_A_MEMBER)


_NOT_OF_A_MEMBER = ("status", "requests", "close_step", "close_epoch", "close_failures")


class Explorer:
    """Breadth first, so that the way to a violation is a shortest one."""

    def __init__(self, variant: Variant, ordered: bool = True, reuse: bool = True) -> None:
        self.variant = variant
        self.report = Report(variant.name, bound_s=bound_s(variant.policy, variant.choices.size))
        self.known: dict[int, int] = {}  # the state of each form
        self.forms = Forms(ordered)
        self.graph = Graph(self._look)
        self._ahead: deque[int] = deque()
        self._nodes: dict[int, _Node] = {}  # of states that are not explored yet
        self._parents = array("q")
        self._events: list[ev.Event | None] = []
        self._shared: dict[ev.Event, ev.Event] = {}
        self._tried: set[object] = set()
        self._reuse = reuse
        self._reused = 0
        self._cases: dict[object, list[Outcome | None]] = {}
        self._possible: dict[object, list[ev.Event]] = {}
        first = first_team(variant)
        self._add(first, {}, self.forms.of(first, {}), -1, None)

    def run(self, max_states: int | None = None, tell: Callable[[Report], object] | None = None) -> Report:
        report, began, worked = self.report, time.perf_counter(), time.process_time()
        while self._ahead and (max_states is None or report.states < max_states):
            self._explore(self._ahead.popleft())
            if tell is not None and report.states % _OFTEN == 0:
                report.seconds = time.perf_counter() - began
                tell(report)
        report.whole = not self._ahead
        self._check_all_end()
        report.seconds, report.cpu_s = time.perf_counter() - began, time.process_time() - worked
        return report

    def _explore(self, state: int) -> None:
        node, report = self._nodes[state], self.report
        report.states += 1
        report.stands_for += self.forms.stands_for(node.team, node.form)
        ways: dict[ev.Event, Way] = {}
        for event in possible_for_team(node.team, self.variant.choices):
            ways[event] = self._take(state, node, event)
        for place, key in enumerate(node.team.members):
            ways |= self._ways_of_one(state, node, place, key)
        report.steps += len(ways)
        self._fill(state, node, ways)
        self._try_strange(state, node)
        if at_rest(node.team, self.variant.policy):
            report.ends[node.team.status] = report.ends.get(node.team.status, 0) + 1
        del self._nodes[state]

    # --- one step

    def _take(self, state: int, node: _Node, event: ev.Event) -> Way:
        return self._arrive(state, node, event, *self._checked(state, node, event))

    def _arrive(self, state: int, node: _Node, event: ev.Event, after: Team, seen: dict[str, Seen]) -> Way:
        form = self.forms.of(after, seen)
        return Way(self._add(after, seen, form, state, event), self._carry(node.team, after, form))

    def _checked(self, state: int, node: _Node, event: ev.Event) -> tuple[Team, dict[str, Seen]]:
        self.report.taken += 1
        try:
            after, ready = step_team(node.team, event, self.variant.policy)
            taken = Step(node.team, event, after, ready)
            seen = remember(node.seen, taken)
            check(taken, seen)
        except Exception as problem:
            raise Violation(f"{problem}\nafter:\n  {self._story(state, event)}") from problem
        self.report.events.add(type(event).__name__)
        if after.status is not node.team.status:
            self.report.moves.add((node.team.status, after.status))
        return after, seen

    # --- steps that touch one member only

    def _ways_of_one(self, state: int, node: _Node, place: int, key: str) -> dict[ev.Event, Way]:
        """By each event about a member. It is taken once where everything that the rules read is the same."""
        case, ways = self.forms.case(node.team, node.form, place), {}
        events, outcomes = self._about(node, place, key), self._cases.get(case)
        if outcomes is None or not self._reuse:
            outcomes = self._cases[case] = []
            for event in events:
                after, seen = self._checked(state, node, event)
                outcomes.append(self._outcome(node, key, after, seen))
                ways[event] = self._arrive(state, node, event, after, seen)
            return ways
        for event, outcome in zip(events, outcomes, strict=True):
            if outcome is None:
                ways[event] = self._take(state, node, event)
            else:
                ways[event] = self._go_as_before(state, node, event, place, outcome)
        return ways

    def _about(self, node: _Node, place: int, key: str) -> list[ev.Event]:
        known, member = (node.form.entries[place], place, node.team.status), node.team.members[key]
        if known not in self._possible:
            events = possible_for(member, node.team, self.variant.policy, self.variant.choices)
            self._possible[known] = list(events)
        return self._possible[known]

    def _outcome(self, node: _Node, key: str, after: Team, seen: dict[str, Seen]) -> Outcome | None:
        if not _touches_only(key, node, after, seen):
            return None
        member = after.members[key]
        escalation = after.escalations.get(member.escalation or "")
        kept = member.epoch == node.team.members[key].epoch
        return Outcome(self.forms.entry(key, after, seen), member, escalation, seen[key], kept)

    def _go_as_before(self, state: int, node: _Node, event: ev.Event, place: int, outcome: Outcome) -> Way:
        form = self.forms.changed(node.form, place, outcome.entry)
        to = self.known.get(form.key)
        if to is None:
            team, seen = outcome.happen_to(node.form.order[place], node)
            to = self._add(team, seen, form, state, event)
        way = Way(to, self._carry_one(node, form, place, outcome.kept))
        self._reused += 1
        if self._reused % _SAMPLE == 0 and self._take(state, node, event) != way:
            raise Violation(f"{event} does more than it did elsewhere\nafter:\n  {self._story(state)}")
        return way

    def _carry_one(self, node: _Node, form: Form, place: int, kept: bool) -> tuple[int, ...]:
        carry = list(FRESH)
        for new, key in enumerate(form.order):
            old = node.form.order.index(key)
            waits = waits_s(node.team.members[key], self.variant.policy) is not None
            if waits and (kept or old != place):
                carry[new] = old
        if node.team.close_step is not None:
            carry[CLOSING] = CLOSING
        return tuple(carry)

    def _add(self, team: Team, seen: dict[str, Seen], form: Form, parent: int, event: ev.Event | None) -> int:
        known = self.known.get(form.key)
        if known is not None:
            return known
        state = self.graph.add(team.status)
        self.known[form.key] = state
        plain, facts = self.forms.build(team, seen, form)
        self._nodes[state] = _Node(plain, facts, form._replace(order=tuple(plain.members)))
        self._ahead.append(state)
        self._parents.append(parent)
        self._events.append(event and self._shared.setdefault(event, event))
        return state

    def _carry(self, before: Team, after: Team, form: Form) -> tuple[int, ...]:
        """Whose limit goes on at each place: only a new epoch starts it anew."""
        carry, places = list(FRESH), list(before.members)
        for place, key in enumerate(form.order):
            old = before.members.get(key)
            if old is not None and old.epoch == after.members[key].epoch:
                waits = waits_s(old, self.variant.policy) is not None
                carry[place] = places.index(key) if waits else carry[place]
        if before.close_step is not None and before.close_epoch == after.close_epoch:
            carry[CLOSING] = CLOSING
        return tuple(carry)

    def _story(self, state: int, *more: ev.Event) -> str:
        events: list[ev.Event] = []
        while state >= 0:
            event = self._events[state]
            events += [event] if event is not None else []
            state = self._parents[state]
        return "\n  ".join(map(str, [*reversed(events), *more]))

    def retrace(self) -> list[tuple[Team, dict[str, Seen]]]:
        """The team that stands for each state, in the order in which they were found."""
        first = first_team(self.variant)
        teams = [self.forms.build(first, {}, self.forms.of(first, {}))]
        for parent, event in zip(self._parents[1:], self._events[1:], strict=True):
            assert event is not None
            team, seen = teams[parent]
            after, ready = step_team(team, event, self.variant.policy)
            seen = remember(seen, Step(team, event, after, ready))
            teams.append(self.forms.build(after, seen, self.forms.of(after, seen)))
        return teams

    # --- from each state everything ends

    def _look(self, state: int) -> None:
        """A way to rest leads out of the slice that was explored."""
        self._fill(state, self._nodes[state], {})

    def _fill(self, state: int, node: _Node, ways: dict[ev.Event, Way]) -> None:
        team, policy = node.team, self.variant.policy

        def way(event: ev.Event) -> Way:
            return ways.get(event) or self._take(state, node, event)

        answers = [way(event) if (event := next_answer(team, temper)) else None for temper in TEMPERS]
        overdue: list[tuple[float, Way] | None] = [None] * (CLOSING + 1)
        for place, member in enumerate(team.members.values()):
            limit = waits_s(member, policy)
            if limit is not None:
                overdue[place] = (limit, way(ev.TimedOut(member.key, member.epoch)))
        if team.close_step is not None:
            limit = close_step_s(policy, len(team.members))
            overdue[CLOSING] = (limit, way(ev.TimedOut(None, team.close_epoch)))
        self.graph.fill(state, answers, overdue)

    def _check_all_end(self) -> None:
        try:
            self.report.longest_s = self.graph.check_all_end(self.report.states, self.report.bound_s)
        except Stranded as problem:
            raise Violation(f"{problem}\nafter:\n  {self._story(problem.state)}") from problem

    # --- what is strange changes nothing

    def _try_strange(self, state: int, node: _Node) -> None:
        """Each once for every member that is different, with its request, and for every state of the team.

        That is enough because such an event is about one member, and in every state it is seen that nothing
        goes on by itself.
        """
        team = node.team
        self._changes_nothing(state, node, _NOTHING)
        if self._is_new((team.status, team.close_step, len(team.requests))):
            for event in strange_to_team(team):
                self._changes_nothing(state, node, event)
        for entry, member in zip(node.form.entries, team.members.values(), strict=True):
            if self._is_new((team.status, entry)):
                for event in strange_to(member):
                    self._changes_nothing(state, node, event)

    def _is_new(self, case: object) -> bool:
        count = len(self._tried)
        self._tried.add(case)
        return len(self._tried) > count

    def _changes_nothing(self, state: int, node: _Node, event: ev.Event) -> None:
        self.report.strange += 1
        after, _ = step_team(node.team, event, self.variant.policy)
        if after != node.team:
            story = self._story(state, event)
            raise Violation(f"{event} is strange, and changed something\nafter:\n  {story}")


def explore(
    variant: Variant, max_states: int | None = None, tell: Callable[[Report], object] | None = None
) -> Report:
    return Explorer(variant).run(max_states, tell)


def at_rest(team: Team, policy: Policy) -> bool:
    """Nothing is waited for but people."""
    return team.close_step is None and all(limit_s(m, policy) is None for m in team.members.values())
