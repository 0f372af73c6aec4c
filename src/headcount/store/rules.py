"""What the store refuses, and in which words. Both adapters ask here, so a rule has one home.

Light: no import but the errors and the names.
"""

from __future__ import annotations

from headcount.domain.names import LEAD, OPERATOR, WITNESS, check_size, resolve_address, show
from headcount.errors import Declined, HeadcountError, NotAllowed, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAIL_TYPES = (
    "message",
    "broadcast",
    "shutdown_request",
    "shutdown_response",
    "shutdown_withdrawn",
    "idle",
)
PRIORITIES = ("low", "normal", "high")
TASK_STATUSES = ("pending", "in_progress", "in_review", "complete", "blocked", "withdrawn")
SUBJECT_FROM_BODY = 60  # characters
# Nothing that depends on such a task waits for it.
TASK_ENDS = ("complete", "withdrawn")

DEAD_LETTERS = "dead-letters"
OFFICES = (LEAD, WITNESS, OPERATOR)  # mailboxes that outlive whoever reads them
ALL = "all"

# Gone with the incarnation that they were meant for; whether it answered is in the receipt.
MOOT_WHEN_SEALED = ("shutdown_request", "shutdown_withdrawn")


def channel(team_id: str, box: str) -> str:
    """What to ring when mail arrives in a mailbox."""
    return f"{team_id}/{box}"


# --- mail ------------------------------------------------------------------------------------------------


def check_mail(
    subject: str, body: str, kind: str, priority: str, subject_characters: int, message_bytes: int
) -> None:
    """One schema, checked on write (E4); limits that are declared are enforced (E7)."""
    check_choice("type", kind, MAIL_TYPES)
    check_choice("priority", priority, PRIORITIES)
    check_text("subject", subject)
    check_text("body", body)
    check_size("subject", subject, subject_characters, "characters")
    check_size("body", body, message_bytes)


def subject_from(body: str) -> str:
    """The first words of a message, for one that was sent without a subject."""
    words = " ".join(body.split())
    if not words:
        raise UsageError("A message needs a text", "subject and body are empty", code="missing-subject")
    return words if len(words) <= SUBJECT_FROM_BODY else f"{words[: SUBJECT_FROM_BODY - 1]}…"


def check_choice(field: str, value: str, choices: tuple[str, ...]) -> None:
    if value in choices:
        return
    raise UsageError(
        f"{show(value)} is not a {field}", f"{field} is one of {', '.join(choices)}", code=f"unknown-{field}"
    )


