"""Where a team's life is kept: SQLite by default, memory for the simulator.

    sqlite.py, memory.py      the two adapters of `ports.Store`
    database.py               one connection, one transaction, named statements
    teams, mailbox, taskboard,
    journal, identity         plain functions over a connection, a rule each in one place
    rules.py                  what is refused, and in which words; shared by both adapters
    doorbell.py               waking another process after a commit

Everything but the adapters is on the path of every member command, and imports next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.ports import Store


def open_store(home: str) -> Store:
    """The store of a state directory, made on first use."""
    from headcount.store.sqlite import SqliteStore

    return SqliteStore(home)
