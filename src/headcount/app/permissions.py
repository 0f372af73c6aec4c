"""Carry permission requests of clients to the policy, the operator or the lead, and the answers back.

An ask is a row beside the rules, like mail: no rule waits for it, so a member with an open ask is stood
down like any other. The process that asks (the host, the MCP server, a hook) waits for the row to change.
The first answer is committed before that process reads it.
"""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING, Any, TypedDict

from headcount.agents.host import Answer
from headcount.app.mail import write_mail
from headcount.domain.asks import (
    ALLOWED,
    COMMAND_LIMIT,
    DECISIONS,
    DENIED,
    DETAIL_LIMIT,
    KINDS,
    MOOT,
    OPEN,
    POLICY,
    TITLE_LIMIT,
    Ask,
)
from headcount.domain.command_patterns import UnsafeCommand, decide_by_patterns, exact_pattern
from headcount.domain.display import escaped, utc
from headcount.domain.input_checks import check_choice, check_text, unknown
from headcount.domain.names import LEAD, check_size, show
from headcount.domain.policy import Policy
from headcount.engine.open_asks import STANDING_DOWN, TOO_LATE, answers_channel, moot_asks
from headcount.errors import Declined, NotAllowed, UsageError
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.mailboxes import ENGINE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.agents.host import Wanted
    from headcount.app.session import Session
    from headcount.domain.records import TeamCard
    from headcount.ports import Tx

ALWAYS = "always"  # a fact of a team: the patterns that `decide --always` added
MOST_OPEN = 20  # of one member: a person could not judge more
_LOOK_AGAIN_S = 5.0  # how long a waiting process trusts its doorbell


class AskAnswer(TypedDict):
    """One permission request, in `headcount asks --json`, the status and over MCP."""

    id: str | None
    team: str
    member: str
    kind: str
    title: str
    detail: str
    command: str
    directory: str
    options: list[str]
    askedAt: str
    until: str | None
    state: str
    by: str | None
    reason: str
    answeredAt: str | None
    attach: str | None


# --- asking ----------------------------------------------------------------------------------------------


def ask(session: Session, wanted: Wanted, gone: int | None = None) -> Answer:
    """Ask for the calling member and wait for the answer. `gone` is readable when its client has left."""
    found = _begin(session, wanted)
    if found.state == OPEN:
        found = _wait(session, found, gone)
    with session.store.write(team=found.team) as tx:
        tx.take_answer(found.team, found.id)
    return Answer(found.state == ALLOWED, found.reason)


def _begin(session: Session, wanted: Wanted) -> Ask:
    """Store the ask, decided by the policy if that decides. The same question again joins the open ask."""
    key = session.caller.who
    with session.write("ask", None) as (tx, card):
        settings = tx.team_settings(card.id)
        ask = _new_ask(card.id, key, wanted, _policy(settings).ask_timeout_s)
        for earlier in tx.asks_to_join(card.id, key):
            if earlier.question == ask.question:
                return earlier
        decided = _decide_by_policy(tx, card.id, key, ask, settings)
        if decided is not None:
            state, reason = decided
            ask = ask.changed(state=state, by=POLICY, reason=reason, answered_at=ask.asked_at)
        ask = tx.add_ask(ask)
        if ask.state == OPEN:
            channels = _tell(tx, card, session, ask, _policy(settings))
        else:
            channels = [f"team/{card.name}"]
            _note_answer(tx, ask)
    session.store.ring(channels)
    return ask


def _new_ask(team: str, key: str, wanted: Wanted, timeout_s: float) -> Ask:
    now = time.time()
    command, detail = wanted.command, wanted.detail
    if len(command) > COMMAND_LIMIT or not _is_text(command):
        # No pattern decides it. The person who does must see it.
        command, detail = "", f"{command}\n{detail}"
    kind = wanted.kind if wanted.kind in KINDS else "other"
    title = " ".join(wanted.title.split())  # one line: in the mail to the lead it is not indented
    return Ask(
        "", team, key, kind, _text(title, TITLE_LIMIT), _text(detail, DETAIL_LIMIT), command,
        _text(wanted.directory, TITLE_LIMIT), now, now + timeout_s,
    )  # fmt: skip


def _is_text(given: str) -> bool:
    """Return whether it can be stored: JSON may hold half of a surrogate pair."""
    try:
        return bool(given.encode()) or not given
    except UnicodeEncodeError:
        return False


def _text(given: str, limit: int) -> str:
    """Return a stranger's text so that a person can judge it: all of it visible, and cut visibly."""
    shown = escaped(given.encode("utf-8", "replace").decode())
    return shown if len(shown) <= limit else f"{shown[: limit - 20]} … {len(shown) - limit + 20:,} more"


