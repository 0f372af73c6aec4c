"""What happens at a member's pauses, whoever notices them: the host between two turns, or a client's hook.

A member whose client has nothing to do is idle: not asked when its team is stood down, only looked at. It is
at work again with the next turn.
"""

from __future__ import annotations

import os
import select
import time

from headcount.domain.display import utc
from headcount.store import doorbell, journal, mailbox, rules, saying, teams
from headcount.store.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.agents.client import Seen
    from headcount.cli.member.call import Call

SHOWN = "HEADCOUNT_SHOWN_MAIL"
"""Ids of the mail that a turn's prompt holds, for the hooks: they need not say it again."""

# How long it trusts its doorbell before it looks for itself.
_LOOK_AGAIN_S = 30.0
_HEARD_S = 3.0
_LIMIT_WAIT_S, _LIMIT_MOST_S = 60.0, 1800.0
_DOUBLINGS = 20


def begin_work(call: Call) -> None:
    """Not the end of a limit: that is over when the model has answered."""
    if _activity(call) == "idle":
        _resume(call)


def _activity(call: Call) -> str:
    with call.read() as db:
        return (teams.activity(db, call.team().id, call.caller.key) or ("", ""))[1]


def _resume(call: Call) -> None:
    with call.write() as db:
        journal.add_input(db, call.team().id, "WorkResumed", dumps({"key": call.caller.key}))
    call.ring([journal.ENGINE])


def lift_limit(call: Call) -> None:
    """It works again after a limit. What follows may depend on that, so it waits until it is heard."""
    if _activity(call) != "limited":
        return
    _resume(call)
    deadline = time.monotonic() + _HEARD_S
    while _activity(call) == "limited" and time.monotonic() < deadline:
        time.sleep(0.05)


def end_work(call: Call) -> None:
    """Idle, unless it has said more than that (done, an answer), or has mail to go on with."""
    with call.read() as db:
        team = call.team()
        if teams.activity(db, team.id, call.caller.key) != ("running", "working"):
            return
        if mailbox.has_unread(db, team.id, call.caller.boxes):
            return
    with call.write() as db:
        word = saying.idle(saying.SqlDesk(db, team, time.time()), call.caller)
    call.ring(word.channels)


def record_turn(call: Call, seen: Seen, code: int) -> None:
    """For status and budget: what it cost, and how it ended."""
    team, key = call.team().id, call.caller.key
    with call.write() as db:
        tokens, turns = teams.add_usage(db, team, key, tokens=seen.tokens, turns=1)
        journal.add_input(db, team, "Spent", dumps({"key": key, "tokens": tokens, "turns": turns}))
        if code != 0:
            said = {"code": code, "limit": seen.limit, "overflow": seen.overflow}
            journal.note(db, team, time.time(), "turn_failed", key, said)
    call.ring([journal.ENGINE])


def limit_end(call: Call, resets_at: float | None, count: int) -> float:
    """When to try again: as the client says, else a little later each time (`limit_wait_s`).

    What it says is believed once: that it was reached again, `count` times by now, shows that it was wrong.
    """
    if resets_at is not None and count == 1:
        return resets_at
    with call.read() as db:
        wait_s: float = teams.policy(db, call.team().id).get("limit_wait_s", _LIMIT_WAIT_S)
    later = time.time() + min(wait_s * 2.0 ** min(count - 1, _DOUBLINGS), max(_LIMIT_MOST_S, wait_s))
    return max(resets_at or 0.0, later)


def park(call: Call, reason: str, until: float) -> None:
    said = {"key": call.caller.key, "reason": reason[:500], "until": utc(until)}
    with call.write() as db:
        journal.add_input(db, call.team().id, "Limited", dumps(said))
    call.ring([journal.ENGINE])


def warn(call: Call, text: str) -> None:
    with call.write() as db:
        journal.note(db, call.team().id, time.time(), "warning", call.caller.key, {"text": text})


def wait(call: Call) -> None:
    """Until there is mail. A nudge, which comes on standard input, is a hint to look: its mail is there."""
    team = call.team()
    channels = [rules.channel(team.id, box) for box in call.caller.boxes]
    bells = [doorbell.Bell(call.bells, channel) for channel in channels]
    poll = select.poll()
    for fd in (0, *(bell.fileno() for bell in bells)):
        poll.register(fd, select.POLLIN)
    try:
        while not mailbox.has_unread(call.db, team.id, call.caller.boxes):
            for fd, what in poll.poll(_LOOK_AGAIN_S * 1000):
                if fd == 0 and (what & select.POLLIN == 0 or not os.read(0, 65536)):
                    poll.unregister(0)  # nobody can write there any more
            for bell in bells:
                bell.hush()
    finally:
        for bell in bells:
            bell.close()