def check_text(field: str, text: str) -> None:
    """Text that came in as bytes of no known encoding cannot be given back whole, so it is refused."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{field} is not valid UTF-8", code="invalid-text") from None


def find_box(
    to: str, team_name: str, latest: Callable[[str], str | None], known: Callable[[], Iterable[str]]
) -> str:
    """The mailbox behind an address. A bare name is its latest incarnation; nobody is an error (C5)."""
    to = resolve_address(to, team_name)
    if to in OFFICES:
        return to
    name, has_generation, _ = to.partition("#")
    newest = latest(name)
    if newest is not None and (not has_generation or to == newest):
        return newest
    if newest is not None and to in known():
        return to
    raise unknown("recipient", to, (*OFFICES, *known()), "No message was sent")


def box_after(box: str, *, closed: bool, sealed: bool) -> tuple[str, str | None]:
    """Where mail really goes, and the mailbox it was meant for if that is another (C3, C4)."""
    if closed:
        return DEAD_LETTERS, box
    return (LEAD, box) if sealed else (box, None)


def sealed_note(meant_for: str) -> str:
    return f"{meant_for} is gone, so the message went to the lead"


def unknown(what: str, value: str, known: Iterable[str], effect: str = "") -> UsageError:
    return UsageError(
        f"No {what} is called {show(value)}", effect, did_you_mean(value, list(known)), code=f"unknown-{what}"
    )


def did_you_mean(value: str, known: list[str]) -> tuple[str, ...]:
    import difflib  # only when something went wrong already

    close = difflib.get_close_matches(value, known, n=1)
    if close:
        return (f'Did you mean "{close[0]}"?',)
    shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
    return (f"Known are: {shown}",) if known else ()


# --- teams -----------------------------------------------------------------------------------------------


def team_exists(name: str) -> Declined:
    return Declined(
        f"The team {name} exists already",
        "an open team's name cannot be used again",
        (f"Stand it down with `headcount down {name}`, or use another name",),
        code="team-exists",
    )


def team_closed(name: str) -> Declined:
    return Declined(f"{name} is shut down", "a closed team takes nothing new", code="team-closed")


def no_team(team_id: str) -> UsageError:
    return UsageError(f"There is no team {show(team_id)}", code="unknown-team")


def too_many(what: str, limit: int) -> Declined:
    return Declined(
        f"No more {what} can be added",
        f"the team has {limit:,} {what}, the limit",
        (f"Raise the limit for {what} in the settings",),
        code=f"too-many-{what}",
    )


# --- tasks -----------------------------------------------------------------------------------------------


def check_task(
    subject: str, description: str, status: str, reason: str, subject_characters: int, description_bytes: int
) -> None:
    check_choice("status", status, TASK_STATUSES)
    if not subject.strip():
        raise UsageError("A task needs a subject", "subject is empty", code="missing-subject")
    if status == "blocked" and not reason.strip():
        raise UsageError("A blocked task needs a reason", "reason is empty", code="missing-reason")
    for field, text in (("subject", subject), ("description", description), ("reason", reason)):
        check_text(field, text)
    check_size("subject", subject, subject_characters, "characters")
    check_size("description", description, description_bytes)


def is_from(sender: str, wanted: str) -> bool:
    """Whether a message is from `wanted`: a bare name stands for all generations of a member."""
    return wanted in (sender, sender.partition("#")[0])


def next_task_id(taken: Mapping[str, object]) -> str:
    """`t1`, `t2`, …: short enough for an agent to type."""
    number = len(taken) + 1
    while f"t{number}" in taken:
        number += 1
    return f"t{number}"


def check_new_task_id(task_id: str, taken: Mapping[str, object]) -> None:
    if task_id in taken:
        raise UsageError(f"There is a task {show(task_id)} already", code="task-exists")
    check_text("id", task_id)
    check_size("id", task_id, 200, "characters")


def check_needs(task_id: str, needs: Iterable[str], graph: Mapping[str, Iterable[str]]) -> None:
    """Every dependency is a task of this team, and nothing waits for itself (E6)."""
    for needed in needs:
        if needed != task_id and needed not in graph:
            raise unknown("task", needed, graph, "depends_on names a task that does not exist")
    if task_id in _reachable(needs, graph):
        raise UsageError(
            f"{task_id} would wait for itself", f"depends_on makes a cycle through {task_id}", code="cycle"
        )


def _reachable(start: Iterable[str], graph: Mapping[str, Iterable[str]]) -> set[str]:
    seen: set[str] = set()
    todo = list(start)
    while todo:
        task = todo.pop()
        if task not in seen:
            seen.add(task)
            todo.extend(graph.get(task, ()))
    return seen


def check_claims_open(team_name: str, status: str) -> None:
    """Nothing is claimed while a team is stood down (B2)."""
    if status == "shutdown":
        raise team_closed(team_name)
    if status != "active":
        raise Declined(
            "No task can be claimed",
            f"{team_name} is being stood down ({status})",
            ("Commit your work and answer the request in your inbox",),
            code="draining",
        )


def check_claim(task_id: str, status: str, owner: str | None, key: str, open_needs: list[str]) -> None:
    """A lost race is a clean refusal that names the winner (B5)."""
    if owner is not None and owner != key:
        raise Declined(
            f"{task_id} is already claimed",
            f"it belongs to {owner}",
            ("Take the next one with `headcount task claim`",),
            code="already-claimed",
        )
    if status != "pending":
        raise Declined(f"{task_id} cannot be claimed", f"it is {status}", code="not-available")
    check_needs_met(task_id, open_needs)


def check_needs_met(task_id: str, open_needs: list[str]) -> None:
    if open_needs:
        raise Declined(
            f"{task_id} has to wait", f"it depends on {', '.join(open_needs)}", code="waits-for-others"
        )


def check_owner(task_id: str, owner: str | None, key: str) -> None:
    """Only who owns a task reports it done (E6)."""
    if owner == key:
        return
    raise NotAllowed(
        f"{key} may not report {task_id} done",
        f"it belongs to {owner}" if owner else "nobody has claimed it",
        (f"Claim it first with `headcount task claim {task_id}`",) if owner is None else (),
        code="not-owner",
    )


# --- answers ---------------------------------------------------------------------------------------------


def is_audited(error: HeadcountError) -> bool:
    """What authority refused (A14), and an answer to what was not asked (A11)."""
    return isinstance(error, NotAllowed) or error.code in ("unknown-request", "nothing-to-answer")


def check_answer(key: str, asked: str | None, request_id: str | None) -> str:
    """The request that an answer is for. A stale or unknown id is an error that names the field (A9, A11)."""
    if asked is None:
        raise Declined(
            "There is nothing to answer",
            f"{key} has not been asked to stand down" + (f" under {request_id}" if request_id else ""),
            ("Read your mail with `headcount inbox --unread`",),
            code="nothing-to-answer",
        )
    if request_id is not None and request_id != asked:
        raise UsageError(
            f"request_id {show(request_id)} is not the open request",
            f"the open request for {key} is {asked}",
            (f"Answer it with `headcount approve {asked}`",),
            code="unknown-request",
        )
    return asked
