"""A dialog that a client comes to stand in, in the middle of its work: told to the team, never answered.

A permission, a list that a person left open: the client waits for somebody, and writes down nothing of it. So
whoever follows the client looks at its screen: when it has come to rest, and now and then while it moves,
because some dialogs blink. A dialog that stays is told once, with the way to its terminal, and so is the end
of it. Meanwhile the runtime types nothing there (`runtime/terminal.py`).
"""

from __future__ import annotations

import re
import time

from headcount.app.mail import write_mail
from headcount.domain.display import utc
from headcount.domain.names import LEAD, OPERATOR
from headcount.protocol import authority

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.cli.member.call import Call
    from headcount.cli.member.terminal import Terminal

_FACT = "dialog"
_LOOK_S = 1.0
_REST_S = 2.0
_MOVING_S = 5.0  # between two looks at a screen that moves all the time
_STAYS_S = 4.0  # longer than a person needs who sits there and answers
_SHOWN_LINES = 15
_FRAME = " \t│┃║╎─━╌▔▁╭╮╰╯┌┐└┘▀"


class Dialogs:
    """`asks` is what a dialog looks like, as a regular expression."""

    def __init__(
        self, call: Call, asks: str, terminal: Terminal, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._call = call
        self._asks = re.compile(asks, re.MULTILINE)
        self._terminal = terminal
        self._now = now
        self._next_look = 0.0
        self._printed = self._looked_up_to = -1
        self._printed_at = self._looked_at = now()
        self._since: float | None = None
        self._told = ""

    def look(self) -> None:
        now = self._now()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_S
        printed = self._terminal.printed()
        if printed != self._printed:
            self._printed, self._printed_at = printed, now
        if self._is_due(now):
            self._look_closely(now)
            self._looked_at, self._looked_up_to = now, printed

    def _is_due(self, now: float) -> bool:
        """Nothing printed, nothing new; but a dialog has to be there still when it is told."""
        if self._looked_up_to == self._printed:
            return not self._told and self._stays(now)
        rests = now - self._printed_at >= _REST_S
        return rests or self._since is not None or now - self._looked_at >= _MOVING_S

    def _stays(self, now: float) -> bool:
        return self._since is not None and now - self._since >= _STAYS_S

    def _look_closely(self, now: float) -> None:
        """One dialog after another, without a pause between, is one wait: told once, shown as it is now."""
        shown = self._terminal.read()
        question = find_question(self._asks, shown)
        if not question:
            if self._told:
                tell_end(self._call)
            self._told, self._since = "", None
            return
        self._since = now if self._since is None else self._since
        if self._told not in ("", question):
            show(self._call, question)
            self._told = question
        elif not self._told and self._stays(now):
            tell(self._call, question, _lines(shown)[-_SHOWN_LINES:])
            self._told = question


def find_question(asks: re.Pattern[str], shown: str) -> str:
    """The line above the first choice; where there is none, the one that gave the dialog away, on which the
    match ends."""
    found = asks.search(shown)
    if found is None:
        return ""
    start = shown.rfind("\n", 0, found.end()) + 1
    own = _lines(shown[start:])[:1]
    before = [line for line in _lines(shown[:start]) if not _CHOICE.match(line)]
    above = before[-1:] if own and _CHOICE.match(own[0]) else []
    return (above or own or [found[0]])[0][:200]


_CHOICE = re.compile(r"[❯›●△]? *\d+\. ")


def _lines(shown: str) -> list[str]:
    """Without frames and blank lines."""
    return list(filter(None, (line.strip(_FRAME) for line in shown.splitlines())))


# --- what the team is told -------------------------------------------------------------------------------


def tell(call: Call, question: str, screen: list[str]) -> None:
    member, _, _ = call.caller.who.partition("#")
    shown = "\n".join(f"    {line}" for line in screen)
    body = (
        f"{call.caller.who} needs a person, and does nothing until then. It shows:\n\n{shown}\n\n"
        "Answer it in its terminal, and leave that with Ctrl-b d:\n\n"
        f"    headcount attach {member} --team {call.caller.team_name}\n\n"
        "Nothing is typed there meanwhile: what it is told waits in its mailbox."
    )
    _put(call, _dialog(question), f"{member} needs a person", body)


def show(call: Call, question: str) -> None:
    """Where others look; nobody is written to."""
    _put(call, _dialog(question))


def tell_end(call: Call) -> None:
    member, _, _ = call.caller.who.partition("#")
    _put(call, {}, f"{member} goes on", f"{call.caller.who} no longer needs a person.")


def _dialog(question: str) -> dict[str, str]:
    return {"text": question, "since": utc(time.time())}


def _put(call: Call, fact: dict[str, str], subject: str = "", body: str = "") -> None:
    """A lead's own dialog is the operator's to answer."""
    session, key, team = call.session, call.caller.who, call.caller.team or ""
    with session.store.write(team=team) as tx:
        card = session.find_team(tx, team)
        tx.put_fact(team, key, _FACT, fact)
        tx.add_entry(team, "dialog" if fact else "dialog_over", key, fact)
        channels = [f"team/{card.name}"]
        if subject:
            to = OPERATOR if call.caller.kind == authority.LEAD else LEAD
            channels += write_mail(tx, card, session, to, subject, body).channels
    session.store.ring(channels)
