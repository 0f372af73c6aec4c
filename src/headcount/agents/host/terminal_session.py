"""Follow a client in its terminal by the record that the client keeps.

Clients record their conversations: what each answer cost, when a turn is over, and how it ended. The host
reads from the screen only what is recorded nowhere else: dialogs, and the usage limit of some clients
(`screen_dialogs.py`). A turn that ends at a usage limit parks the member. When the limit should be over
and the client has not continued by itself, the host types that at its prompt. A conversation that no
longer fits is started again. So is a client that was killed, as often as the policy allows; before that the
host ends what the killed client left. A client that keeps no record reports all this by its hooks.
"""

from __future__ import annotations

import contextlib
import glob
import os
import select
import signal
import subprocess
import time
from collections import deque
from functools import partial

from headcount.agents.activity import Doing, Meter
from headcount.agents.client import Seen, add_seen, understand
from headcount.agents.host.failures import describe_code, exit_code
from headcount.agents.host.screen_dialogs import Attendant, Dialogs
from headcount.agents.host.wake import Waker
from headcount.errors import HeadcountError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headcount.agents.client import Client, Setup
    from headcount.agents.host import Processes, Reports, Terminal
    from headcount.agents.host.prompts import Opening

    Child = subprocess.Popen[bytes]

_LOOK_S = 0.5
_EXIT_S = 10.0
_FAILURES = 3  # conversations in a row that do not fit, before it is left as it is
_BY_ITSELF_S = 3.0  # some clients go on by themselves when their limit is over
_TYPE_AGAIN_S = 5.0
_GO_ON = "The usage limit is over. Continue your work."
_SO_FAR = "What you have done so far is in this worktree: look at git status and git log, and at your inbox. "
_ANEW = f"You begin anew: your last conversation no longer fit. {_SO_FAR}"
_KILLED = f"You begin anew: your program was killed in the middle of its work. {_SO_FAR}"
# A person, the terminal or headcount ends a client by these. All others are a crash.
_REQUESTS_TO_END = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


class Follower:
    """Follow one client. `start` begins a conversation with a prompt.

    Reports reach the store in order, and each is retried until it is stored. A busy store or a full disk
    neither ends an agent nor loses a reported limit.
    """

    def __init__(
        self,
        reports: Reports,
        client: Client,
        opening: Opening,
        start: Callable[[str], tuple[Child, Setup]],
        terminal: Terminal,
        processes: Processes,
    ) -> None:
        self._reports = reports
        self._client = client
        self._opening = opening
        self._start = start
        self._terminal = terminal
        self._processes = processes
        self._stopping = False
        self._crashes = 0
        self._lookers = _make_lookers(reports, client, self._terminal)
        self._to_tell: deque[Callable[[], object]] = deque()
        self._troubles: set[str] = set()
        self._turn = Seen()
        self._doing = Doing()
        self._failures = self._limits = 0
        self._times_parked = 0
        self._go_on_at: float | None = None
        self._logged_out = False

    def run(self) -> int:
        """Follow the client until it exits, and return the exit code of the host."""
        # What is typed is meant for the client. A handler, because the client would inherit SIG_IGN.
        for number in (signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, lambda *_: None)
        prompt = self._opening.words()
        while True:
            child, setup = self._start(prompt)
            signal.signal(signal.SIGTERM, partial(self._stop, child))
            if not self._follow(child, setup):
                end_client(child)
                anew = _ANEW
            elif self._may_restart(child.returncode):
                anew = _KILLED
            else:
                return self._leave(child.returncode)
            ended = self._processes.end_rest()
            if ended:
                self._to_tell.append(partial(self._reports.record_rest, ended))
            prompt = anew + self._opening.words()

    def _stop(self, child: Child, *_: object) -> None:
        self._stopping = True
        child.terminate()

    def _may_restart(self, code: int) -> bool:
        """Return whether to start it again: it was killed, and not too often without a turn in between."""
        if self._stopping or code >= 0 or -code in _REQUESTS_TO_END:
            return False
        self._crashes += 1
        failed = partial(self._reports.record_turn, self._turn, code, describe_code(code))
        self._to_tell.append(failed)
        self._turn = Seen()
        return self._crashes <= self._reports.restarts()

    def _leave(self, code: int) -> int:
        if code == 0 or self._stopping:
            return 0
        self._to_tell.append(partial(self._reports.fail, describe_code(code)))
        self._look()
        return exit_code(code)

    def _follow(self, child: Child, setup: Setup) -> bool:
        """Follow one conversation. True at the exit of the client, False to start a new one."""
        lines = RecordLines(self._client, setup, Meter())
        end = os.pidfd_open(child.pid)
        try:
            while True:
                over = _has_ended(child, end)
                self._processes.reap(child.pid)
                fits = self._listen(lines)
                self._look()
                if over or not fits:
                    return over
        finally:
            os.close(end)

    def _listen(self, lines: RecordLines) -> bool:
        """Read the record. False if the conversation no longer fits; the rest of its record is void."""
        for seen in lines.read():
            self._hear(seen)
            if seen.overflow and self._failures < _FAILURES:
                return False
        return True

    def _hear(self, seen: Seen) -> None:
        seen = self._doing.follow(seen)
        if seen.activity:
            self._reports.report_activity(seen.activity)
        self._turn = add_seen(self._turn, seen._replace(activity="", steps=()))
        if seen.turn == "begun":
            self._to_tell.append(self._begin_turn)
        elif seen.turn == "ended" and self._turn != Seen(turn="ended"):
            # The rest of its usage was recorded with each answer.
            self._end_turn(
                self._turn._replace(tokens=seen.tokens, cost_usd=seen.cost_usd, refused=seen.refused)
            )
            self._turn = Seen()
        elif seen.tokens or seen.cost_usd or seen.refused:
            self._to_tell.append(partial(self._reports.record_usage, seen))

    def _end_turn(self, turn: Seen) -> None:
        code = 1 if turn.limit or turn.overflow or turn.login else 0
        self._to_tell.append(partial(self._reports.record_turn, turn, code))
        if turn.limit:
            self._limits += 1
            self._to_tell.append(partial(self._park, turn, self._limits))
        elif turn.login:
            self._to_tell.append(partial(self._tell_login, turn.login))
        elif turn.overflow:
            self._failures += 1
        else:
            self._failures = self._limits = self._crashes = 0
            self._to_tell += (self._opening.answered, self._reports.lift_limit)
            self._to_tell.append(partial(self._tell_login, ""))
            if not self._client.hooked:
                self._to_tell.append(self._reports.end_work)

    # --- what is told, and done

    def _look(self) -> None:
        for act in (self._tell, self._look_at_limit, *self._lookers):
            try:
                act()
            except (HeadcountError, OSError) as error:
                # Once each, when it can be said: the screen is the client's.
                if str(error) not in self._troubles:
                    self._troubles.add(str(error))
                    text = f"What it did could not be followed for a while: {error}"
                    self._to_tell.append(partial(self._reports.warn, text))

    def _tell(self) -> None:
        while self._to_tell:
            self._to_tell[0]()
            self._to_tell.popleft()

    def _tell_login(self, text: str) -> None:
        """Report a login failure once, and its end (`text` is empty)."""
        if text and not self._logged_out:
            self._reports.report_dialog(text, [text])
        elif self._logged_out and not text:
            self._reports.end_dialog()
        self._logged_out = bool(text)

    def _begin_turn(self) -> None:
        self._go_on_at = None
        if not self._client.hooked:
            self._reports.begin_work()

    def _park(self, turn: Seen, count: int) -> None:
        until = self._reports.limit_end(turn.resets_at, count)
        self._reports.park(turn.limit, until)
        self._times_parked += 1
        self._go_on_at = until + _BY_ITSELF_S

    def _look_at_limit(self) -> None:
        """Typed once for each time that it was parked: the next limit may well end at the same moment."""
        if self._go_on_at is None or time.time() < self._go_on_at:
            return
        self._go_on_at = time.time() + _TYPE_AGAIN_S
        if self._terminal.type(_GO_ON, f"limit-{self._times_parked}"):
            self._go_on_at = None


