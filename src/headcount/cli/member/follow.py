"""A client in its terminal, followed by the process that started it, in the record that the client keeps.

Clients write down their conversations: what each answer cost, when a turn is over, and how. So nothing is
read off the screen, unless the client tells of its limit nowhere else (`attend.py`). A turn that ends at a
usage limit parks the member; when the limit should be over, and the client has not gone on by itself, it is
told to, at its prompt. A conversation that no longer fits is begun anew.
"""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import time

from headcount.agents.client import Seen, add_seen
from headcount.cli.member import pauses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headcount.agents.client import Client, Setup
    from headcount.cli.member.attend import Attendant
    from headcount.cli.member.call import Call

_LOOK_S = 0.5
_EXIT_S = 10.0
_FAILURES = 3  # conversations in a row that do not fit, before it is left as it is
_BY_ITSELF_S = 3.0  # some clients go on by themselves when their limit is over
_TYPE_AGAIN_S = 5.0
_GO_ON = "The usage limit is over. Go on with your work."
_ANEW = (
    "You begin anew: your last conversation no longer fit. What you have done so far is in this worktree: "
    "look at git status and git log, and at your inbox. Your task was:\n\n"
)


class Follower:
    """`begin` makes a new conversation; `given` is called once the client has dealt with its first prompt."""

    def __init__(
        self, call: Call, client: Client, begin: Callable[[], Setup], given: Callable[[], None]
    ) -> None:
        self._call = call
        self._client = client
        self._begin = begin
        self._given = given
        self._turn = Seen()
        self._failures = self._limits = 0
        self._limit = ""
        self._go_on_at: float | None = None
        self._attendant = _make_attendant(call, client)

    def run(self, task: str, env: dict[str, str]) -> int:
        """Until the client has ended by itself; its exit code."""
        # What is typed is meant for the client. A handler, because the client would inherit SIG_IGN.
        for number in (signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, lambda *_: None)
        prompt = task
        while True:
            setup = self._begin()
            child = subprocess.Popen(self._client.terminal(setup, prompt), env=env)
            signal.signal(signal.SIGTERM, lambda *_, child=child: child.terminate())
            if self._follow(child, setup):
                return child.returncode
            _end(child)
            prompt = _ANEW + task

    def _follow(self, child: subprocess.Popen[bytes], setup: Setup) -> bool:
        """True at its end; False when it must begin anew."""
        lines = _Lines(self._client, setup)
        over = False
        while not over:
            over = _has_ended(child)
            for seen in lines.read():
                self._hear(seen)
                if seen.overflow and self._failures < _FAILURES:
                    return over
            self._look_at_limit()
            if self._attendant is not None:
                self._attendant.look()
        return True

    def _hear(self, seen: Seen) -> None:
        self._turn = add_seen(self._turn, seen)
        if seen.turn == "begun":
            self._go_on_at = None
            if not self._client.hooked:
                pauses.begin_work(self._call)
        elif seen.turn == "ended" and self._turn != Seen(turn="ended"):
            self._end_turn(self._turn)
            self._turn = Seen()

    def _end_turn(self, turn: Seen) -> None:
        pauses.record_turn(self._call, turn, 1 if turn.limit or turn.overflow else 0)
        if turn.limit:
            self._limits += 1
            until = pauses.limit_end(self._call, turn.resets_at, self._limits)
            pauses.park(self._call, turn.limit, until)
            self._limit, self._go_on_at = f"limit until {until:.0f}", until + _BY_ITSELF_S
        elif turn.overflow:
            self._failures += 1
        else:
            self._failures = self._limits = 0
            self._given()
            pauses.lift_limit(self._call)
            if not self._client.hooked:
                pauses.end_work(self._call)

    def _look_at_limit(self) -> None:
        """Typed by the runtime's own rules: when the screen stands still, and seen to be taken."""
        if self._go_on_at is None or time.time() < self._go_on_at:
            return
        from headcount.runtime.tmux import TmuxRuntime

        runtime = TmuxRuntime(os.environ["HEADCOUNT_HOME"])
        handle = runtime.adopt(os.environ["HEADCOUNT_MARK"])
        taken = handle is not None and runtime.nudge(handle, _GO_ON, tag=self._limit)
        self._go_on_at = None if taken else time.time() + _TYPE_AGAIN_S


def _make_attendant(call: Call, client: Client) -> Attendant | None:
    if not client.screen.limit:
        return None
    from headcount.cli.member.attend import Attendant

    return Attendant(call, client.screen.limit)


class _Lines:
    """What is new in the client's record, whichever files it keeps it in."""

    def __init__(self, client: Client, setup: Setup) -> None:
        assert client.record is not None
        self._pattern = client.record.files(setup)
        self._read = client.record.read
        self._ends: dict[str, int] = {path: os.path.getsize(path) for path in self._paths()}
        self._counted: set[str] = set()

    def read(self) -> Iterator[Seen]:
        for path in self._paths():
            for line in self._new_lines(path):
                seen = self._read(line)
                if seen.answer in self._counted:
                    seen = seen._replace(tokens=0)
                if seen.answer:
                    self._counted.add(seen.answer)
                yield seen

    def _paths(self) -> list[str]:
        return sorted(glob.glob(self._pattern, recursive=True))

    def _new_lines(self, path: str) -> list[str]:
        """Whole ones only: it may be in the middle of the next."""
        with open(path, "rb") as file:
            file.seek(self._ends.get(path, 0))
            whole, newline, _ = file.read().rpartition(b"\n")
        self._ends[path] = self._ends.get(path, 0) + len(whole) + len(newline)
        return whole.decode(errors="replace").split("\n") if whole else []


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    try:
        child.wait(_LOOK_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(_EXIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
