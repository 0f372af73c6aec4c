"""One team for all teams that the rules cannot tell apart.

Members that differ by name only are put in one order. Epochs start anew, ids are given by place. Dropped is
what no rule reads any more in that state: how often a member that is being stopped was inspected, or what
it had answered. Kept is what the onlooker remembers, because the invariants read it.

A form is a key, a number that two teams share exactly when they are one. What it is made of is interned: the
many teams of an exploration consist of few different members.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.protocol.member import Activity, Member, State
from headcount.protocol.team import Escalation
from tests.support.onlooker import Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headcount.protocol.team import Request, Team

_BEFORE_SALVAGE = frozenset(State) - {State.SALVAGING, State.STOPPING, State.KILLING, State.GONE}
_STRANGER = Seen()
LETTERS = "abcdef"
_BITS = 20  # room in a key for the number of each part


class Form(NamedTuple):
    key: int
    order: tuple[str, ...]  # the members' keys, by place
    entries: tuple[int, ...]  # what is told apart about each of them, by place
    whole: int  # what there is to the team besides


class Forms:
    """The forms of one exploration. `ordered=False` tells members apart by their names."""

    def __init__(self, ordered: bool = True) -> None:
        self._ordered = ordered
        self._numbers: dict[object, int] = {}
        self._parts: list[Any] = [None]  # what each number stands for
        self._views: dict[int, int] = {}  # of each entry
        self._moves: dict[object, int] = {}
        self._members: dict[object, Member] = {}
        self._values: dict[int, int] = {}  # of each member that `build` gave out, by its identity

    def of(self, team: Team, seen: Mapping[str, Seen]) -> Form:
        cover = _cover(team)
        entries = [
            (self._entry(member, team, cover, seen.get(key, _STRANGER)), key)
            for key, member in team.members.items()
        ]
        entries.sort(key=None if self._ordered else _by_name)
        order = tuple(key for _, key in entries)
        whole = self._number(_whole(team, {key: index for index, key in enumerate(order)}))
        return _form(whole, order, tuple(entry for entry, _ in entries))

    def entry(self, key: str, team: Team, seen: Mapping[str, Seen]) -> int:
        return self._entry(team.members[key], team, _cover(team), seen.get(key, _STRANGER))

    def _entry(self, member: Member, team: Team, cover: Mapping[str, tuple[Any, ...]], seen: Seen) -> int:
        escalation = team.escalations.get(member.escalation or "")
        about = (escalation.cause, escalation.state, escalation.here) if escalation else ("", "", False)
        values = self._values.get(id(member)) or self._number(_fields(member, about[0]))
        covered = cover.get(member.key, ())
        free = member.request is None or member.settled
        entry = self._number((values, about, free, covered, seen[:3]))
        if entry not in self._views:
            self._views[entry] = self._number(_view(member, covered))
        return entry

    def changed(self, form: Form, place: int, entry: int) -> Form:
        """The form of a team of which one member has changed, and nothing else."""
        entries = [(old, key) for old, key in zip(form.entries, form.order, strict=True)]
        entries[place] = (entry, form.order[place])
        entries.sort(key=None if self._ordered else _by_name)
        order = tuple(key for _, key in entries)
        whole = form.whole if order == form.order else self._moved(form.whole, form.order, order)
        return _form(whole, order, tuple(entry for entry, _ in entries))

    def _moved(self, whole: int, before: tuple[str, ...], after: tuple[str, ...]) -> int:
        """The same requests, when their members have changed places."""
        move = (whole, tuple(after.index(key) for key in before))
        if move not in self._moves:
            status, step, failures, shapes = self._parts[whole]
            shapes = tuple(sorted(_moved_shape(shape, move[1]) for shape in shapes))
            self._moves[move] = self._number((status, step, failures, shapes))
        return self._moves[move]

    def case(self, team: Team, form: Form, place: int) -> object:
        """Everything that the rules read when an event is about the member at a place.

        Of the others that is little. Where they all stand under one request, or none, it does not matter
        either who of them is who: what covers each is part of its view.
        """
        entry = form.entries[place]
        others = [self._views[other] for index, other in enumerate(form.entries) if index != place]
        requests = team.requests.values()
        if all(r.whole_team and not r.taken_over for r in requests):
            alike = tuple((r.force, r.asking) for r in requests)
            return (team.status, team.close_step, alike, entry, tuple(sorted(others)))
        return (form.whole, place, entry, tuple(others))

    def _number(self, part: object) -> int:
        """The same for what is equal; never 0."""
        number = self._numbers.setdefault(part, len(self._parts))
        if number == len(self._parts):
            if number >> _BITS:
                raise OverflowError(f"more than {1 << _BITS:,} parts of teams are different")
            self._parts.append(part)
        return number

    def build(self, team: Team, seen: Mapping[str, Seen], form: Form) -> tuple[Team, dict[str, Seen]]:
        """The team that stands for all that have this form."""
        order = form.order
        keys = {key: f"{LETTERS[place]}#1" for place, key in enumerate(order)}
        if not self._ordered:
            keys = {key: key for key in order}
        ids = {r.id: new for r in team.requests.values() for r, new in _renamed(r, keys)}
        open_ones = {
            e.id: Escalation(f"e-{keys[e.key]}", keys[e.key], e.cause, state=e.state, here=e.here)
            for e in team.escalations.values()
            if e.state in ("open", "parked")
        }
        members = [self._renamed(team.members[key], keys[key][0], ids, open_ones) for key in order]
        requests = [_plain_request(r, keys, ids) for r in team.requests.values()]
        now = replace(
            team, members={m.key: m for m in members}, generations={m.name: 1 for m in members},
            requests={r.id: r for r in sorted(requests, key=lambda r: r.id)}, last_request=None,
            escalations={e.id: e for e in open_ones.values()}, escalation_count=0, close_epoch=1, warnings=(),
        )  # fmt: skip
        return now, {keys[key]: Seen(*seen.get(key, _STRANGER)[:3]) for key in order}

    def _renamed(
        self, member: Member, name: str, ids: Mapping[str, str], escalations: Mapping[str, Escalation]
    ) -> Member:
        request = None if member.settled else ids.get(member.request or "")
        ask = ids.get(member.ask or "", "r-old") if member.state is State.ASKED else None
        escalation = escalations.get(member.escalation or "")
        about = escalation.id if escalation else None
        same = (name, request, ask, about) == (member.name, member.request, member.ask, member.escalation)
        if same and id(member) in self._values:
            return member
        fields = _fields(member, escalation.cause if escalation else "")
        return self._shared(name, request, ask, about, fields)

    def _shared(
        self, name: str, request: str | None, ask: str | None, about: str | None, fields: tuple[Any, ...]
    ) -> Member:
        values = self._number(fields)
        known = (name, values, request, ask, about)
        member = self._members.get(known)
        if member is None:
            read = dict(zip(_READ, fields, strict=True))
            member = Member(name, 1, epoch=1, request=request, ask=ask, escalation=about, **read)
            self._members[known] = member
            self._values[id(member)] = values  # it is kept, so nobody else gets its identity
        return member

    def stands_for(self, team: Team, form: Form) -> int:
        """How many teams have this form when members are told apart by their names.

        Names change places only among members of one role: a lead is known by its name.
        """
        swaps = list(_swaps([team.members[key].role for key in form.order]))
        if len(set(form.entries)) == len(form.entries):
            return len(swaps)
        alike = [_whole(team, {form.order[old]: new for new, old in enumerate(swap)}) for swap in swaps]
        shown = [tuple(form.entries[old] for old in swap) for swap in swaps]
        return len(set(zip(alike, shown, strict=True)))


def _form(whole: int, order: tuple[str, ...], entries: tuple[int, ...]) -> Form:
    key = whole
    for entry in entries:
        key = key << _BITS | entry
    return Form(key << 3 | len(order), order, entries, whole)


def _by_name(entry: tuple[int, str]) -> str:
    return entry[1]


def _swaps(roles: Sequence[str]) -> Iterator[tuple[int, ...]]:
    for swap in permutations(range(len(roles))):
        if all(roles[old] == roles[new] for new, old in enumerate(swap)):
            yield swap


def _fields(member: Member, cause: str) -> tuple[Any, ...]:
    """What the rules may still read of a member in its state, and of one that is escalated for this cause.

    Nobody comes back from a salvage: whoever is escalated because one failed is on its way out too.
    """
    early = member.state in _BEFORE_SALVAGE and cause != "salvage"
    return tuple(read(member, early) for read in _READ.values())


def _view(member: Member, covered: tuple[Any, ...]) -> tuple[Any, ...]:
    """What `go_on` and the status of the team read of a member, and more rather than less."""
    state, activity = member.state, _activity(member)
    answer = member.answer if state is State.ASKED else None
    return (
        member.role,
        state,
        activity,
        answer,
        member.settled,
        member.stuck,
        member.request is None,
        covered,
    )


def _activity(member: Member, early: bool = True) -> Activity:
    """Whoever is limited holds up the starts of others while it lives; whoever sleeps has to be woken."""
    limited, paused = member.activity is Activity.LIMITED, member.activity is Activity.PAUSED
    lasts = (limited and member.live) or (paused and early)
    return member.activity if lasts or member.state is State.RUNNING else Activity.WORKING


_READ: dict[str, Callable[[Member, bool], Any]] = {
    "role": lambda m, early: m.role,
    "state": lambda m, early: m.state,
    "activity": _activity,
    "awaits_review": lambda m, early: m.awaits_review and early,
    "answer": lambda m, early: m.answer if m.state is State.ASKED else None,
    "held_done": lambda m, early: m.held_done and m.state is State.ASKED,
    "judging": lambda m, early: m.judging and m.state is State.INSPECTING,
    "attempts": lambda m, early: min(m.attempts, 1) if early else 1,
    "failures": lambda m, early: m.failures if early else 0,
    "silences": lambda m, early: m.silences if m.state is State.NUDGED else 0,
    "waits": lambda m, early: m.waits if early or m.state in (State.SALVAGING, State.ESCALATED) else 0,
    "terminated": lambda m, early: m.terminated and m.state is State.STOPPING,
    "exited": lambda m, early: m.exited and not m.settled,
    "stuck": lambda m, early: m.stuck,
    "settled": lambda m, early: m.settled,
    "over_budget": lambda m, early: m.over_budget and early,
    "failure": lambda m, early: "x" if m.failure and not m.settled else "",
}


def _whole(team: Team, place: Mapping[str, int]) -> tuple[Any, ...]:
    """What there is to a team besides its members."""
    shapes = tuple(sorted(_shape(r, place) for r in team.requests.values()))
    return (team.status, team.close_step, team.close_failures, shapes)


def _cover(team: Team) -> dict[str, tuple[Any, ...]]:
    """The requests that cover each member, from the outermost inwards, by their shape, and which of them it
    was asked by."""
    cover: dict[str, tuple[Any, ...]] = {}
    for request in team.requests.values():
        for depth, inner in _nested(request):
            for key in inner.targets:
                member = team.members[key]
                asks = member.state is State.ASKED and member.ask == inner.id
                shape = (depth, inner.whole_team, inner.forces(key), inner.asking, asks)
                cover[key] = (*cover.get(key, ()), shape)
    return cover


def _nested(request: Request, depth: int = 0) -> Iterator[tuple[int, Request]]:
    yield depth, request
    for narrower in request.taken_over:
        yield from _nested(narrower, depth + 1)


def _shape(request: Request, place: Mapping[str, int]) -> tuple[Any, ...]:
    inner = tuple(sorted(_shape(r, place) for r in request.taken_over))
    targets = tuple(sorted(place[key] for key in request.targets))
    forced = tuple(sorted(place[key] for key in request.forced))
    return (targets, request.whole_team, request.force, forced, request.asking, inner)


def _moved_shape(shape: tuple[Any, ...], places: tuple[int, ...]) -> tuple[Any, ...]:
    targets, whole_team, force, forced, asking, inner = shape
    return (
        tuple(sorted(places[old] for old in targets)), whole_team, force,
        tuple(sorted(places[old] for old in forced)), asking,
        tuple(sorted(_moved_shape(narrower, places) for narrower in inner)),
    )  # fmt: skip


def _renamed(request: Request, keys: Mapping[str, str]) -> Iterator[tuple[Request, str]]:
    """Open requests share no member, nor do those that one of them took over."""
    for depth, inner in _nested(request):
        first = min((keys[key] for key in inner.targets), default="")
        yield inner, "r-team" if inner.whole_team else f"r{depth}-{first}"


def _plain_request(request: Request, keys: Mapping[str, str], ids: Mapping[str, str]) -> Request:
    return replace(
        request, id=ids[request.id], reason="", targets=tuple(sorted(keys[key] for key in request.targets)),
        taken_over=tuple(_plain_request(r, keys, ids) for r in request.taken_over),
        forced=tuple(sorted(keys[key] for key in request.forced)),
    )  # fmt: skip
