"""The task list: creating, changing, listing, claiming and completing tasks.

On the path of every member command: imports next to nothing.
"""

from __future__ import annotations

from headcount.app.mail import write_mail
from headcount.app.signals import done, find_task
from headcount.domain.input_checks import check_choice, unknown
from headcount.domain.jsontext import Raw, dumps
from headcount.domain.records import Task
from headcount.errors import Declined, UsageError
from headcount.protocol import authority, mailboxes, task_list
from headcount.protocol.mailboxes import ENGINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from headcount.app.session import Session
    from headcount.domain.records import TeamCard
    from headcount.ports import Tx


# --- the lead's side -------------------------------------------------------------------------------------


def create(
    session: Session,
    subject: str,
    description: str = "",
    active_form: str | None = None,
    depends_on: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    team: str | None = None,
) -> Task:
    with session.write("task_create", team) as (tx, card):
        task = Task(
            "", card.id, subject, description, active_form, depends_on=depends_on, metadata=metadata or {}
        )
        task = add(tx, card, task)
    session.store.ring([ENGINE])
    return task


def add(tx: Tx, team: TeamCard, task: Task) -> Task:
    """Put a task on the list in the caller's transaction; it gets the next number if it has no id."""
    task_list.check_new_task(task, tx.tasks(team.id), team)
    task = tx.add_task(task)
    tx.add_entry(team.id, "task_created", task.id, {"subject": task.subject})
    return task


def change(session: Session, task_id: str, team: str | None = None, **changes: Any) -> Task:
    """Change what a task says: `subject`, `description`, `depends_on` or `metadata`.

    Metadata is merged; a key with the value None is removed. Ended tasks and those of a run stay as they are.
    """
    given = {key: value for key, value in changes.items() if value is not None}
    with session.write("task_change", team) as (tx, card):
        task = _changeable(tx, card, task_id)
        if not given:
            raise UsageError(f"Nothing to change in {task_id}", "no field is given", code="usage")
        if "metadata" in given:
            merged = {**task.metadata, **given["metadata"]}
            given["metadata"] = {key: value for key, value in merged.items() if value is not None}
        if "depends_on" in given:
            given["depends_on"] = tuple(dict.fromkeys(given["depends_on"]))
        task = task.changed(**given)
        task_list.check_task(task, tx.tasks(card.id), card)
        tx.save_task(task)
        by = session.caller.sender
        tx.add_entry(card.id, "task_changed", task_id, {"by": by, "fields": sorted(given)})
    session.store.ring([ENGINE])
    return task


def release(session: Session, task_id: str, team: str | None = None) -> Task:
    """Take a task from its owner, so that another member can claim it; the owner gets a message."""
    with session.write("task_change", team) as (tx, card):
        task = _changeable(tx, card, task_id)
        if task.owner is None:
            raise Declined(f"Did not release {task_id}", "no member has it", code="not-claimed")
        owner, task = task.owner, task.changed(status="pending", owner=None, reason="")
        tx.save_task(task)
        tx.add_entry(card.id, "task_released", owner, {"task": task_id, "by": session.caller.sender})
        channels = _tell(tx, card, session, owner, f"Task {task_id} was taken back", "Stop working on it.")
    session.store.ring([ENGINE, *channels])
    return task


def withdraw(session: Session, task_id: str, reason: str, team: str | None = None) -> Task:
    """End a task that is not needed any more; tasks that depend on it no longer wait for it."""
    if not reason.strip():
        raise UsageError("A withdrawal needs a reason", "reason is empty", code="missing-reason")
    with session.write("task_change", team) as (tx, card):
        task = _changeable(tx, card, task_id)
        owner, task = task.owner, task.changed(status="withdrawn", owner=None, reason=reason)
        tx.save_task(task)
        tx.add_entry(card.id, "task_withdrawn", task_id, {"by": session.caller.sender, "reason": reason})
        body = f"Stop working on it: {reason}"
        channels = _tell(tx, card, session, owner, f"Task {task_id} was withdrawn", body) if owner else []
    session.store.ring([ENGINE, *channels])
    return task


def _changeable(tx: Tx, team: TeamCard, task_id: str) -> Task:
    task = find_task(tx, team, task_id)
    if tx.team_settings(team.id).get("mode") == "run":
        hint = "Change the definition and run it again, or end the run with `headcount abort`"
        raise Declined(f"Did not change {task_id}", f"{team.name} is a run", (hint,), code="task-of-a-run")
    if task.status in task_list.TASK_ENDS:
        raise Declined(f"Did not change {task_id}", f"it is {task.status}", code="task-ended")
    return task


def _tell(tx: Tx, team: TeamCard, session: Session, owner: str, subject: str, body: str) -> list[str]:
    """Send the owner a message if it is still there; return the channels to ring."""
    member = tx.member_card(team.id, owner)
    if member is None or not member.live:
        return []
    return write_mail(tx, team, session, owner, subject, body).channels


