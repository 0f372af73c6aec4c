"""What happens at a member's pauses, whoever notices them: the host between two turns, or a client's hook.

A member whose client has nothing to do is idle: not asked when its team is stood down, only looked at. It is
at work again with the next turn.
"""

from __future__ import annotations

import os
import select
import time

from headcount.app import signals
from headcount.domain.display import utc
from headcount.protocol.mailboxes import ENGINE, channel

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
    if _state(call)[1] == "idle":
        _report(call, "WorkResumed")


def _state(call: Call) -> tuple[str, str]:
    """The member's state, and its activity."""
    with call.session.store.read() as tx:
        member = tx.member_card(_team(call), call.caller.who)
    return (member.state, member.activity or "") if member is not None else ("", "")


def _team(call: Call) -> str:
    team = call.caller.team
    assert team is not None, "only a member's client has pauses"
    return team


def _report(call: Call, kind: str, **fields: object) -> None:
    team = _team(call)
    with call.session.store.write(team=team) as tx:
        tx.add_report(team, kind, {"key": call.caller.who, **fields})
    call.session.store.ring([ENGINE])


def lift_limit(call: Call) -> None:
    """The client works again after a limit. What follows may depend on that, so wait until it is applied."""
    if _state(call)[1] != "limited":
        return
    _report(call, "WorkResumed")
    deadline = time.monotonic() + _HEARD_S
    while _state(call)[1] == "limited" and time.monotonic() < deadline:
        time.sleep(0.05)


def end_work(call: Call) -> None:
    """Report idle, unless the member has reported more (done, an answer) or has mail to continue with."""
    if _state(call) != ("running", "working"):
        return
    with call.session.store.read() as tx:
        if tx.has_unread(_team(call), call.caller.boxes):
            return
    signals.idle(call.session)


def record_turn(call: Call, seen: Seen, code: int) -> None:
    """For status and budget: what a turn cost, and how it ended."""
    team, key = _team(call), call.caller.who
    with call.session.store.write(team=team) as tx:
        so_far = tx.fact(team, key, "usage") or {}
        used = {"tokens": so_far.get("tokens", 0) + seen.tokens, "turns": so_far.get("turns", 0) + 1}
        tx.put_fact(team, key, "usage", used)
        tx.add_report(team, "Spent", {"key": key, **used})
        if code != 0:
            ended = {"code": code, "limit": seen.limit, "overflow": seen.overflow}
            tx.add_entry(team, "turn_failed", key, ended)
    call.session.store.ring([ENGINE])


def limit_end(call: Call, resets_at: float | None, count: int) -> float:
    """When to try again: as the client says, else a little later each time (`limit_wait_s`).

    What it says is believed once: that it was reached again, `count` times by now, shows that it was wrong.
    """
    if resets_at is not None and count == 1:
        return resets_at
    with call.session.store.read() as tx:
        policy = tx.team_settings(_team(call)).get("policy", {})
    wait_s: float = policy.get("limit_wait_s", _LIMIT_WAIT_S)
    later = time.time() + min(wait_s * 2.0 ** min(count - 1, _DOUBLINGS), max(_LIMIT_MOST_S, wait_s))
    return max(resets_at or 0.0, later)


def park(call: Call, reason: str, until: float) -> None:
    _report(call, "Limited", reason=reason[:500], until=utc(until))


def warn(call: Call, text: str) -> None:
    team = _team(call)
    with call.session.store.write(team=team) as tx:
        tx.add_entry(team, "warning", call.caller.who, {"text": text})


def wait(call: Call) -> None:
    """Until there is mail. A nudge on standard input is a hint to read it: its mail is there."""
    store, team, boxes = call.session.store, _team(call), call.caller.boxes
    channels = [channel(team, box) for box in boxes]
    for each in channels:
        store.listen(each)
    standard_input: int | None = 0
    while True:
        with store.read() as tx:
            if tx.has_unread(team, boxes):
                return
        store.wait_any(channels, _LOOK_AGAIN_S, standard_input)
        if standard_input is not None and _has_closed(standard_input):
            standard_input = None


def _has_closed(fd: int) -> bool:
    """Whether nothing can be written to `fd` any more; takes what was written."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return any(what & select.POLLIN == 0 or not os.read(fd, 65536) for _, what in poll.poll(0))
