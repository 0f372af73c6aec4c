"""The operator's desk: one list of everything that waits for a person, over all open teams, newest first.

Nothing is stored for it. Each need is read from where it is kept, and it is over when that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.app import mail as mailbox
from headcount.app.app import policy_of
from headcount.app.stand_down_answer import describe_escalation
from headcount.app.standing_down import decide_call
from headcount.app.team_status import read_asks, read_dialogs, read_limits, read_questions
from headcount.domain.display import utc
from headcount.domain.names import show
from headcount.errors import Declined, UsageError
from headcount.protocol.team import UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    from headcount.app.app import App
    from headcount.ports import Tx
    from headcount.protocol.team import Team

    class Need(TypedDict):
        """One need of `headcount todo --json`."""

        kind: str
        """`ask`, `question`, `escalation`, `dialog`, `limit` or `failure`."""
        id: str | None
        """Of a permission request, a message or an escalation; None for the other kinds."""
        team: str
        member: str
        at: str
        text: str
        command: str
        """What answers it."""

    class Replied(TypedDict):
        id: str
        to: str
        delivered: bool
        note: str


def todo(app: App, team: str | None = None) -> list[Need]:
    app.check("decide")
    with app.store.read() as tx:
        names = [app.pick_team(team)] if team else tx.team_names()
        found = [need for name in names for need in read_needs(app, tx, app.load(tx, name))]
    return sorted(found, key=lambda need: need["at"], reverse=True)


def read_needs(app: App, tx: Tx, team: Team) -> Iterator[Need]:
    def need(kind: str, member: str, at: str, text: str, command: str, id: str | None = None) -> Need:
        return {
            "kind": kind, "id": id, "team": team.name, "member": member, "at": at, "text": text,
            "command": command,
        }  # fmt: skip

    for wanted in read_asks(tx, team.id, team.name):
        if wanted["id"]:
            call = f"headcount decide {wanted['id']} allow|deny"
            yield need("ask", wanted["member"], wanted["askedAt"], wanted["title"], call, wanted["id"])
    for asking in read_questions(app, tx, team):
        call = f'headcount reply {asking["id"]} "…"{_named(tx, team, asking["id"])}'
        yield need("question", asking["member"], asking["at"], asking["subject"], call, asking["id"])
    undecided = [e for e in team.escalations.values() if e.state in UNDECIDED]
    policy = policy_of(tx.team_settings(team.id))
    times = _times(tx, team, "escalated") if undecided else {}
    for one in undecided:
        call = f"{decide_call(describe_escalation(team, one.id, policy))} --team {team.name}"
        yield need("escalation", one.key, times[one.key], "; ".join(one.issues), call, one.id)
    for asked in read_dialogs(tx, team):
        yield need("dialog", asked["member"], asked["since"], asked["text"], asked["attach"])
    limits = read_limits(tx, team)
    times = _times(tx, team, "limited") if limits else {}
    for limit in limits:
        call = f"headcount down {team.name} --member {limit['member'].partition('#')[0]}"
        yield need("limit", limit["member"], times[limit["member"]], limit["reason"], call)
    failed = [m for m in team.members.values() if (m.failure or m.cause) and m == team.latest(m.name)]
    times = _times(tx, team, "start_failed", "failed") if failed else {}
    for member in failed:
        call = f"headcount logs {member.name} --team {team.name}"
        yield need("failure", member.key, times.get(member.key, ""), member.failure or member.cause, call)


def _named(tx: Tx, team: Team, mail_id: str) -> str:
    """Return the option that names the team, if another open team has a message with the same id."""
    others = [card for name in tx.team_names() if name != team.name and (card := tx.team_card(name))]
    same = any(tx.find_mail(card.id, mail_id) is not None for card in others)
    return f" --team {team.name}" if same else ""


def _times(tx: Tx, team: Team, *kinds: str) -> dict[str, str]:
    """By member: when this was last noted of it."""
    return {entry.about: utc(entry.at) for entry in tx.journal(team.id, kinds=kinds)}


def reply(app: App, mail_id: str, text: str, team: str | None = None) -> Replied:
    """Answer a message of a member. The message then counts as read."""
    app.check("decide")
    name = team or _team_of(app, mail_id)
    message, mine = mailbox.read(app, mail_id, name)
    if not mine or "#" not in message.sender:
        raise Declined(
            f"Did not reply to {show(mail_id)}",
            "it is not a message from a member to you",
            ("See what waits for your reply with `headcount todo`",),
            code="not-yours",
        )
    subject = message.subject if message.subject.startswith("Re: ") else f"Re: {message.subject}"
    sent = mailbox.send(app, message.sender, subject, text, name)
    mailbox.mark_read(app, [message], name)
    return {"id": sent.ids[0], "to": message.sender, "delivered": sent.delivered, "note": sent.note}


def _team_of(app: App, mail_id: str) -> str:
    with app.store.read() as tx:
        cards = [card for name in tx.team_names() if (card := tx.team_card(name)) is not None]
        found = [card.name for card in cards if tx.find_mail(card.id, mail_id) is not None]
    if len(found) == 1:
        return found[0]
    if not cards:
        return app.pick_team(None)  # which says that none is open
    raise UsageError(
        f"Which {show(mail_id)}?" if found else f"There is no message {show(mail_id)}",
        f"{' and '.join(found)} have one" if found else f"looked in {', '.join(card.name for card in cards)}",
        ("Name the team with --team TEAM",) if found else ("See your messages with `headcount todo`",),
        code="which-team" if found else "unknown-message",
    )
