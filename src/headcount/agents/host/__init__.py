"""The host: the process that a member of a known client runs as (`headcount client`).

It starts the client, reads what the client prints or records, and reports that to the team. The protocols
below are all that it needs from headcount; `app/hosting.py` and `runtime/turn_tree.py` implement them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.agents.client import Seen
    from headcount.domain.records import Mail


class Wanted(NamedTuple):
    """A permission that a client requests."""

    kind: str
    """command, edit, tool or other."""
    title: str
    detail: str = ""
    """The text that a person needs in order to decide: a diff, the input of a tool."""
    command: str = ""
    """The command line, for the patterns of `[agents] allow` and `deny`."""
    directory: str = ""


class Answer(NamedTuple):
    allowed: bool
    reason: str = ""


class Reports(Protocol):
    """The mail of the member, and its reports to the team."""

    def unread(self) -> list[Mail]: ...

    def mark_read(self, mail: Sequence[Mail]) -> None: ...

    def mail_while_idle(self) -> list[str]:
        """The ids of unread mail of a member that is idle; none if it is not, or if nobody shall wake it."""

    def wait_for_mail(self) -> None:
        """Until there is mail. A nudge on standard input is a hint to read it: its mail is there."""

    def show(self, mail: Sequence[Mail]) -> None:
        """The prompt of the turn that begins has this mail: nobody needs to tell it again."""

    def begin_work(self) -> None:
        """Report a turn that is about to begin. It may take a checkpoint first, for a few seconds at most."""

    def end_work(self) -> None:
        """Report idle, unless the member has reported more (done, an answer) or has mail to continue with."""

    def record_usage(self, seen: Seen) -> bool:
        """For status and budget, in mid-turn: what an answer cost, and a refusal. True above a budget."""

    def record_turn(self, seen: Seen, code: int, cause: str = "") -> None:
        """For status and budget: how a turn ended, why it failed, and the rest of its cost."""

    def restarts(self) -> int:
        """How often in a row a client that failed is started again."""

    def record_rest(self, ended: Sequence[str]) -> None:
        """The processes that a failed turn left, and that were ended."""

    def fail(self, cause: str) -> None:
        """The client failed too often. The exit of this process follows, and means a failure."""

    def report_activity(self, text: str) -> None:
        """Show what the client is doing. Cheap: it never fails, and never waits."""

    def limit_end(self, resets_at: float | None, count: int) -> float:
        """When to try again after the usage limit was reached, `count` times in a row."""

    def park(self, reason: str, until: float) -> None:
        """The usage limit is reached."""

    def lift_limit(self) -> None:
        """The client works again after a limit."""

    def report_dialog(self, question: str, screen: list[str]) -> None:
        """The client waits for a person."""

    def update_dialog(self, question: str) -> None:
        """Another dialog follows. This updates what others see, and sends no mail."""

    def end_dialog(self) -> None: ...

    def ask(self, wanted: Wanted, gone: int | None = None) -> Answer:
        """Wait until policy, a person, the lead or the time limit has answered. Denied with a reason when the
        member is stood down. `gone` is readable when the client has left."""

    def warn(self, text: str) -> None: ...


class Processes(Protocol):
    """The processes that the turns of a client leave."""

    def begin(self) -> dict[str, str]:
        """Return what a new turn adds to the environment of its client."""

    def end_rest(self) -> list[str]:
        """End everything that the turn left, and return what it was. Raise if something stays alive."""

    def reap(self, client: int = 0) -> None:
        """Wait for orphans that have ended; not for the client."""


class Terminal(Protocol):
    """The member's own terminal."""

    def printed(self) -> int:
        """How many bytes were ever printed: as long as it stays the same, the screen does too."""

    def read(self) -> str: ...

    def press(self, keys: str) -> None: ...

    def type(self, text: str, tag: str) -> bool:
        """Type by the rules of a nudge: only on a screen at rest, once for a tag, and seen to be taken."""

    def wake(self, text: str) -> bool:
        """Type only on a screen at rest without a dialog, and on an empty input line."""