# --- everyone's side -------------------------------------------------------------------------------------


def list_tasks(
    session: Session,
    status: str | None = None,
    owner: str | None = None,
    team: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> list[Task]:
    """The tasks with this status, owner and metadata, each where it is given."""
    name = session.pick_team(team)
    session.check("task_list", name)
    if status is not None:
        check_choice("status", status, task_list.TASK_STATUSES)
    with session.store.read() as tx:
        card = session.find_team(tx, name)
        tasks = tx.tasks(card.id, status=status, owner=_find_owner(tx, card, owner))
    wanted = (metadata or {}).items()
    return [task for task in tasks if all(_has(task.metadata, key, value) for key, value in wanted)]


def _find_owner(tx: Tx, team: TeamCard, owner: str | None) -> str | None:
    """A bare name is its latest incarnation; an unknown one is an error, not an empty list."""
    if owner is None:
        return None
    keys = [member.key for member in tx.member_cards(team.id)]
    found = mailboxes.find_box(owner, team.name, keys, "member")
    if found in mailboxes.OFFICES:
        raise unknown("member", owner, keys)
    return found


def _has(metadata: Mapping[str, Any], key: str, value: Any) -> bool:
    """Whether the metadata has this value; text stands also for a value that is written so in JSON."""
    if key not in metadata:
        return False
    found = metadata[key]
    return bool(found == value) or (isinstance(value, str) and value == dumps(found))


def find_available(session: Session, team: str | None = None) -> list[Task]:
    """What can be claimed now: no other member has it, and it waits for nothing."""
    return task_list.available(list_tasks(session, team=team), session.caller.who)


def claim(session: Session, task_id: str | None = None, team: str | None = None) -> Task | None:
    """The named one, or the next available (None: there is none). A lost race is a clean refusal (B5)."""
    with session.write("task_claim", team) as (tx, card):
        task = claim_task(tx, card, session.caller.who, task_id)
    session.store.ring([ENGINE])
    return task


def claim_task(tx: Tx, team: TeamCard, key: str, task_id: str | None = None) -> Task | None:
    """Claim in the caller's transaction. Claiming one's own task again changes nothing.

    The claim is an input too: it voids a standing idle report.
    """
    task_list.check_claims_open(team)
    if task_id is None:
        found = tx.next_task(team.id, key, task_list.TASK_ENDS)
        if found is None:
            return None
        task = found
    else:
        task = find_task(tx, team, task_id)
        if task.status == "in_progress" and task.owner == key:
            return task
        task_list.check_claim(task, key, _needed(tx, task))
    task = task.changed(status="in_progress", owner=key)
    tx.save_task(task)
    tx.add_entry(team.id, "task_claimed", task.id, {"by": key})
    tx.add_report(team.id, "TaskClaimed", {"key": key, "task": task.id})
    return task


def complete(session: Session, task_id: str, team: str | None = None, verified: bool = False) -> Task:
    """A worker's is a done signal; the lead and the operator complete (E6)."""
    if session.caller.kind == authority.WORKER:
        done(session, task_id, verified, team)
        name = session.pick_team(team)
        with session.store.read() as tx:
            return find_task(tx, session.find_team(tx, name), task_id)
    with session.write("task_complete", team) as (tx, card):
        task = complete_task(tx, card, task_id, session.caller.sender)
    session.store.ring([ENGINE])
    return task


def complete_task(tx: Tx, team: TeamCard, task_id: str, by: str) -> Task:
    """Complete a task in the caller's transaction. A repeat is accepted; open dependencies are an error."""
    task = find_task(tx, team, task_id)
    if task.status == "complete":
        return task
    task_list.check_needs_met(task, _needed(tx, task))
    task = task.changed(status="complete", reason="")
    tx.save_task(task)
    tx.add_entry(team.id, "task_completed", task.id, {"by": by})
    return task


def _needed(tx: Tx, task: Task) -> list[Task]:
    """The tasks that it depends on."""
    found = [tx.find_task(task.team, needed) for needed in task.depends_on]
    return [needed for needed in found if needed is not None]


def as_json(task: Task) -> dict[str, Any]:
    """The one shape of a task, for `json.dumps`."""
    return {**as_text(task), "metadata": dict(task.metadata)}


def as_text(task: Task) -> dict[str, Any]:
    """The same for `jsontext.dumps`, without parsing the metadata."""
    return {
        "id": task.id,
        "subject": task.subject,
        "description": task.description,
        "activeForm": task.active_form,
        "status": task.status,
        "owner": task.owner,
        "dependsOn": list(task.depends_on),
        "metadata": Raw(task.metadata_json),
        "reason": task.reason,
    }
