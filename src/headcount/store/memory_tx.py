"""One transaction on the tables in memory.

Every change goes through an undo list, so that a transaction that fails leaves nothing behind. Values are
kept as they are, which is what makes it fast; they are frozen, so nobody can change them afterwards.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from headcount.domain.names import LEAD, check_team_name
from headcount.errors import Bug
from headcount.ports import Entry, Mail
from headcount.protocol.effects import Note
from headcount.protocol.events import Answered, TaskClaimed
from headcount.protocol.team import Status
from headcount.store import rules
from headcount.store.generations import next_generation
from headcount.store.identity import hash_token
from headcount.store.sending import Delivery, send
from headcount.store.settings import read_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping

    from headcount.domain.policy import Limits
    from headcount.ports import Identity, Task
    from headcount.protocol.effects import Act
    from headcount.protocol.events import Event
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

K = TypeVar("K")
V = TypeVar("V")


class Record(NamedTuple):
    """What is kept of a team beside its state."""

    id: str
    name: str
    settings: Mapping[str, Any]
    limits: Limits
    peer_mail: bool


class Lease(NamedTuple):
    holder: str | None
    token: int
    expires_at: float


class Tables:
    """All that is kept. `latest` is a name's latest id; mail and tasks stand in order of arrival."""

    def __init__(self) -> None:
        self.teams: dict[str, Team] = {}
        self.records: dict[str, Record] = {}
        self.latest: dict[str, str] = {}
        self.journal: dict[str, list[Entry]] = {}
        self.inputs: dict[str, tuple[Event, ...]] = {}
        self.acts: dict[str, dict[str, Act]] = {}
        self.ended: dict[tuple[str, str], bool] = {}
        self.mail: dict[str, dict[str, Mail]] = {}
        self.sealed: dict[tuple[str, str], bool] = {}
        self.tasks: dict[str, dict[str, Task]] = {}
        self.tokens: dict[bytes, Identity] = {}
        self.facts: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        self.leases: dict[str, Lease] = {}
        self.seq: dict[str, int] = {"journal": 0, "mail": 0}


class Office:
    """The mailboxes of one team, for `sending.send`."""

    def __init__(self, tx: MemoryTx, team_id: str) -> None:
        self._tx = tx
        self.team = tx.record(team_id)

    def _members(self) -> Mapping[str, Member]:
        return self._tx.team(self.team.id).members

    def latest(self, name: str) -> str | None:
        member = self._tx.team(self.team.id).latest(name)
        return None if member is None else member.key

    def known(self) -> list[str]:
        members = self._members()
        return list(dict.fromkeys([*(m.name for m in members.values()), *members]))

    def live(self) -> list[tuple[str, str]]:
        return [(m.key, m.role) for m in self._members().values() if m.live]

    def role(self, key: str) -> str:
        return self._members()[key].role

    def task(self, key: str) -> str | None:
        return self._members()[key].task

    def find_box(self, to: str) -> str:
        return rules.find_box(to, self.team.name, self.latest, self.known)

    def post(self, sender: str, to: str, subject: str, body: str, **more: Any) -> tuple[str, str]:
        mail_id = self._tx.post(Mail(more.pop("id", ""), self.team.id, sender, to, subject, body, **more))
        return mail_id, self._tx.tables.mail[self.team.id][mail_id].to


