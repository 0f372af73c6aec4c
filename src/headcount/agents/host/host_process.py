"""Run a client as a member, in a terminal or turn by turn.

In a terminal the host starts the client and follows it (`terminal_session.py`). Otherwise it runs the
client once for each turn: at the start, and then whenever there is mail. The prompt holds the mail. Mail
counts as read when the turn that had it in its prompt has ended well, so a turn that fails loses none.

Between two turns no process of the client is alive, and the member is idle: it costs a sleeping process.

A turn that failed may leave processes, among them an agent that still works: a client that re-executed
itself, or its shell commands. The host ends them all before it begins another turn. Two agents of one member
never work in one worktree.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from typing import NamedTuple

from headcount.agents.activity import Doing, Meter
from headcount.agents.client import Client, Seen, Setup, Turn, add_seen, understand, write_file
from headcount.agents.host.failures import Tail, describe, exit_code
from headcount.agents.host.prompts import NOTHING_YET, Opening, brief, tell, with_task
from headcount.agents.host.terminal_session import RecordLines, end_client
from headcount.agents.launch import HEADCOUNT
from headcount.domain.names import SHOWN_MAIL
from headcount.errors import HeadcountError, ProcessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    from headcount.agents.host import Processes, Reports, Terminal
    from headcount.domain.records import Mail

_AGAIN_S = 2.0
_LIMIT_MARGIN_S = 1.0
_LOOK_S = 0.5
# The colour tells what a person typed in a terminal from the client's own hint (`runtime/screen_input.py`).
_NO_COLOURS = ("CI", "NO_COLOR")


class Options(NamedTuple):
    model: str = ""
    permissions: str = "edit"
    trusted: str = ""
    terminal: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask_timeout_s: float = 600


class Host:
    """`options` are those of the start."""

    def __init__(self, reports: Reports, client: Client, options: Options, processes: Processes) -> None:
        self._reports = reports
        self._client = client
        self._processes = processes
        environ = os.environ
        team, member = environ["HEADCOUNT_TEAM"], environ["HEADCOUNT_MEMBER"]
        own = f"{member}-{environ['HEADCOUNT_GENERATION']}"
        directory = f"{environ['HEADCOUNT_HOME']}/teams/{team}/clients/{own}"
        os.makedirs(directory, mode=0o700, exist_ok=True)
        told = brief(team, member)
        self._setup = Setup(
            directory, HEADCOUNT, "", options.model, options.permissions, options.trusted,
            with_task(told, _read_task()) if options.terminal else told, options.allow, options.deny,
            options.ask_timeout_s,
        )  # fmt: skip
        self._env = {**os.environ, **client.prepare(self._setup, os.environ)}
        self._env["PWD"] = os.getcwd()
        self._env["HEADCOUNT_CLIENT_DIRECTORY"] = self._setup.directory
        self._env["PATH"] = f"{_shim(self._setup)}:{self._env.get('PATH', os.defpath)}"
        self._child: subprocess.Popen[bytes] | None = None
        self._doing, self._meter = Doing(), Meter()
        self._begun = False
        self._stopping = False

    # --- in a terminal

    def run_terminal(self, terminal: Terminal) -> int:
        from headcount.agents.host.terminal_session import Follower

        for name in _NO_COLOURS:
            self._env.pop(name, None)
        opening = Opening(self._reports, _read_task())
        start = self._start_in_terminal
        return Follower(self._reports, self._client, opening, start, terminal, self._processes).run()

    def _start_in_terminal(self, prompt: str) -> tuple[subprocess.Popen[bytes], Setup]:
        setup = self._new_session()
        env = {**self._env, **self._processes.begin()}
        try:
            return subprocess.Popen(self._client.terminal(setup, prompt), env=env), setup
        except OSError as error:
            raise _not_started(self._client, error) from error

    # --- turn by turn

    def run_turns(self) -> int:
        signal.signal(signal.SIGTERM, self._stop)
        failures = limits = 0
        while not self._stopping:
            prompt, mail = tell(self._reports.unread())
            self._reports.show(mail)
            self._reports.begin_work()
            code, seen, last = self._run_turn(self._next(prompt or NOTHING_YET), mail)
            if self._stopping:
                break
            cause = describe(code, seen, last)
            if cause or seen.limit:
                self._end_rest()
            self._reports.record_turn(seen, code, cause)
            if seen.limit:
                limits += 1
                # As long as the client says; else a little longer each time. Its mail stays unread
                # meanwhile.
                until = self._reports.limit_end(seen.resets_at, limits)
                self._reports.park(seen.limit, until)
                time.sleep(max(until - time.time(), 0) + _LIMIT_MARGIN_S)
            elif cause:
                failures += 1
                self._begun = self._begun and not seen.overflow
                if failures > self._reports.restarts():
                    self._reports.fail(cause)
                    return exit_code(code)
                time.sleep(_AGAIN_S * failures)
            else:
                failures = limits = 0
                self._begun = True
                self._processes.reap()
                self._reports.mark_read(mail)
                self._reports.lift_limit()
                self._reports.end_work()
                self._reports.wait_for_mail()
        return 0

    def _end_rest(self) -> None:
        ended = self._processes.end_rest()
        if ended:
            self._reports.record_rest(ended)

    def _next(self, prompt: str) -> Turn:
        """Return the next turn. After a successful turn it continues the conversation, while that fits."""
        if self._begun:
            return self._client.next_turn(self._setup, prompt)
        return self._client.first_turn(self._new_session(), prompt)

    def _new_session(self) -> Setup:
        import uuid
        from dataclasses import replace

        self._setup = replace(self._setup, session=str(uuid.uuid4()))
        self._meter = Meter()
        return self._setup

    def _run_turn(self, turn: Turn, mail: list[Mail]) -> tuple[int, Seen, str]:
        """Return the exit code, what the output reported, and its last line that is not a report.

        The output is passed on to our own.
        """
        env = {**self._env, **self._processes.begin(), SHOWN_MAIL: ",".join(one.id for one in mail)}
        pipe = subprocess.PIPE
        try:
            with _as_file(turn.stdin) as prompt:
                self._child = subprocess.Popen(turn.argv, env=env, stdin=prompt, stdout=pipe, stderr=pipe)
        except OSError as error:
            raise _not_started(self._client, error) from error
        return self._follow_turn(self._child)

    def _follow_turn(self, child: subprocess.Popen[bytes]) -> tuple[int, Seen, str]:
        """Read a turn to its end, and report its usage and activity at once: a budget holds in mid-turn."""
        turn = unrecorded = Seen()
        tokens, errors = 0, Tail()
        is_above = False
        self._reports.report_activity(f"starting {self._client.title}")
        with child:
            for seen in map(self._doing.follow, self._read_turn(child, errors)):
                if seen.activity:
                    self._reports.report_activity(seen.activity)
                turn, unrecorded = add_seen(turn, seen), add_seen(unrecorded, seen)
                tokens += seen.tokens
                if unrecorded.tokens or unrecorded.cost_usd or unrecorded.refused:
                    with contextlib.suppress(HeadcountError, OSError):  # then with the next line
                        is_above, unrecorded = self._reports.record_usage(unrecorded), Seen()
                if is_above and self._has_request():
                    turn = turn._replace(tokens=0, cost_usd=0.0, refused="", answered=True)
                    return self._interrupt(child), turn, ""
        rest, answered = unrecorded, turn.answered or (tokens > 0 and not turn.error)
        turn = turn._replace(
            tokens=rest.tokens, cost_usd=rest.cost_usd, refused=rest.refused, answered=answered
        )
        return child.returncode, turn, errors.last_line()

    def _read_turn(self, child: subprocess.Popen[bytes], errors: Tail) -> Iterator[Seen]:
        """Yield the lines of the client's output, and of its record where that knows more."""
        meter, record = self._meter, self._client.record
        meter.begin_turn()
        lines = RecordLines(self._client, self._setup, meter) if record and record.in_turns else None
        for line in read_lines(child, errors.pass_on, _LOOK_S if lines else None):
            sys.stdout.write(line)
            sys.stdout.flush()
            errors.note(line)
            yield meter.count(understand(self._client.read_line, line))
            for seen in lines.read() if lines else ():
                is_whole = record is not None and record.in_turns == "all"
                yield seen if is_whole else Seen(seen.tokens, cost_usd=seen.cost_usd)

    def _has_request(self) -> bool:
        """Return whether the client must answer a request that it cannot read before its turn is over."""
        return not self._client.hooked and any(mail.request_id for mail in self._reports.unread())

    def _interrupt(self, child: subprocess.Popen[bytes]) -> int:
        """End a turn that is above its budget. The next one continues it with the request to stand down."""
        end_client(child)
        self._end_rest()
        return 0

    def _stop(self, *_: object) -> None:
        """End the client first, then exit."""
        self._stopping = True
        if self._child is None or self._child.poll() is not None:
            os._exit(0)
        self._child.terminate()


