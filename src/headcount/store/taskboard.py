"""Tasks: whoever claims first owns it, and nobody else; all inside the one write transaction."""

from __future__ import annotations

from headcount.store import journal, rules
from headcount.store.database import one, statements
from headcount.store.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from headcount.store.teams import Card

    # id, team, subject, description, active_form, status, owner, depends_on and metadata as JSON text, reason
    Row = tuple[str, str, str, str, str | None, str, str | None, str, str, str]

SQL = statements("tasks")


def add(
    db: apsw.Connection,
    team: Card,
    now: float,
    task_id: str,
    subject: str,
    description: str,
    active_form: str | None,
    status: str,
    owner: str | None,
    depends_on: Iterable[str],
    metadata: str,
    reason: str,
) -> str:
    """Add a task; its id. The id is the next number when none is given."""
    if team.closed:
        raise rules.team_closed(team.name)
    rules.check_task(subject, description, status, reason, team.subject_characters, team.description_bytes)
    graph = needs_graph(db, team.id)
    if len(graph) >= team.max_tasks:
        raise rules.too_many("tasks", team.max_tasks)
    task_id = task_id or rules.next_task_id(graph)
    rules.check_new_task_id(task_id, graph)
    depends_on = list(depends_on)
    rules.check_needs(task_id, depends_on, graph)
    db.execute(
        SQL["insert"],
        (task_id, team.id, subject, description, active_form, status, owner, metadata, reason),
    )
    _write_needs(db, team.id, task_id, depends_on)
    journal.note(db, team.id, now, "task_created", task_id, {"subject": subject})
    return task_id


def save(
    db: apsw.Connection,
    team: Card,
    task_id: str,
    subject: str,
    description: str,
    active_form: str | None,
    status: str,
    owner: str | None,
    depends_on: Iterable[str],
    metadata: str,
    reason: str,
) -> None:
    rules.check_task(subject, description, status, reason, team.subject_characters, team.description_bytes)
    graph = needs_graph(db, team.id)
    if task_id not in graph:
        raise rules.unknown("task", task_id, graph)
    depends_on = list(depends_on)
    rules.check_needs(task_id, depends_on, graph)
    db.execute(
        SQL["update"],
        (subject, description, active_form, status, owner, metadata, reason, team.id, task_id),
    )
    if depends_on != graph[task_id]:
        db.execute(SQL["clear_needs"], (team.id, task_id))
        _write_needs(db, team.id, task_id, depends_on)


def list_(
    db: apsw.Connection, team_id: str, status: str | None = None, owner: str | None = None
) -> list[Row]:
    if status is not None:
        rules.check_choice("status", status, rules.TASK_STATUSES)
    return list(db.execute(SQL["list"], (team_id, status, owner)))


def get(db: apsw.Connection, team_id: str, task_id: str) -> Row:
    row: Row | None = one(db, SQL["one"], team_id, task_id)
    if row is None:
        raise rules.unknown("task", task_id, ids(db, team_id))
    return row


def ids(db: apsw.Connection, team_id: str) -> list[str]:
    return [task_id for (task_id,) in db.execute(SQL["ids"], (team_id,))]


def claim(db: apsw.Connection, team: Card, now: float, key: str, task_id: str | None = None) -> Row | None:
    """Claim one, or the next available (None: there is none). Claiming one's own again changes nothing.

    The claim is among the engine's inputs too: it voids a standing idle report.
    """
    rules.check_claims_open(team.name, team.status)
    if task_id is None:
        found = one(db, SQL["next_available"], team.id, key)
        if found is None:
            return None
        task_id = str(found[0])
    else:
        row = get(db, team.id, task_id)
        if row[5] == "in_progress" and row[6] == key:
            return row
        rules.check_claim(task_id, row[5], row[6], key, open_needs(db, team.id, task_id))
    db.execute(SQL["claim"], (key, team.id, task_id))
    journal.note(db, team.id, now, "task_claimed", task_id, {"by": key})
    journal.add_input(db, team.id, "TaskClaimed", dumps({"key": key, "task": task_id}))
    return get(db, team.id, task_id)


def complete(db: apsw.Connection, team: Card, now: float, task_id: str, by: str) -> Row:
    """The lead's word that a task is complete; again is no error, before its dependencies is."""
    row = get(db, team.id, task_id)
    if row[5] != "complete":
        rules.check_needs_met(task_id, open_needs(db, team.id, task_id))
        db.execute(SQL["set_status"], ("complete", "", team.id, task_id))
        journal.note(db, team.id, now, "task_completed", task_id, {"by": by})
    return get(db, team.id, task_id)


def hand_in(db: apsw.Connection, team: Card, now: float, key: str, task_id: str | None) -> str | None:
    """A done signal puts the owner's task into review; which one, or None when it has none."""
    if task_id is None:
        owned = [owned_id for (owned_id,) in db.execute(SQL["owned"], (team.id, key))]
        if len(owned) != 1:
            return None
        task_id = owned[0]
    row = get(db, team.id, task_id)
    rules.check_owner(task_id, row[6], key)
    if row[5] == "in_progress":
        db.execute(SQL["set_status"], ("in_review", "", team.id, task_id))
        journal.note(db, team.id, now, "task_handed_in", task_id, {"by": key})
    return task_id


def give_back(db: apsw.Connection, team_id: str, key: str, handed_in: bool = False) -> list[str]:
    """Make what a gone owner was working on available again (D8); what it had handed in stays in review,
    unless `handed_in`. Return the ids."""
    rows = sorted(db.execute(SQL["give_back"], (team_id, key, handed_in)), key=lambda row: int(row[1]))
    return [task_id for task_id, _ in rows]


def open_needs(db: apsw.Connection, team_id: str, task_id: str) -> list[str]:
    return [needed for (needed,) in db.execute(SQL["open_needs"], (team_id, task_id))]


def needs_graph(db: apsw.Connection, team_id: str) -> dict[str, list[str]]:
    graph: dict[str, list[str]] = {task_id: [] for task_id in ids(db, team_id)}
    for task_id, needed in db.execute(SQL["all_needs"], (team_id,)):
        graph[task_id].append(needed)
    return graph


def _write_needs(db: apsw.Connection, team_id: str, task_id: str, needs: list[str]) -> None:
    for position, needed in enumerate(needs):
        db.execute(SQL["add_need"], (team_id, task_id, position, needed))
