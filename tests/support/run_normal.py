"""One team and run for all that the rules cannot tell apart.

Members that are settled are left out: no rule reads them again. Epochs, generations, attempts and numbers of
requests start anew, commits are named by the place where they first appear, and texts are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

from headcount.protocol.member import Member, State
from headcount.protocol.phase import GateResult, Phase
from headcount.protocol.task import ENDS, Presence, Seat, Task
from headcount.protocol.team import UNDECIDED, Escalation, Request, Team
from tests.support.normal import _READ as READ
from tests.support.normal import _fields as read_fields
from tests.support.onlooker import Seen

_THERE = (Presence.HERE, Presence.STUCK, Presence.ESCALATED)


class Ledger(NamedTuple):
    """What an observer of a run remembers about its tasks: by id, and for passes by id and role."""

    merged: frozenset[str] = frozenset()
    verified: frozenset[str] = frozenset()  # its commit was found in a clean workspace
    passed: frozenset[tuple[str, str]] = frozenset()  # a reviewer passed that very commit


class Situation(NamedTuple):
    team: Team
    seen: Mapping[str, Seen]
    ledger: Ledger


def normal(team: Team, seen: Mapping[str, Seen], ledger: Ledger) -> Situation:
    run = team.run
    assert run is not None
    here = sorted((m for m in team.members.values() if not m.settled), key=lambda m: m.name)
    keys = {m.key: f"{m.name}#1" for m in here}
    assert len(set(keys.values())) == len(keys), f"two incarnations of one name: {sorted(keys)}"
    ids = _request_ids(team, run, keys)
    commits = _commits(run, here)
    open_ones = {e.id: e for e in team.escalations.values() if e.state in UNDECIDED and e.key in keys}
    members = [_member(m, keys, ids, commits, open_ones) for m in here]
    requests = sorted((_request(r, keys, ids) for r in team.requests.values()), key=lambda r: r.id)
    escalations = [
        Escalation(f"e-{keys[e.key]}", keys[e.key], e.cause, state=e.state) for e in open_ones.values()
    ]
    plain = Team(
        team.name, status=team.status, members={m.key: m for m in members},
        generations={m.name: 1 for m in members}, requests={r.id: r for r in requests},
        escalations={e.id: e for e in sorted(escalations, key=lambda e: e.id)}, close_step=team.close_step,
        close_epoch=1, close_failures=team.close_failures, warnings=("x",) if team.warnings else (),
        run=_phase(run, keys, ids, commits),
    )  # fmt: skip
    return Situation(plain, {keys[m.key]: _seen(seen.get(m.key, Seen())) for m in here}, ledger)


def key_of(situation: Situation) -> object:
    """Equal for two situations exactly if they are the same."""
    team, run = situation.team, situation.team.run
    assert run is not None
    return (
        team.status, team.close_step, team.close_failures, team.warnings,
        tuple(_values(m) for m in team.members.values()),
        tuple(_values(r) for r in team.requests.values()),
        tuple((e.id, e.cause, e.state) for e in team.escalations.values()),
        tuple(_values(t) for t in run.tasks.values()),
        run.state, tuple((gate, r.verdict) for gate, r in run.results.items()), run.cleanups, run.clean,
        run.aborted, run.reason, run.gate, tuple(situation.seen.values()), situation.ledger,
    )  # fmt: skip


_NAMES = {kind: [f.name for f in fields(kind)] for kind in (Member, Request, Task)}


def _values(part: Member | Request | Task) -> tuple[Any, ...]:
    return tuple(getattr(part, name) for name in _NAMES[type(part)])


def _seen(facts: Seen) -> Seen:
    return facts._replace(early=False, overruled=False, saved=False)


def _request_ids(team: Team, run: Phase, keys: Mapping[str, str]) -> dict[str, str]:
    """The one of a seat is named after its member, wherever it is open, joined another, or was taken over."""
    ids = {
        seat.request: f"q-{seat.name}" for task in run.tasks.values() for seat in task.seats if seat.request
    }
    for outer in team.requests.values():
        for depth, request in _nested(outer):
            targets = sorted(keys[key] for key in request.targets if key in keys)
            name = "r-team" if request.whole_team else f"r{depth}-{targets[0] if targets else 'nobody'}"
            ids.setdefault(request.id, name)
    return ids


def _nested(request: Request, depth: int = 0) -> Iterator[tuple[int, Request]]:
    yield depth, request
    for narrower in request.taken_over:
        yield from _nested(narrower, depth + 1)


def _request(request: Request, keys: Mapping[str, str], ids: Mapping[str, str]) -> Request:
    return replace(
        request, id=ids[request.id], reason="",
        targets=tuple(sorted(keys[key] for key in request.targets if key in keys)),
        taken_over=tuple(_request(r, keys, ids) for r in request.taken_over),
        rejected_by=tuple((name, "") for name, _ in request.rejected_by),
        forced=tuple(sorted(keys[key] for key in request.forced if key in keys)),
    )  # fmt: skip


def _commits(run: Phase, here: list[Member]) -> dict[str, str]:
    named = [c for task in run.tasks.values() for c in (task.commit, task.sent_back)]
    found = dict.fromkeys(c for c in (*named, *(m.head for m in here)) if c)
    return {"": "", **{commit: f"c{number}" for number, commit in enumerate(found, start=1)}}


def _member(
    member: Member, keys: Mapping[str, str], ids: Mapping[str, str], commits: Mapping[str, str],
    escalations: Mapping[str, Escalation],
) -> Member:  # fmt: skip
    escalation = escalations.get(member.escalation or "")
    read = dict(zip(READ, read_fields(member, escalation.cause if escalation else ""), strict=True))
    request = ids.get(member.request or "")
    return Member(
        member.name, 1, epoch=1, task=member.task, request=request,
        ask=ids.get(member.ask or "", "r-old") if member.state is State.ASKED else None,
        head=commits[member.head], commits=min(member.commits, 1),
        exit_code=None if member.exit_code is None else min(member.exit_code, 1),
        already_gone=member.already_gone, forced=member.forced, refs=("ref",) if member.refs else (),
        escalation=f"e-{keys[member.key]}" if escalation else None, cycle=request if member.cycled else None,
        cycle_by=member.cycle_by if member.cycled else "", **read,
    )  # fmt: skip


def _phase(run: Phase, keys: Mapping[str, str], ids: Mapping[str, str], commits: Mapping[str, str]) -> Phase:
    return replace(
        run, started_at="", ended_at="", attempt=1, notes=(), reason="x" if run.reason else "",
        aborted="x" if run.aborted else "", cleanups=("x",) * len(run.cleanups),
        results={gate: GateResult(r.verdict, "") for gate, r in sorted(run.results.items())},
        tasks={task.id: _task(task, keys, ids, commits) for task in run.tasks.values()},
    )  # fmt: skip


def _task(task: Task, keys: Mapping[str, str], ids: Mapping[str, str], commits: Mapping[str, str]) -> Task:
    if task.state in ENDS:
        return Task(task.id, task.depends_on, task.wants, task.state, reason="x" if task.reason else "")
    return replace(
        task, attempt=1, cycles=0, base="", words="", seats=tuple(_seat(s, keys, ids) for s in task.seats),
        commit=commits[task.commit], sent_back=commits[task.sent_back], reason="x" if task.reason else "",
        aborted="x" if task.aborted else "",
    )  # fmt: skip


def _seat(seat: Seat, keys: Mapping[str, str], ids: Mapping[str, str]) -> Seat:
    key = keys.get(seat.key or "") if seat.presence in _THERE else None
    return Seat(
        seat.role, seat.name, key, seat.presence, seat.verdict,
        request=ids[seat.request] if seat.request else "", refusals=seat.refusals,
    )  # fmt: skip
