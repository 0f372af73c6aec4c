"""A store in memory that one simulated run after the other uses, emptied in between.

A new database costs a run 10 ms: its schema, and each statement compiled again. Emptying one costs 0.1 ms.
Every transaction and every ring passes the run that uses the store, so that it can watch, and crash there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from headcount.store.rows import Rows
from headcount.store.sqlite import InMemoryStore

if TYPE_CHECKING:
    from headcount.ports import Fence, Mail
    from headcount.protocol.effects import Act
    from headcount.protocol.team import Team

_DELETE_GUARDS = ("journal_is_never_shortened", "mail_is_kept_until_handled")


class Watched:
    """What one transaction has written of a team and of acts."""

    def __init__(self, tx: Rows) -> None:
        self.team: Team | None = None
        self.ordered: list[Act] = []
        self.ended: list[str] = []
        self.mailboxes: list[str] = []
        save_team, add_acts, end_act, post = tx.save_team, tx.add_acts, tx.end_act, tx.post

        def saving(before: Team, after: Team) -> None:
            save_team(before, after)
            self.team = after

        def adding(team_id: str, acts: Iterable[Act]) -> None:
            self.ordered.extend(acts)
            add_acts(team_id, acts)

        def ending(team_id: str, act_id: str) -> None:
            self.ended.append(act_id)
            end_act(team_id, act_id)

        def posting(mail: Mail) -> str:
            self.mailboxes.append(mail.to)
            return post(mail)

        changed: Any = tx
        changed.save_team, changed.add_acts = saving, adding
        changed.end_act, changed.post = ending, posting


class Observer(Protocol):
    def before_write(self) -> None:
        """May raise, as for a store that is busy."""

    def before_commit(self) -> None:
        """May raise: then nothing of the transaction is durable."""

    def after_commit(self, watched: Watched) -> None:
        """May raise: it is durable all the same."""

    def rolled_back(self) -> None: ...
    def rung(self, channels: set[str]) -> None: ...
    def clock_time(self) -> float: ...


class ReusedStore(InMemoryStore):
    observer: Observer

    def __init__(self) -> None:
        super().__init__(clock=lambda: self.observer.clock_time())
        db = self._connection()
        for guard in _DELETE_GUARDS:  # a run deletes nothing; `empty` does
            db.execute(f"drop trigger {guard}")
        names = db.execute("select name from sqlite_schema where type = 'table'")
        self._tables = [str(name) for (name,) in names]

    def write(self, fence: Fence | None = None, *, team: str = "") -> AbstractContextManager[Rows]:  # type: ignore[override]
        return self._observed(super().write(fence, team=team))

    def append(self, *, team: str) -> AbstractContextManager[Rows]:  # type: ignore[override]
        return self._observed(super().append(team=team))

    @contextmanager
    def _observed(self, opened: AbstractContextManager[Rows]) -> Iterator[Rows]:
        self.observer.before_write()
        try:
            with opened as tx:
                watched = Watched(tx)
                yield tx
                self.observer.before_commit()
        except BaseException:
            self.observer.rolled_back()
            raise
        self.observer.after_commit(watched)

    def ring(self, channels: Iterable[str]) -> None:
        self.observer.rung(set(channels))

    def empty(self) -> None:
        db = self._connection()
        db.execute("begin immediate")
        for table in self._tables:
            db.execute(f"delete from {table}")
        db.execute("commit")


_idle: list[ReusedStore] = []


def take_store(observer: Observer) -> ReusedStore:
    """Return an empty store that no other run uses; `give_back` makes it available again."""
    store = _idle.pop() if _idle else ReusedStore()
    store.observer = observer
    store.empty()
    return store


def give_back(store: ReusedStore) -> None:
    del store.observer  # it would keep its run alive
    _idle.append(store)