class MemoryTx:
    def __init__(self, tables: Tables, now: float, writable: bool) -> None:
        self.tables = tables
        self._now = now
        self._writable = writable
        self._undo: list[Callable[[], object]] = []

    def roll_back(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _set(self, table: MutableMapping[K, V], key: K, value: V) -> None:
        if not self._writable:
            raise Bug("Something was written in a read transaction")
        if key in table:
            old = table[key]
            self._undo.append(lambda: table.__setitem__(key, old))
        else:
            self._undo.append(lambda: table.__delitem__(key))
        table[key] = value

    def _table(self, tables: dict[str, dict[K, V]], team_id: str) -> dict[K, V]:
        """A team's own table; that it is there, empty, is no change."""
        return tables.setdefault(team_id, {})

    def _next(self, counter: str) -> int:
        number = self.tables.seq[counter] + 1
        self._set(self.tables.seq, counter, number)
        return number

    # --- teams

    def create_team(self, name: str, description: str, settings: Mapping[str, Any]) -> Team:
        check_team_name(name)
        limits, peer_mail = read_limits(settings)
        rules.check_text("description", description)
        last = self.load_team(name)
        if last is not None and last.status is not Status.SHUTDOWN:
            raise rules.team_exists(name)
        team = next_generation(name, last)
        self._set(self.tables.teams, team.id, team)
        self._set(self.tables.records, team.id, Record(team.id, name, _copy(settings), limits, peer_mail))
        self._set(self.tables.latest, name, team.id)
        self.note(team.id, [Note("team_created", "", {"description": description})])
        return team

    def load_team(self, name: str) -> Team | None:
        team_id = name if "#" in name else self.tables.latest.get(name)
        return None if team_id is None else self.tables.teams.get(team_id)

    def save_team(self, before: Team, after: Team) -> None:
        self._set(self.tables.teams, after.id, after)

    def team_names(self, *, closed: bool = False) -> list[str]:
        teams = self.tables.teams.values()
        return list(dict.fromkeys(t.name for t in teams if closed or t.status is not Status.SHUTDOWN))

    def team_settings(self, team_id: str) -> Mapping[str, Any]:
        return self.record(team_id).settings

    def team(self, team_id: str) -> Team:
        self.record(team_id)
        return self.tables.teams[team_id]

    def record(self, team_id: str) -> Record:
        record = self.tables.records.get(team_id)
        if record is None:
            raise rules.no_team(team_id)
        return record

    # --- the journal

    def note(self, team_id: str, notes: Iterable[Note]) -> int:
        entries = self.tables.journal.setdefault(team_id, [])
        for note in notes:
            seq = self._next("journal")
            entries.append(Entry(seq, team_id, self._now, note.kind, note.about, note.data))
            self._undo.append(entries.pop)
        return entries[-1].seq if entries else 0

    def journal(
        self, team_id: str, after: int = 0, limit: int = 0, kinds: Iterable[str] | None = None
    ) -> list[Entry]:
        entries = self.tables.journal.get(team_id, [])
        wanted = None if kinds is None else set(kinds)
        start = bisect_right(entries, after, key=lambda entry: entry.seq)
        found = [e for e in entries[start:] if wanted is None or e.kind in wanted]
        return found[:limit] if limit else found

    def recent(self, team_id: str, limit: int) -> list[Entry]:
        return self.tables.journal.get(team_id, [])[-limit:] if limit > 0 else []

    # --- what was said

    def add_input(self, team_id: str, event: Event) -> None:
        if self.team(team_id).status is Status.SHUTDOWN:
            raise rules.team_closed(self.record(team_id).name)
        self._set(self.tables.inputs, team_id, (*self.tables.inputs.get(team_id, ()), event))

    def take_inputs(self, team_id: str) -> list[Event]:
        taken = self.tables.inputs.get(team_id, ())
        if taken:
            self._set(self.tables.inputs, team_id, ())
        return list(taken)

    def unheard_answer(self, team_id: str, key: str, request_id: str) -> str | None:
        for said in self.tables.inputs.get(team_id, ()):
            if isinstance(said, Answered) and (said.key, said.request_id) == (key, request_id):
                return "approved" if said.approve else "rejected"
        return None

    # --- acts still to do

    def add_acts(self, team_id: str, acts: Iterable[Act]) -> None:
        known = self._table(self.tables.acts, team_id)
        for act in acts:
            if act.id not in known:
                self._set(known, act.id, act)

    def pending_acts(self, team_id: str) -> list[Act]:
        ended, acts = self.tables.ended, self.tables.acts.get(team_id, {})
        return [act for act_id, act in acts.items() if (team_id, act_id) not in ended]

    def end_act(self, team_id: str, act_id: str) -> None:
        if act_id in self.tables.acts.get(team_id, {}):
            self._set(self.tables.ended, (team_id, act_id), True)

    # --- mail

    def find_box(self, team_id: str, to: str) -> str:
        return Office(self, team_id).find_box(to)

    def post(self, mail: Mail) -> str:
        limits, team_id = self.record(mail.team).limits, mail.team
        rules.check_mail(
            mail.subject, mail.body, mail.type, mail.priority, limits.subject_characters, limits.message_bytes
        )
        meant_for = self.find_box(team_id, mail.to)
        kept = self._table(self.tables.mail, team_id)
        if mail.id in kept:
            return mail.id
        closed = self.team(team_id).status is Status.SHUTDOWN
        box, bounced_from = rules.box_after(
            meant_for, closed=closed, sealed=(team_id, meant_for) in self.tables.sealed
        )
        number = self._next("mail")
        stored = replace(
            mail, id=mail.id or f"m{number}", to=box, bounced_from=bounced_from, read_at=None,
            sent_at=mail.sent_at or self._now,
        )  # fmt: skip
        self._set(kept, stored.id, stored)
        return stored.id

    def send(
        self, team_id: str, caller: str, sender: str, to: str, subject: str, body: str, **more: Any
    ) -> Delivery:
        return send(Office(self, team_id), caller, sender, to, subject, body, **more)

    def inbox(self, team_id: str, boxes: Iterable[str] | None, *, unread: bool = False) -> list[Mail]:
        wanted = None if boxes is None else set(boxes)
        return [
            mail
            for mail in self.tables.mail.get(team_id, {}).values()
            if (wanted is None or mail.to in wanted) and not (unread and mail.read_at is not None)
        ]

    def count_unread(self, team_id: str) -> dict[str, int]:
        return dict(Counter(mail.to for mail in self.inbox(team_id, None, unread=True)))

    def find_mail(self, team_id: str, mail_id: str) -> Mail | None:
        return self.tables.mail.get(team_id, {}).get(mail_id)

    def mark_read(self, team_id: str, ids: Iterable[str]) -> None:
        kept = self.tables.mail.get(team_id, {})
        for mail_id in ids:
            if mail_id in kept and kept[mail_id].read_at is None:
                self._set(kept, mail_id, replace(kept[mail_id], read_at=self._now))

    def seal(self, team_id: str, key: str) -> int:
        self._set(self.tables.sealed, (team_id, key), True)
        bounced = [
            m for m in self.inbox(team_id, (key,), unread=True) if m.type not in rules.MOOT_WHEN_SEALED
        ]
        for mail in bounced:
            self._set(self.tables.mail[team_id], mail.id, replace(mail, to=LEAD, bounced_from=key))
        return len(bounced)

    def forget_mail(self, read_before: float) -> int:
        forgotten = 0
        for team_id, kept in list(self.tables.mail.items()):
            if self.team(team_id).status is not Status.SHUTDOWN:
                continue
            left = {i: m for i, m in kept.items() if m.read_at is None or m.read_at >= read_before}
            forgotten += len(kept) - len(left)
            self._set(self.tables.mail, team_id, left)
        return forgotten

    # --- tasks

    def add_task(self, task: Task) -> Task:
        record, known = self.record(task.team), self._table(self.tables.tasks, task.team)
        if self.team(task.team).status is Status.SHUTDOWN:
            raise rules.team_closed(record.name)
        self._check_task(task)
        if len(known) >= record.limits.tasks:
            raise rules.too_many("tasks", record.limits.tasks)
        task = replace(task, id=task.id or rules.next_task_id(known), depends_on=tuple(task.depends_on))
        rules.check_new_task_id(task.id, known)
        self._put_task(task)
        self.note(task.team, [Note("task_created", task.id, {"subject": task.subject})])
        return task

    def save_task(self, task: Task) -> None:
        self._check_task(task)
        self._task(task.team, task.id)
        self._put_task(task)

    def _check_task(self, task: Task) -> None:
        limits = self.record(task.team).limits
        rules.check_task(
            task.subject, task.description, task.status, task.reason, limits.subject_characters,
            limits.description_bytes,
        )  # fmt: skip

    def _put_task(self, task: Task) -> None:
        known = self._table(self.tables.tasks, task.team)
        rules.check_needs(task.id, task.depends_on, {i: t.depends_on for i, t in known.items()})
        self._set(known, task.id, task)

    def tasks(self, team_id: str, *, status: str | None = None, owner: str | None = None) -> list[Task]:
        if status is not None:
            rules.check_choice("status", status, rules.TASK_STATUSES)
        return [
            task
            for task in self.tables.tasks.get(team_id, {}).values()
            if status in (None, task.status) and owner in (None, task.owner)
        ]

    def _task(self, team_id: str, task_id: str) -> Task:
        known = self.tables.tasks.get(team_id, {})
        if task_id not in known:
            raise rules.unknown("task", task_id, known)
        return known[task_id]

    def _open_needs(self, task: Task) -> list[str]:
        known = self.tables.tasks[task.team]
        return [needed for needed in task.depends_on if known[needed].status not in rules.TASK_ENDS]

    def claim_task(self, team_id: str, key: str, task_id: str | None = None) -> Task | None:
        rules.check_claims_open(self.record(team_id).name, self.team(team_id).status)
        if task_id is None:
            free = (t for t in self.tasks(team_id, status="pending") if t.owner in (None, key))
            task = next((t for t in free if not self._open_needs(t)), None)
            if task is None:
                return None
        else:
            task = self._task(team_id, task_id)
            if task.status == "in_progress" and task.owner == key:
                return task
            rules.check_claim(task.id, task.status, task.owner, key, self._open_needs(task))
        self.note(team_id, [Note("task_claimed", task.id, {"by": key})])
        self.add_input(team_id, TaskClaimed(key, task.id))
        return self._change_task(task, status="in_progress", owner=key)

    def hand_in_task(self, team_id: str, key: str, task_id: str | None = None) -> str | None:
        if task_id is None:
            owned = self.tasks(team_id, status="in_progress", owner=key)
            if len(owned) != 1:
                return None
            task_id = owned[0].id
        task = self._task(team_id, task_id)
        rules.check_owner(task.id, task.owner, key)
        if task.status == "in_progress":
            self._change_task(task, status="in_review", reason="")
            self.note(team_id, [Note("task_handed_in", task.id, {"by": key})])
        return task.id

    def complete_task(self, team_id: str, task_id: str, by: str) -> Task:
        task = self._task(team_id, task_id)
        if task.status == "complete":
            return task
        rules.check_needs_met(task.id, self._open_needs(task))
        self.note(team_id, [Note("task_completed", task.id, {"by": by})])
        return self._change_task(task, status="complete", reason="")

    def give_back_tasks(self, team_id: str, key: str, handed_in: bool = False) -> list[str]:
        statuses = ("in_progress", "in_review") if handed_in else ("in_progress",)
        owned = [task for task in self.tasks(team_id, owner=key) if task.status in statuses]
        for task in owned:
            self._change_task(task, status="pending", owner=None)
        return [task.id for task in owned]

    def _change_task(self, task: Task, **changes: Any) -> Task:
        changed = replace(task, **changes)
        self._set(self.tables.tasks[task.team], task.id, changed)
        return changed

    # --- identity

    def add_token(self, identity: Identity, token: str) -> None:
        self._set(self.tables.tokens, hash_token(token), identity)

    def identify(self, token: str) -> Identity | None:
        who = self.tables.tokens.get(hash_token(token))
        return None if who is None or (who.team, who.key) in self.tables.sealed else who

    # --- facts

    def put_fact(self, team_id: str, about: str, name: str, value: Mapping[str, Any]) -> None:
        self._set(self.tables.facts, (team_id, about, name), _copy(value))

    def fact(self, team_id: str, about: str, name: str) -> Mapping[str, Any] | None:
        return self.tables.facts.get((team_id, about, name))

    def facts(self, team_id: str, name: str) -> dict[str, Mapping[str, Any]]:
        return {a: v for (t, a, n), v in sorted(self.tables.facts.items()) if (t, n) == (team_id, name)}


def _copy(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """As it would come back from disk: JSON, and nobody else's to change."""
    copied: dict[str, Any] = json.loads(json.dumps(value))
    return copied
