"""What the host of a client uses of headcount: mail, reports to the team, and the member's terminal.

A member whose client has nothing to do is idle: a stand-down does not ask it, and only inspects it. It is
at work again with the next turn.
"""

from __future__ import annotations

import os
import select
import time

from headcount.app import mail, signals
from headcount.app.doing import DoingFile, one_line
from headcount.app.mail import write_mail
from headcount.domain.display import utc
from headcount.domain.names import IN_PROMPT, LEAD, OPERATOR
from headcount.errors import StoreError
from headcount.protocol import authority
from headcount.protocol.mailboxes import ENGINE, channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from headcount.agents.client import Seen
    from headcount.agents.host import Answer, Wanted
    from headcount.app.session import Session
    from headcount.domain.records import Mail
    from headcount.ports import Tx
    from headcount.runtime.process_runtime import Handle
    from headcount.runtime.tmux import TmuxRuntime


# How long it trusts its doorbell before it looks for itself.
_LOOK_AGAIN_S = 30.0
_HEARD_S = 3.0
_STORE_AGAIN_S = 1.0
_PASSING = ("database-away", "store-busy", "store-io")
_LIMIT_WAIT_S, _LIMIT_MOST_S = 60.0, 1800.0
_RESTARTS = 2
_DOUBLINGS = 20
_FACT = "dialog"


