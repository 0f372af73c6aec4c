"""Where a team's state is stored: SQLite on disk, or in memory for the simulator.

    sqlite.py                 the adapter of `ports.Store`
    settings.py               the limits that it takes from a team's settings
    migrate.py                making a database, and bringing an older one up to date
    lost.py                   putting back one that was removed while it was open
    database.py               one connection, one transaction, named statements
    teams, mailbox, taskboard,
    journal, identity         plain functions over a connection, a rule each in one place
    sending, saying           who may write to whom, and what a member says about itself
    rules.py                  what is refused, and in which words; for every path to the store
    doorbell.py               waking another process after a commit
    jsontext.py               writing JSON without `json`

From `database.py` down it is the path of every member command, and imports next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.ports import Store


def open_store(home: str) -> Store:
    """The store of a state directory, made on first use."""
    from headcount.store.sqlite import SqliteStore

    return SqliteStore(home)
