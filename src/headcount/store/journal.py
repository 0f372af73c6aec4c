"""The journal, what was said until a step has heard it, and acts still to do: rows of text.

`data` is JSON text throughout; only the adapter above turns it into values.
"""

from __future__ import annotations

from headcount.store.database import one, statements
from headcount.store.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

SQL = statements("journal")
ENGINE = "engine"  # the channel that wakes the engine


def note(
    db: apsw.Connection, team_id: str, now: float, kind: str, about: str, data: Mapping[str, object]
) -> int:
    db.execute(SQL["note"], (team_id, now, kind, about, dumps(data)))
    return db.last_insert_rowid()


def add_input(db: apsw.Connection, team_id: str, kind: str, data: str) -> None:
    """`kind` and `data` as `protocol.codec.dump_event` makes them."""
    db.execute(SQL["add_input"], (team_id, kind, data))


def take_inputs(db: apsw.Connection, team_id: str) -> list[tuple[str, str]]:
    taken = list(db.execute(SQL["inputs"], (team_id,)))
    if taken:
        db.execute(SQL["clear_inputs"], (team_id,))
    return taken


def unheard_answer(db: apsw.Connection, team_id: str, key: str, request_id: str) -> str | None:
    """What an incarnation has answered, and no step has heard yet."""
    row = one(db, SQL["unheard_answer"], team_id, key, request_id)
    return None if row is None else "approved" if row[0] else "rejected"


def refused(
    db: apsw.Connection, team_id: str, now: float, who: str, action: str, code: str, why: str
) -> None:
    """Every refusal is audited (A14)."""
    note(db, team_id, now, "refused", who, {"action": action, "code": code, "why": why})


def last_seq(db: apsw.Connection, team_id: str) -> int:
    return int(one(db, SQL["last_seq"], team_id)[0])