class MemberReports:
    """The port `agents.host.Reports`, for the member that calls; also used by the hooks of its client."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._doing: DoingFile | None = None

    def unread(self) -> list[Mail]:
        return mail.inbox(self._session, unread=True)

    def mark_read(self, shown: Sequence[Mail]) -> None:
        mail.mark_read(self._session, list(shown))

    def show(self, shown: Sequence[Mail]) -> None:
        """Record the mail in the prompt of a turn. It counts as read only when the turn has ended well."""
        team = self._team()
        with self._session.store.write(team=team) as tx:
            tx.put_fact(team, self._session.caller.who, IN_PROMPT, {"ids": [one.id for one in shown]})

    def begin_work(self) -> None:
        """Report that the client begins a turn, and take a checkpoint before it.

        It does not end a usage limit; an answer of the model does. Before its first turn the workspace is as
        git has checked it out, and needs no checkpoint.
        """
        if self._state()[1] == "idle":
            self._report("WorkResumed")
        team, key = self._team(), self._session.caller.who
        with self._session.store.read() as tx:
            has_worked = tx.fact(team, key, "usage") is not None
        if has_worked:
            from headcount.app import turn_checkpoint  # on the path of no hook

            turn_checkpoint.run()

    def _state(self) -> tuple[str, str]:
        """Return the member's state and activity."""
        with self._session.store.read() as tx:
            member = tx.member_card(self._team(), self._session.caller.who)
        return (member.state, member.activity or "") if member is not None else ("", "")

    def _team(self) -> str:
        team = self._session.caller.team
        assert team is not None, "only a member's client has pauses"
        return team

    def _report(self, kind: str, **fields: object) -> None:
        team = self._team()
        with self._session.store.write(team=team) as tx:
            tx.add_report(team, kind, {"key": self._session.caller.who, **fields})
        self._session.store.ring([ENGINE])

    def lift_limit(self) -> None:
        """Report that the limit is over, and wait until that is applied: what follows may depend on it."""
        if self._state()[1] != "limited":
            return
        self._report("WorkResumed")
        deadline = time.monotonic() + _HEARD_S
        while self._state()[1] == "limited" and time.monotonic() < deadline:
            time.sleep(0.05)

    def end_work(self) -> None:
        """Report idle, unless the member has reported more (done, an answer) or has mail to continue with."""
        if self._state() != ("running", "working"):
            return
        with self._session.store.read() as tx:
            if tx.has_unread(self._team(), self._session.caller.boxes):
                return
        signals.idle(self._session)

    def record_usage(self, seen: Seen) -> bool:
        """Record what a part of a turn cost, and a refused command. Return whether it is above a budget."""
        with self._session.store.write(team=self._team()) as tx:
            is_above = self._add_usage(tx, seen, 0)
        self._session.store.ring([ENGINE])
        return is_above

    def record_turn(self, seen: Seen, code: int, cause: str = "") -> None:
        """Record how a turn ended, why it failed, and what was not yet recorded of its cost."""
        team, key = self._team(), self._session.caller.who
        self._end_asks(team, key)
        with self._session.store.write(team=team) as tx:
            self._add_usage(tx, seen, 1)
            if code != 0 or cause:
                ended = {"code": code, "cause": cause, "limit": seen.limit, "overflow": seen.overflow}
                tx.add_entry(team, "turn_failed", key, ended)
        self._session.store.ring([ENGINE])

    def _add_usage(self, tx: Tx, seen: Seen, turns: int) -> bool:
        """Add to the usage of this member, and report the sums to the rules, which decide about budgets."""
        from headcount.domain.policy import Policy, list_used_up
        from headcount.protocol.events import Spent

        team, key, today = self._team(), self._session.caller.who, time.strftime("%Y-%m-%d")
        usage = dict(tx.fact(team, key, "usage") or {})
        usage["tokens"] = usage.get("tokens", 0) + seen.tokens
        usage["turns"] = usage.get("turns", 0) + turns
        if seen.cost_usd:
            usage["cost_usd"] = usage.get("cost_usd", 0.0) + seen.cost_usd
            days = usage.get("days", {})
            usage["days"] = {**days, today: days.get(today, 0.0) + seen.cost_usd}
        if seen.refused:
            count = usage.get("refused", {}).get("count", 0) + 1
            usage["refused"] = {"count": count, "last": one_line(seen.refused)}
        tx.put_fact(team, key, "usage", usage)
        given = tx.team_settings(team).get("policy", {})
        policy = Policy(**{name: value for name, value in given.items() if name.startswith("budget_")})
        team_usd = sum(one.get("cost_usd", 0.0) for one in tx.facts(team, "usage").values())
        day_usd = tx.spent_on(today) if policy.budget_day_usd else 0.0
        spent = Spent(key, usage["tokens"], usage["turns"], usage.get("cost_usd", 0.0), team_usd, day_usd)
        tx.add_report(team, "Spent", {name: getattr(spent, name) for name in Spent.__slots__})
        return bool(list_used_up(policy, spent))

    def report_activity(self, text: str) -> None:
        """Show what the client is doing. Cheap: it never fails, and never waits."""
        if self._doing is None:
            caller = self._session.caller
            self._doing = DoingFile(self._session.home, caller.team_name or "", caller.who)
        self._doing.report(text)

    def _end_asks(self, team: str, key: str) -> None:
        """End what is open after a turn: no client of this member waits for an answer any more."""
        with self._session.store.read() as tx:
            waits = any(ask.key == key for ask in tx.asks(team, state="open"))
        if waits:
            from headcount.app.permissions import end_open_asks

            end_open_asks(self._session, "its client has ended")

    def restarts(self) -> int:
        """How often in a row a client that failed is started again."""
        return int(self._policy().get("restarts", _RESTARTS))

    def _policy(self) -> dict[str, Any]:
        with self._session.store.read() as tx:
            policy: dict[str, Any] = tx.team_settings(self._team()).get("policy", {})
        return policy

    def record_rest(self, ended: Sequence[str]) -> None:
        """Record the processes that a failed turn left, and that were ended."""
        team = self._team()
        with self._session.store.write(team=team) as tx:
            tx.add_entry(team, "turn_rest_ended", self._session.caller.who, {"processes": list(ended)})

    def fail(self, cause: str) -> None:
        """Report why this process is about to exit."""
        self._report("ClientFailed", cause=cause)

    def limit_end(self, resets_at: float | None, count: int) -> float:
        """When to try again: as the client says, else a little later each time (`limit_wait_s`).

        The client is believed once: a limit that was reached again, `count` times, shows that it was wrong.
        """
        if resets_at is not None and count == 1:
            return resets_at
        wait_s: float = self._policy().get("limit_wait_s", _LIMIT_WAIT_S)
        later = time.time() + min(wait_s * 2.0 ** min(count - 1, _DOUBLINGS), max(_LIMIT_MOST_S, wait_s))
        return max(resets_at or 0.0, later)

    def park(self, reason: str, until: float) -> None:
        self._report("Limited", reason=reason[:500], until=utc(until))

    def ask(self, wanted: Wanted, gone: int | None = None) -> Answer:
        from headcount.app import permissions  # needed by few turns, and this is on the path of every hook

        return permissions.ask(self._session, wanted, gone)

    def warn(self, text: str) -> None:
        team = self._team()
        with self._session.store.write(team=team) as tx:
            tx.add_entry(team, "warning", self._session.caller.who, {"text": text})

    def mail_while_idle(self) -> list[str]:
        """Return the ids of unread mail of a member that is idle, if the policy wants it to be woken."""
        if self._state() != ("running", "idle") or not self._policy().get("wake_on_mail", True):
            return []
        return [one.id for one in self.unread()]

    def wait_for_mail(self) -> None:
        """Wait for mail. A nudge on standard input also wakes it, because its mail is there."""
        store, team, boxes = self._session.store, self._team(), self._session.caller.boxes
        channels = [channel(team, box) for box in boxes]
        for each in channels:
            store.listen(each)
        standard_input: int | None = 0
        while True:
            # Before the mailbox: what a nudge says is in the mail, and a nudge that was read is taken.
            if standard_input is not None and _has_closed(standard_input):
                standard_input = None
            with store.read() as tx:
                if tx.has_unread(team, boxes):
                    return
            store.wait_any(channels, _LOOK_AGAIN_S, standard_input)

    def report_dialog(self, question: str, screen: list[str]) -> None:
        who, team = self._session.caller.who, self._session.caller.team_name
        member, _, _ = who.partition("#")
        shown = "\n".join(f"    {line}" for line in screen)
        body = (
            f"{who} needs a person, and does nothing until then. It shows:\n\n{shown}\n\n"
            "Answer it in its terminal, and leave that with F12 or Ctrl-b d:\n\n"
            f"    headcount attach {member} --team {team}\n\n"
            "Nothing is typed there meanwhile: what it is told waits in its mailbox."
        )
        self._write_dialog({"text": question, "since": utc(time.time())}, f"{member} needs a person", body)

    def update_dialog(self, question: str) -> None:
        self._write_dialog({"text": question, "since": utc(time.time())})

    def end_dialog(self) -> None:
        member, _, _ = self._session.caller.who.partition("#")
        self._write_dialog({}, f"{member} goes on", f"{self._session.caller.who} no longer needs a person.")

    def _write_dialog(self, fact: dict[str, str], subject: str = "", body: str = "") -> None:
        """Store the dialog and mail it to the lead; about the lead's own, to the operator."""
        session, key, team = self._session, self._session.caller.who, self._session.caller.team or ""
        with session.store.write(team=team) as tx:
            card = session.find_team(tx, team)
            tx.put_fact(team, key, _FACT, fact)
            tx.add_entry(team, "dialog" if fact else "dialog_over", key, fact)
            channels = [f"team/{card.name}"]
            if subject:
                to = OPERATOR if self._session.caller.kind == authority.LEAD else LEAD
                channels += write_mail(tx, card, session, to, subject, body).channels
        session.store.ring(channels)


