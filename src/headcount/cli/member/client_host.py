"""`headcount client`: host a known client for a member. The engine starts it.

In a terminal it starts the client and follows it (`follow.py`). Otherwise it runs the client once for
each turn: at the start, and then whenever mail arrives. The prompt contains the mail. Mail counts as read
when its turn has ended well, so a failed turn loses none.

Between two turns no client process is alive, and the member is idle. It costs one sleeping process.
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
from headcount.cli.member import client_reports
from headcount.cli.member.client_output import read_lines
from headcount.cli.member.first_prompt import Opening, with_task
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
            f"There is no client {name!r}", f"known ones: {', '.join(CLIENTS)}", code="unknown-agent"
        )
    if not call.caller.is_member or "HEADCOUNT_MARK" not in os.environ:
        raise UsageError(
            "This command is for the engine", "it hosts a client for a member",
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
        from headcount.cli.member.client_follower import Follower

        for name in _NO_COLOURS:
            self._env.pop(name, None)
        opening = Opening(self._call, _read_task())
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
            client_reports.begin_work(self._call)
            code, seen = self._run_turn(self._next(prompt or NOTHING_YET), mail)
            if self._stopping:
                break
            client_reports.record_turn(self._call, seen, code)
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
        """Return the next turn. After a successful turn it continues the conversation, while that fits."""
        if self._begun:
            return self._client.next_turn(self._setup, prompt)
        return self._client.first_turn(self._new_session(), prompt)

    def _end_turn(self, mail: list[Mail]) -> None:
        self._begun = True
        mark_read(self._call.session, mail)
        client_reports.lift_limit(self._call)
        client_reports.end_work(self._call)
        client_reports.wait(self._call)

    def _wait_for_limit(self, seen: Seen, limits: int) -> None:
        """Wait as long as the client says, else a little longer each time. Its mail stays unread."""
        until = client_reports.limit_end(self._call, seen.resets_at, limits)
        client_reports.park(self._call, seen.limit, until)
        time.sleep(max(until - time.time(), 0) + _LIMIT_MARGIN_S)

    def _new_session(self) -> Setup:
        import uuid
        from dataclasses import replace

        self._setup = replace(self._setup, session=str(uuid.uuid4()))
        return self._setup

    def _run_turn(self, turn: Turn, mail: list[Mail]) -> tuple[int, Seen]:
        """Return the exit code and what the output reported. The output is passed on to our own."""
        env = {**self._env, client_reports.SHOWN: ",".join(one.id for one in mail)}
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


def _setup(call: Call) -> Setup:
    environ, words = os.environ, call.words
    home, member = environ["HEADCOUNT_HOME"], environ["HEADCOUNT_MEMBER"]
    directory = f"{home}/teams/{environ['HEADCOUNT_TEAM']}/clients/{member}-{environ['HEADCOUNT_GENERATION']}"
    os.makedirs(directory, mode=0o700, exist_ok=True)
    told = brief(environ["HEADCOUNT_TEAM"], member)
    return Setup(
        directory, HEADCOUNT, "", words.get("--model") or "", words.get("--permissions") or "edit",
        words.get("--trusted") or "", with_task(told, _read_task()) if words.has("--terminal") else told,
    )  # fmt: skip


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
