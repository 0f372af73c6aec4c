"""`headcount client`: what a member of a known client runs as. Started by the engine, not by hand.

In a terminal it starts the client, and follows it (`follow.py`). Otherwise the client is run once for each
turn: at the start, and then whenever there is mail. What woke it is in the prompt; mail counts as read when
the turn that was told about it has ended well, so a turn that fails loses none.

Between two turns nothing of the client is alive, and the member is idle: it costs a sleeping process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from headcount.agents.brief import brief
from headcount.agents.client import Client, Seen, Setup, Turn, add_seen, understand, write_file
from headcount.agents.launch import HEADCOUNT
from headcount.agents.registry import CLIENTS
from headcount.app.mail import inbox, mark_read
from headcount.cli.member import pauses
from headcount.cli.member.opening import Opening
from headcount.cli.member.output import read_lines
from headcount.cli.member.prompts import NOTHING_YET, tell
from headcount.errors import NotAllowed, ProcessError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from headcount.cli.member.call import Call
    from headcount.domain.records import Mail

_FAILURES = 3  # turns in a row that end badly before it gives up
_AGAIN_S = 2.0
_LIMIT_MARGIN_S = 1.0
# The colour tells what a person typed in a terminal from the client's own hint (`runtime/screen_input.py`).
_NO_COLOURS = ("CI", "NO_COLOR")


def client(call: Call) -> int:
    name = call.words.plain[0]
    if name not in CLIENTS:
        raise UsageError(
            f"There is no client {name!r}", f"these are known: {', '.join(CLIENTS)}", code="unknown-agent"
        )
    if not call.caller.is_member or "HEADCOUNT_MARK" not in os.environ:
        raise UsageError(
            "This is what a member runs as", "it is started by the engine",
            (f"Start one with `headcount spawn NAME --agent {name}`",), code="not-a-member",
        )  # fmt: skip
    if not call.words.get("--trusted"):
        raise NotAllowed(
            f"Did not start {CLIENTS[name].title}", "the start does not name a folder that the user trusts",
            ("Stand the member down, and start it again",), code="untrusted-repository",
        )  # fmt: skip
    host = Host(call, CLIENTS[name])
    return host.run_terminal() if call.words.has("--terminal") else host.run_turns()


class Host:
    def __init__(self, call: Call, client: Client) -> None:
        self._call = call
        self._client = client
        self._setup = _setup(call)
        self._env = {**os.environ, **client.prepare(self._setup, os.environ)}
        self._env["PWD"] = os.getcwd()
        self._env["HEADCOUNT_CLIENT_DIRECTORY"] = self._setup.directory
        self._env["PATH"] = f"{_shim(self._setup)}:{self._env.get('PATH', os.defpath)}"
        self._child: subprocess.Popen[bytes] | None = None
        self._begun = False
        self._stopping = False

    # --- in a terminal

    def run_terminal(self) -> int:
        from headcount.cli.member.follow import Follower

        for name in _NO_COLOURS:
            self._env.pop(name, None)
        with open(os.environ["HEADCOUNT_PROMPT_FILE"], encoding="utf-8", errors="replace") as file:
            task = file.read().strip()
        opening = Opening(self._call, task, self._client.hooked)
        return Follower(self._call, self._client, opening, self._start_in_terminal).run()

    def _start_in_terminal(self, prompt: str) -> tuple[subprocess.Popen[bytes], Setup]:
        setup = self._new_session()
        try:
            return subprocess.Popen(self._client.terminal(setup, prompt), env=self._env), setup
        except OSError as error:
            raise _not_started(self._client, error) from error

    # --- turn by turn

    def run_turns(self) -> int:
        signal.signal(signal.SIGTERM, self._stop)
        failures = limits = 0
        while not self._stopping:
            prompt, mail = tell(inbox(self._call.session, unread=True))
            pauses.begin_work(self._call)
            code, seen = self._run_turn(self._next(prompt or NOTHING_YET), mail)
            if self._stopping:
                break
            pauses.record_turn(self._call, seen, code)
            if seen.limit:
                limits += 1
                self._wait_for_limit(seen, limits)
            elif code != 0:
                failures += 1
                self._begun = self._begun and not seen.overflow
                if failures == _FAILURES:
                    return code
                time.sleep(_AGAIN_S * failures)
            else:
                failures = limits = 0
                self._end_turn(mail)
        return 0

    def _next(self, prompt: str) -> Turn:
        """A conversation is gone on with once a turn of it ended well, and for as long as it fits."""
        if self._begun:
            return self._client.next_turn(self._setup, prompt)
        return self._client.first_turn(self._new_session(), prompt)

    def _end_turn(self, mail: list[Mail]) -> None:
        self._begun = True
        mark_read(self._call.session, mail)
        pauses.lift_limit(self._call)
        pauses.end_work(self._call)
        pauses.wait(self._call)

    def _wait_for_limit(self, seen: Seen, limits: int) -> None:
        """As long as the client says; else a little longer each time. Its mail stays unread meanwhile."""
        until = pauses.limit_end(self._call, seen.resets_at, limits)
        pauses.park(self._call, seen.limit, until)
        time.sleep(max(until - time.time(), 0) + _LIMIT_MARGIN_S)

    def _new_session(self) -> Setup:
        import uuid
        from dataclasses import replace

        self._setup = replace(self._setup, session=str(uuid.uuid4()))
        return self._setup

    def _run_turn(self, turn: Turn, mail: list[Mail]) -> tuple[int, Seen]:
        """Its exit code, and what its output said besides; the output goes on to our own."""
        env = {**self._env, pauses.SHOWN: ",".join(one.id for one in mail)}
        try:
            with _as_file(turn.stdin) as prompt:
                self._child = subprocess.Popen(turn.argv, env=env, stdin=prompt, stdout=subprocess.PIPE)
        except OSError as error:
            raise _not_started(self._client, error) from error
        seen = Seen()
        with self._child as child:
            for line in read_lines(child):
                sys.stdout.write(line)
                sys.stdout.flush()
                seen = add_seen(seen, understand(self._client.read_line, line))
        return child.returncode, seen

    def _stop(self, *_: object) -> None:
        """Our own way to exit: the client's first."""
        self._stopping = True
        if self._child is None or self._child.poll() is not None:
            os._exit(0)
        self._child.terminate()


def _as_file(text: str) -> IO[bytes]:
    """A file without a name, read from its beginning: it cannot fill up as a pipe does."""
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it, once the client has it
    file.write(text.encode("utf-8", "surrogateescape"))
    file.seek(0)
    return file


def _setup(call: Call) -> Setup:
    environ, words = os.environ, call.words
    home, member = environ["HEADCOUNT_HOME"], environ["HEADCOUNT_MEMBER"]
    directory = f"{home}/teams/{environ['HEADCOUNT_TEAM']}/clients/{member}-{environ['HEADCOUNT_GENERATION']}"
    os.makedirs(directory, mode=0o700, exist_ok=True)
    return Setup(
        directory, HEADCOUNT, "", words.get("--model") or "", words.get("--permissions") or "edit",
        words.get("--trusted") or "", brief(environ["HEADCOUNT_TEAM"], member),
    )  # fmt: skip


def _shim(setup: Setup) -> str:
    """A directory whose `headcount` is this one, for the member's shell."""
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