def _decide_by_policy(
    tx: Tx, team: str, key: str, ask: Ask, settings: Mapping[str, Any]
) -> tuple[str, str] | None:
    always = tx.fact(team, "", ALWAYS) or {}
    allow, deny = ([*settings.get(name, ()), *always.get(name, ())] for name in ("allow", "deny"))
    by_pattern = decide_by_patterns(ask.command, allow, deny) if ask.command else None
    if by_pattern is not None:
        allowed, pattern = by_pattern
        return (ALLOWED, f"allow: {pattern}") if allowed else (DENIED, f"the settings deny it: {pattern}")
    member = tx.member_card(team, key)
    if member is None or member.state in TOO_LATE:
        return DENIED, STANDING_DOWN
    if sum(other.key == key for other in tx.asks(team, state=OPEN)) >= MOST_OPEN:
        return DENIED, f"{MOST_OPEN} of its requests are open"
    if _policy(settings).on_ask == "deny":
        return DENIED, "the settings deny what they do not allow (on_ask)"
    return None


def _policy(settings: Mapping[str, Any]) -> Policy:
    """Return the settings of asks; a team of an older version has none."""
    return Policy(**{
        name: settings["policy"][name]
        for name in ("on_ask", "ask_timeout_s", "notify", "notify_kinds")
        if name in settings.get("policy", {})
    })  # fmt: skip


def _tell(tx: Tx, card: TeamCard, session: Session, ask: Ask, policy: Policy) -> list[str]:
    """Write to the journal, to the lead if it may answer, and run `notify`. Return the channels to ring."""
    tx.add_entry(card.id, "ask", ask.key, {"ask": ask.id, "kind": ask.kind, "title": ask.title})
    if policy.notifies("ask"):
        tx.add_acts(card.id, [Act(ActKind.NOTIFY, ask.key, 0, {"ask": ask.id, "tag": ask.id})])
    channels = [ENGINE, f"team/{card.name}"]
    leads = [member.key for member in tx.member_cards(card.id) if member.role == LEAD and member.live]
    if policy.on_ask == "lead" and leads and ask.key not in leads:
        body = (
            f"{ask.key} requests permission and waits for your answer until {utc(ask.until)}.\n\n"
            f"{ask.title}\n{_indented(ask)}\n"
            f"Answer with the tool ask_decide, or `headcount decide {ask.id} allow|deny --reason REASON`."
        )
        channels += write_mail(
            tx, card, session, LEAD, f"{ask.id}: {ask.key} requests permission", body
        ).channels
    return channels


def _indented(ask: Ask) -> str:
    lines = [line for text in (ask.command, ask.detail) if text for line in text.splitlines()[:40]]
    return "".join(f"\n    {line}" for line in lines) + "\n" if lines else ""


def _wait(session: Session, ask: Ask, gone: int | None) -> Ask:
    channel = answers_channel(ask.team, ask.key)
    session.store.listen(channel)
    end = time.monotonic() + max(0.0, ask.until - time.time())
    while True:
        with session.store.read() as tx:
            now = tx.find_ask(ask.id)
        if now is None or now.state != OPEN:
            return now or ask.changed(state=MOOT, reason="the state was removed")
        left = end - time.monotonic()
        if left <= 0:
            return _end(session, ask, DENIED, f"nobody answered within {ask.until - ask.asked_at:.0f} s")
        session.store.wait_any([channel], min(left, _LOOK_AGAIN_S), gone)
        if gone is not None and _is_readable(gone):
            return _end(session, ask, MOOT, "its client no longer waits")


def _is_readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _end(session: Session, ask: Ask, state: str, reason: str) -> Ask:
    """Answer it without a person. Return the ask as it is stored: an answer that was faster stays."""
    with session.store.write(team=ask.team) as tx:
        if tx.answer_ask(ask.team, ask.id, state, POLICY, reason):
            _note_answer(tx, ask.changed(state=state, by=POLICY, reason=reason))
        stored = tx.find_ask(ask.id)
    session.store.ring([f"team/{ask.team.partition('#')[0]}"])
    assert stored is not None
    return stored


def _note_answer(tx: Tx, ask: Ask) -> None:
    data = {"ask": ask.id, "title": ask.title, "answer": ask.state, "by": ask.by, "reason": ask.reason}
    if ask.state == MOOT:
        tx.add_entry(ask.team, "ask_moot", ask.key, {"ask": ask.id, "title": ask.title, "reason": ask.reason})
    else:
        tx.add_entry(ask.team, "ask_answered", ask.key, data)


def end_open_asks(session: Session, reason: str) -> None:
    """End what the calling member has open: nothing of it waits for the answers."""
    team, key = session.caller.team or "", session.caller.who
    with session.store.write(team=team) as tx:
        tx.note(team, moot_asks(tx, team, key, reason))
    session.store.ring([answers_channel(team, key), f"team/{team.partition('#')[0]}"])


# --- listing and answering -------------------------------------------------------------------------------


def list_asks(session: Session, team: str | None = None, *, every: bool = False) -> list[AskAnswer]:
    """Return the open asks, or `every` one of the open teams; also dialogs that only a terminal answers."""
    from headcount.app.team_status import read_asks

    session.check("status")
    with session.store.read() as tx:
        named = team or session.caller.is_member
        names = [session.pick_team(team)] if named else tx.team_names()
        cards = [session.find_team(tx, name) for name in names]
        return [one for card in cards for one in read_asks(tx, card.id, card.name, every=every)]