def patient(reports: MemberReports, *, but: Sequence[str] = ()) -> MemberReports:
    """Return the same reports, which wait for a store that is away, busy or full: no client ends for that.

    `but` names those whose caller repeats them itself.
    """
    found: Any = _Patient(reports, but)
    return found  # type: ignore[no-any-return]


class _Patient:
    def __init__(self, reports: MemberReports, but: Sequence[str]) -> None:
        self._reports = reports
        self._but = but

    def __getattr__(self, name: str) -> Any:
        report = getattr(self._reports, name)
        return report if name in self._but else lambda *words, **more: _repeat(report, *words, **more)


def _repeat(report: Callable[..., Any], *words: Any, **more: Any) -> Any:
    """Only after errors that leave nothing behind: what they were about is not stored."""
    while True:
        try:
            return report(*words, **more)
        except StoreError as error:
            if error.code not in _PASSING:
                raise
            time.sleep(_STORE_AGAIN_S)


def _has_closed(fd: int) -> bool:
    """Return whether `fd` is closed. Discard what was written to it."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return any(what & select.POLLIN == 0 or not os.read(fd, 65536) for _, what in poll.poll(0))


# --- terminal --------------------------------------------------------------------------------------------
#
# The member's own terminal, for the host that follows the client in it.


class MemberTerminal:
    """Taken up when it is first needed, and then kept: a handle has descriptors."""

    def __init__(self, home: str, mark: str, hold: str = "") -> None:
        """`hold`: what it shows while nothing may be typed there."""
        self._home = home
        self._mark = mark
        self._hold = hold
        self._taken_up: tuple[TmuxRuntime, Handle] | None = None

    def _take_up(self) -> tuple[TmuxRuntime, Handle] | None:
        if self._taken_up is None:
            from headcount.runtime.tmux import TmuxRuntime

            runtime = TmuxRuntime(self._home)
            handle = runtime.adopt(self._mark, {"hold": self._hold})
            self._taken_up = None if handle is None else (runtime, handle)
        return self._taken_up

    def printed(self) -> int:
        """Return how many bytes were ever printed. While it is the same, so is the screen."""
        from headcount.runtime.log import end_of_log

        found = self._take_up()
        return 0 if found is None else end_of_log(found[1].directory.path)

    def read(self) -> str:
        found = self._take_up()
        return "" if found is None else found[0].capture(found[1])

    def press(self, keys: str) -> None:
        found = self._take_up()
        if found is not None:
            found[0].press(found[1], keys)

    def type(self, text: str, tag: str) -> bool:
        """Type a text by the runtime's rules: at a pause, once for each tag, and check that it was taken."""
        found = self._take_up()
        return found is not None and found[0].nudge(found[1], text, tag=tag)

    def wake(self, text: str) -> bool:
        """Type a text for a client that is idle: only without a dialog, and on an empty input line."""
        found = self._take_up()
        return found is not None and found[0].wake(found[1], text)