def _as_file(text: str) -> IO[bytes]:
    """Return an unnamed file at its beginning. Unlike a pipe, it cannot fill up."""
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it, once the client has it
    file.write(text.encode("utf-8", "surrogateescape"))
    file.seek(0)
    return file


def _read_task() -> str:
    with open(os.environ["HEADCOUNT_PROMPT_FILE"], encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def _shim(setup: Setup) -> str:
    """Return a directory whose `headcount` is this program, for the member's shell."""
    import shlex

    path = write_file(
        f"{setup.directory}/bin/headcount", f'#!/bin/sh\nexec {shlex.join(setup.headcount)} "$@"\n'
    )
    os.chmod(path, 0o700)
    return os.path.dirname(path)


def _not_started(client: Client, error: OSError) -> ProcessError:
    return ProcessError(
        f"Did not start {client.title}",
        str(error),
        (f"Install it with `{client.install}`",),
        "client-missing",
    )


# --- output ----------------------------------------------------------------------------------------------
#
# What a client prints in one turn. The turn is over when the client has ended: a process that it left
# running, such as a server, may hold its output open for ever.


_AT_ONCE = 1 << 20  # more than a pipe holds: one read takes all that is there


def read_lines(
    child: subprocess.Popen[bytes], pass_on: Callable[[bytes], None], every_s: float | None = None
) -> Iterator[str]:
    """Yield the lines of its output until it has ended, and an empty text when it is silent for `every_s`.

    `pass_on` gets its standard error as it comes.
    """
    parts: list[bytes] = []  # of a line that is not over: a long one comes in thousands
    for data in _read(child, pass_on, every_s):
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield b"".join([*parts, line]).decode(errors="replace") + "\n"
            parts = []
        parts += [rest] if rest else []
        if every_s and not lines:
            yield ""
    if parts:
        yield b"".join(parts).decode(errors="replace")


def _read(
    child: subprocess.Popen[bytes], pass_on: Callable[[bytes], None], every_s: float | None
) -> Iterator[bytes]:
    assert child.stdout is not None and child.stderr is not None
    output, errors, end = child.stdout.fileno(), child.stderr.fileno(), os.pidfd_open(child.pid)
    waiting = select.poll()
    waiting.register(end, select.POLLIN)
    for fd in (output, errors):
        os.set_blocking(fd, False)
        waiting.register(fd, select.POLLIN)
    ready: dict[int, int] = {}
    try:
        while end not in ready:
            ready = dict(waiting.poll(every_s and every_s * 1000))
            if errors in ready:
                pass_on(_take(errors, waiting))
            yield _take(output, waiting) if output in ready else b""
    finally:
        os.close(end)


def _take(fd: int, waiting: select.poll) -> bytes:
    try:
        data = os.read(fd, _AT_ONCE)
    except BlockingIOError:
        return b""
    if not data:
        waiting.unregister(fd)  # closed: its end is all that is waited for
    return data
