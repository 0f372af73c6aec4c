"""Define the rules of mail: which mailboxes exist, what is accepted, and where a message goes."""

# Mail is sorted by arrival only. A high priority is shown and never used to sort, because a later message
# of one sender could overtake an earlier one (I7).
#
# A mailbox belongs to one incarnation or to an office (lead, witness, operator). It is in one of three
# states, which need no table:
#
#     open     a living incarnation reads it, or it is the mailbox of an office
#     sealed   its incarnation is gone; mail goes to the lead, with its original mailbox
#     closed   its team is closed; mail goes to the dead letters
#
# Not here: reading and writing rows (`store/`), and who may write to whom (`authority.py`).
#
# This module is on the path of every member command, so it imports only names and errors.

from __future__ import annotations

from headcount.domain.input_checks import check_choice, check_text, unknown
from headcount.domain.names import LEAD, OPERATOR, WITNESS, check_size, resolve_address
from headcount.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.domain.records import Mail, TeamCard

# Gone with the incarnation that they were meant for; whether it answered is in the receipt.
MOOT_WHEN_SEALED = ("shutdown_request", "shutdown_withdrawn")
KEPT_WHEN_SEALED = ("message", "broadcast", "shutdown_response", "idle")
MAIL_TYPES = (*KEPT_WHEN_SEALED, *MOOT_WHEN_SEALED)
PRIORITIES = ("low", "normal", "high")
SUBJECT_FROM_BODY = 60  # characters

DEAD_LETTERS = "dead-letters"
OFFICES = (LEAD, WITNESS, OPERATOR)  # mailboxes that outlive the member that reads them
ALL = "all"
ENGINE = "engine"  # the channel that wakes the engine


def channel(team_id: str, box: str) -> str:
    """Return the channel to ring when mail arrives in a mailbox."""
    return f"{team_id}/{box}"


def check_mail(mail: Mail, team: TeamCard) -> None:
    """Check against the schema (E4) and the limits of the team (E7), before it is written."""
    check_choice("type", mail.type, MAIL_TYPES)
    check_choice("priority", mail.priority, PRIORITIES)
    check_text("subject", mail.subject)
    check_text("body", mail.body)
    check_size("subject", mail.subject, team.subject_characters, "characters")
    check_size("body", mail.body, team.message_bytes)


def subject_from(body: str) -> str:
    """Return a subject for a message without one: its first words."""
    words = " ".join(body.split())
    if not words:
        raise UsageError("A message needs a text", "subject and body are empty", code="missing-subject")
    return words if len(words) <= SUBJECT_FROM_BODY else f"{words[: SUBJECT_FROM_BODY - 1]}…"


def find_box(to: str, team_name: str, keys: Iterable[str], what: str = "recipient", effect: str = "") -> str:
    """Return the mailbox of an address. `keys` are all incarnations in the order of their start.

    A bare name means its latest incarnation; an unknown one is an error (C5).
    """
    to = resolve_address(to, team_name)
    if to in OFFICES:
        return to
    found = None
    known: list[str] = []
    for key in keys:
        name = key.partition("#")[0]
        known += (name, key)
        if to in (name, key):
            found = key
    if found is not None:
        return found
    raise unknown(what, to, (*OFFICES, *dict.fromkeys(known)), effect=effect)


def route(box: str, *, closed: bool, sealed: bool) -> tuple[str, str | None]:
    """Return where mail goes, and its original mailbox if that is another (C3, C4)."""
    if closed:
        return DEAD_LETTERS, box
    return (LEAD, box) if sealed else (box, None)


def is_from(sender: str, wanted: str) -> bool:
    """Return whether a message is from `wanted`. A bare name means all generations of a member."""
    return wanted in (sender, sender.partition("#")[0])