def decide_ask(
    session: Session,
    ask_id: str,
    decision: str,
    reason: str = "",
    *,
    always: bool = False,
    team: str | None = None,
) -> AskAnswer:
    """Answer an ask. The first answer wins; a later one is refused with who answered what."""
    check_choice("decision", decision, tuple(DECISIONS))
    check_text("reason", reason)
    ask = _find(session, ask_id, team)
    name = ask.team.partition("#")[0]
    if always:
        session.check("decide_always", name)
    with session.write("decide_ask", name) as (tx, card):
        check_size("reason", reason, card.message_bytes)
        _check_authority(session, tx, ask)
        if always:
            _add_always(tx, card.id, ask, decision)
        state = DECISIONS[decision]
        if ask.until <= time.time() or not tx.answer_ask(card.id, ask.id, state, session.caller.who, reason):
            raise _too_late(tx.find_ask(ask.id) or ask)
        answered = tx.find_ask(ask.id) or ask
        _note_answer(tx, answered)
    session.store.ring([answers_channel(card.id, ask.key), f"team/{card.name}"])
    return as_json(answered, card.name)


def _find(session: Session, ask_id: str, team: str | None) -> Ask:
    with session.store.read() as tx:
        ask = tx.find_ask(ask_id)
        if ask is not None and (team or session.caller.is_member):
            named = session.find_team(tx, session.pick_team(team))
            ask = ask if ask.team == named.id else None
        card = tx.team_card(ask.team) if ask is not None else None
        if ask is not None and card is not None and not card.closed:
            return ask
        names = [session.pick_team(team)] if team or session.caller.is_member else tx.team_names()
        known = [one.id for name in names for one in tx.asks(session.find_team(tx, name).id, state=OPEN)]
    raise unknown("ask", ask_id, known, "no permission request of an open team has this id")


def _check_authority(session: Session, tx: Tx, ask: Ask) -> None:
    """Check what the table of authority cannot: the lead answers for others, and only if `on_ask` says so."""
    if not session.caller.is_member:
        return
    if session.caller.who == ask.key:
        raise NotAllowed(
            f"{session.caller.who} may not answer its own permission request", "allowed: operator",
            code="own-ask",
        )  # fmt: skip
    if _policy(tx.team_settings(ask.team)).on_ask != "lead":
        raise NotAllowed(
            f"{session.caller.who} may not answer a permission request",
            'allowed: operator; the lead only with on_ask = "lead" under [policy]',
            code="not-allowed",
        )


def _add_always(tx: Tx, team: str, ask: Ask, decision: str) -> None:
    """Add the command to the team's list. The user's settings stay as they are."""
    try:
        pattern = exact_pattern(ask.command) if ask.command else ""
    except UnsafeCommand as error:
        pattern, why = "", f"{show(ask.command)} is not one simple command: {error}"
    else:
        why = f"{ask.id} is not about a command"
    if not pattern:
        raise UsageError(
            f"Did not answer {ask.id} for ever", why, ("Answer it without --always",), code="no-pattern"
        )
    lists = {name: list((tx.fact(team, "", ALWAYS) or {}).get(name, ())) for name in DECISIONS}
    if pattern not in lists[decision]:
        lists[decision].append(pattern)
    tx.put_fact(team, "", ALWAYS, lists)


def _too_late(ask: Ask) -> Declined:
    if ask.state == OPEN:
        why = f"its time was over at {utc(ask.until)}"
    elif ask.state == MOOT:
        why = f"it is moot: {ask.reason}"
    else:
        why = f"it was {ask.state} by {ask.by} at {utc(ask.answered_at or 0)}"
    hint = ("See what is open with `headcount asks`",)
    return Declined(f"Did not answer {ask.id}", why, hint, code="ask-answered")


def as_json(ask: Ask, team: str) -> AskAnswer:
    return {
        "id": ask.id,
        "team": team,
        "member": ask.key,
        "kind": ask.kind,
        "title": ask.title,
        "detail": ask.detail,
        "command": escaped(ask.command),
        "directory": ask.directory,
        "options": list(DECISIONS) if ask.state == OPEN else [],
        "askedAt": utc(ask.asked_at),
        "until": utc(ask.until),
        "state": ask.state,
        "by": ask.by,
        "reason": ask.reason,
        "answeredAt": utc(ask.answered_at) if ask.answered_at else None,
        "attach": None,
    }


def dialog_as_json(team: str, key: str, name: str, fact: Mapping[str, Any]) -> AskAnswer:
    """Return a dialog in a terminal as an ask without an id: only a person in that terminal can answer it."""
    return {
        "id": None, "team": team, "member": key, "kind": "other", "title": str(fact.get("text", "")),
        "detail": "", "command": "", "directory": "", "options": [], "askedAt": str(fact.get("since", "")),
        "until": None, "state": OPEN, "by": None, "reason": "", "answeredAt": None,
        "attach": f"headcount attach {name} --team {team}",
    }  # fmt: skip
