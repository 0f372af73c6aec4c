"""`task list`, `task claim`, `task complete`."""

from __future__ import annotations

import time

from headcount.cli.member.shown import task_json, task_line, task_text
from headcount.protocol import authority
from headcount.store import journal, taskboard
from headcount.store.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.cli.member.call import Call


def list_tasks(call: Call) -> int:
    with call.read():
        rows = taskboard.list_(call.db, call.team().id, call.words.get("--status"), call.words.get("--owner"))
    wanted = call.words.get("--metadata")
    if wanted is not None:
        from json import loads

        key, _, value = wanted.partition("=")
        rows = [row for row in rows if _has(loads(row[8]), key, value)]
    text = "".join(task_line(row) + "\n" for row in rows)
    call.answer([task_json(row) for row in rows], f"{text}{len(rows)} task{'s' * (len(rows) != 1)}.")
    return 0


def _has(metadata: dict[str, object], key: str, value: str) -> bool:
    """Whether the metadata has this value; a value that is not text is compared as JSON."""
    found = metadata.get(key, metadata)
    return found is not metadata and value in (found, dumps(found))


def claim(call: Call) -> int:
    authority.check("task_claim", call.caller.kind, call.caller.key)
    with call.write() as db:
        row = taskboard.claim(db, call.team(), time.time(), call.caller.key, call.words.word(0))
    if row is None:
        call.answer(None, "No task is available: each is claimed, complete, or waits for others.")
        return 1
    call.ring([journal.ENGINE])
    call.answer(task_json(row), f"Claimed {task_text(row)}")
    return 0


def complete(call: Call) -> int:
    """A worker's is a done signal; the lead and the operator complete."""
    if call.caller.kind == authority.WORKER:
        from headcount.cli.member.signals import done

        return done(call)
    authority.check("task_complete", call.caller.kind, call.caller.key)
    with call.write() as db:
        row = taskboard.complete(db, call.team(), time.time(), call.words.plain[0], call.caller.sender)
    call.ring([journal.ENGINE])
    call.answer(task_json(row), f"Completed {row[0]}.")
    return 0