def _make_lookers(reports: Reports, client: Client, terminal: Terminal) -> list[Callable[[], None]]:
    """Return the readers of what only the screen shows."""
    lookers = [Dialogs(reports, client.screen.asks, terminal).look, Waker(reports, terminal).look]
    if client.screen.limit:
        lookers.append(Attendant(reports, client.screen.limit, terminal).look)
    return lookers


class RecordLines:
    """Reads new lines of the client's record, whichever files it keeps it in. `meter` counts their usage."""

    def __init__(self, client: Client, setup: Setup, meter: Meter) -> None:
        self._record = client.record
        self._directory = setup.directory
        self._ends: dict[str, int] = {}
        for path in self._paths():
            with contextlib.suppress(OSError):
                self._ends[path] = os.path.getsize(path)
        self._meter = meter

    def read(self) -> Iterator[Seen]:
        if self._record is None:
            return
        for path in self._paths():
            for line in self._new_lines(path):
                yield self._meter.count(understand(self._record.read, line))

    def _paths(self) -> list[str]:
        if self._record is None:
            return []
        found = glob.glob(self._record.files, root_dir=self._directory, recursive=True)
        return [f"{self._directory}/{path}" for path in sorted(found)]

    def _new_lines(self, path: str) -> list[str]:
        """Return new complete lines of a file; none if it is gone or cannot be read now."""
        try:
            with open(path, "rb") as file:
                file.seek(self._ends.get(path, 0))
                whole, newline, _ = file.read().rpartition(b"\n")
        except OSError:
            return []
        self._ends[path] = self._ends.get(path, 0) + len(whole) + len(newline)
        return whole.decode(errors="replace").split("\n") if whole else []


def _has_ended(child: Child, end: int) -> bool:
    """Wait briefly for the exit, asleep. `Popen.wait` with a limit would wake up 20 times a second."""
    waiting = select.poll()
    waiting.register(end, select.POLLIN)
    waiting.poll(_LOOK_S * 1000)
    return child.poll() is not None


def end_client(child: Child) -> None:
    child.terminate()
    try:
        child.wait(_EXIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
