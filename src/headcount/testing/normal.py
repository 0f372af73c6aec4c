"""One team for all teams that the rules cannot tell apart.

Members that differ by name only are put in one order. Epochs start anew, ids are given by place. Dropped is
what no rule reads any more in that state: how often a member that is being stopped was inspected, or what
it had answered. Kept is what the onlooker remembers, because the invariants read it.
"""

from __future__ import annotations

import hashlib
import marshal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcount.protocol.member import Member, State
from headcount.protocol.team import Escalation
from headcount.testing.onlooker import Seen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headcount.protocol.team import Request, Team

_BEFORE_SALVAGE = frozenset(State) - {State.SALVAGING, State.STOPPING, State.KILLING, State.GONE}
_LETTERS = "abcdef"


class NormalForm:
    """Cheap to compare (`digest`); the team itself is built only when it is new."""

    def __init__(self, team: Team, seen: Mapping[str, Seen]) -> None:
        self.team = team
        self.seen = seen
        cover = _cover(team)
        rows = sorted(
            (_row(m, team, cover), tuple(seen.get(m.key, Seen())[:3]), m.key) for m in team.members.values()
        )
        self.order = [key for _, _, key in rows]
        place = {key: index for index, key in enumerate(self.order)}
        whole = (
            str(team.status), [row[:2] for row in rows], team.close_step, team.close_failures,
            sorted(_shape(r, place) for r in team.requests.values()),
        )  # fmt: skip
        self.digest = hashlib.blake2b(marshal.dumps(whole, 2), digest_size=16).digest()

    def build(self) -> tuple[Team, dict[str, Seen]]:
        team = self.team
        keys = {key: f"{_LETTERS[place]}#1" for place, key in enumerate(self.order)}
        ids = {r.id: new for r in team.requests.values() for r, new in _renamed(r, keys)}
        open_ones = {
            e.id: Escalation(f"e-{keys[e.key]}", keys[e.key], e.cause, state=e.state)
            for e in team.escalations.values()
            if e.state in ("open", "parked")
        }
        members = [_plain(team.members[key], keys[key][0], ids, open_ones) for key in self.order]
        requests = [_plain_request(r, keys, ids) for r in team.requests.values()]
        now = replace(
            team, members={m.key: m for m in members}, generations={m.name: 1 for m in members},
            requests={r.id: r for r in sorted(requests, key=lambda r: r.id)}, last_request=None,
            escalations={e.id: e for e in open_ones.values()}, escalation_count=0, close_epoch=1, warnings=(),
        )  # fmt: skip
        return now, {keys[key]: Seen(*self.seen.get(key, Seen())[:3]) for key in self.order}


def _fields(member: Member) -> dict[str, Any]:
    """What the rules may still read of a member in its state."""
    state = member.state
    early = state in _BEFORE_SALVAGE
    return {
        "role": member.role,
        "state": state,
        "activity": member.activity if state is State.RUNNING else "working",
        "awaits_review": member.awaits_review and early,
        "answer": member.answer if state is State.ASKED else None,
        "held_done": member.held_done and early,
        "judging": member.judging and state is State.INSPECTING,
        "attempts": min(member.attempts, 1) if early else 1,
        "failures": member.failures if early else 0,
        "silences": member.silences if state is State.NUDGED else 0,
        "waits": member.waits if early or state is State.SALVAGING else 0,
        "terminated": member.terminated and state is State.STOPPING,
        "exited": member.exited and not member.settled,
        "stuck": member.stuck,
        "settled": member.settled,
        "failure": "x" if member.failure and not member.settled else "",
    }


def _row(member: Member, team: Team, cover: Mapping[str, list[tuple[object, ...]]]) -> tuple[Any, ...]:
    escalation = team.escalations.get(member.escalation or "")
    about = (escalation.cause, escalation.state) if escalation else ()
    values = tuple("" if v is None else str(v) for v in _fields(member).values())
    return (values, about, member.request is None, cover.get(member.key, []))


def _cover(team: Team) -> dict[str, list[tuple[object, ...]]]:
    """The requests that cover each member, from the outermost inwards, by their shape."""
    cover: dict[str, list[tuple[object, ...]]] = {}
    for request in team.requests.values():
        for depth, inner in _nested(request):
            for key in inner.targets:
                cover.setdefault(key, []).append((depth, inner.whole_team, inner.forces(key), inner.asking))
    return cover


def _nested(request: Request, depth: int = 0) -> Iterator[tuple[int, Request]]:
    yield depth, request
    for narrower in request.taken_over:
        yield from _nested(narrower, depth + 1)


def _shape(request: Request, place: Mapping[str, int]) -> tuple[Any, ...]:
    inner = sorted(_shape(r, place) for r in request.taken_over)
    targets = sorted(place[key] for key in request.targets)
    forced = sorted(place[key] for key in request.forced)
    return (targets, request.whole_team, request.force, forced, request.asking, inner)


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


def _plain(member: Member, name: str, ids: Mapping[str, str], escalations: Mapping[str, Any]) -> Member:
    escalation = escalations.get(member.escalation or "")
    return Member(
        name, 1, epoch=1, request=None if member.settled else ids.get(member.request or ""),
        ask=ids.get(member.ask or "", "r-old") if member.state is State.ASKED else None,
        escalation=escalation.id if escalation else None, **_fields(member),
    )  # fmt: skip
