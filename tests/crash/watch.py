"""Hooks for the worker: die at a chosen durable write, and keep an account of every step that became durable.

The account is written into the same transaction as the step itself: whoever reads it later has exactly the
steps that happened, whatever was killed when.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from typing import Any

import apsw

from headcount.domain.policy import Policy
from headcount.engine import apply as applying
from headcount.protocol.effects import Ready
from headcount.protocol.events import Event
from headcount.protocol.step import step
from headcount.protocol.team import Team
from headcount.store.database import Transaction
from headcount.store.rows import Rows

Account = tuple[Team, Event, Policy]


class DurableWrites:
    """Counts the commits that changed something, and ends this process right before or after one."""

    def __init__(self, kill_at: int = 0, when: str = "after") -> None:
        self.count = 0
        self._kill_at = kill_at
        self._when = when
        self._lock = threading.Lock()
        self._changes_before: dict[int, int] = {}

    def install(self) -> None:
        enter, leave = Transaction.__enter__, Transaction.__exit__

        def entered(transaction: Transaction) -> apsw.Connection:
            db = enter(transaction)
            self._changes_before[id(db)] = db.total_changes()
            return db

        def left(transaction: Transaction, kind: object, error: BaseException | None, trace: object) -> None:
            db = transaction._db
            changed = error is None and db.total_changes() != self._changes_before[id(db)]
            number = self._next() if changed else 0
            self._perhaps_die(number, "before")
            leave(transaction, kind, error, trace)
            self._perhaps_die(number, "after")

        Transaction.__enter__, Transaction.__exit__ = entered, left  # type: ignore[method-assign]

    def _next(self) -> int:
        with self._lock:
            self.count += 1
            return self.count

    def _perhaps_die(self, number: int, when: str) -> None:
        if number and number == self._kill_at and when == self._when:
            os.kill(os.getpid(), signal.SIGKILL)


def keep_account() -> None:
    """From here on each step of this process is in the database, in the transaction that it belongs to."""
    taken = threading.local()
    save_team = Rows.save_team

    def watched_step(team: Team, event: Event, policy: Policy, now: str) -> tuple[Team, Ready]:
        taken.__dict__.setdefault("steps", []).append((team, event, policy))
        return step(team, event, policy, now)

    def saving(tx: Rows, before: Team, after: Team) -> None:
        steps: list[Account] = taken.__dict__.pop("steps", [])
        if steps:
            tx._db.execute("create table if not exists account (seq integer primary key, body blob)")
        for one in steps:
            tx._db.execute("insert into account (body) values (?)", (pickle.dumps(one),))
        save_team(tx, before, after)

    applying.step = watched_step
    Rows.save_team = saving  # type: ignore[method-assign]


def read_account(database: str) -> list[Account]:
    db = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READONLY)
    rows: list[Any] = list(db.execute("select body from account order by seq"))
    db.close()
    return [pickle.loads(body) for (body,) in rows]
