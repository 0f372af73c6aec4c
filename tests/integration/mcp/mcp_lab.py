"""A repository with a state directory, servers on it as real processes, and members with or without one."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from headcount.app.app import App, open_app
from headcount.app.standing_down import stand_down
from headcount.ports import Entry, Identity
from tests.support.lab import IDENTITY, end_engine, end_everything, make_repository
from tests.support.store_suite import add_members

TEAM = "crew"
HEADCOUNT = [sys.executable, "-m", "headcount"]
QUICK = {
    "HEADCOUNT_POLICY_ANSWER_TIMEOUT_S": "60",
    "HEADCOUNT_POLICY_EXIT_GRACE_S": "0.3",
    "HEADCOUNT_POLICY_STOP_GRACE_S": "4",
}
LIMIT_S = 60.0


class Result(NamedTuple):
    failed: bool
    data: dict[str, Any]
    text: str

    @property
    def error(self) -> dict[str, Any]:
        assert self.failed, self.data
        return self.data["error"]  # type: ignore[no-any-return]


class Server:
    """`headcount mcp` on pipes, spoken to by hand: one request, one answer."""

    def __init__(self, command: list[str], cwd: str, env: Mapping[str, str]) -> None:
        pipes: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        self.process = subprocess.Popen(command, cwd=cwd, env=dict(env), **pipes)
        self._last = 0

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        self._last += 1
        self.write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params or {}})
        answer = self.read()
        assert answer["id"] == self._last
        return answer

    def call(self, tool: str, /, **arguments: Any) -> Result:
        return self.call_with(tool, arguments)

    def call_with(self, tool: str, arguments: Any) -> Result:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return Result(result["isError"], result["structuredContent"], result["content"][0]["text"])

    def ok(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        result = self.call(tool, **arguments)
        assert not result.failed, result.text
        return result.data

    def write(self, message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.close()
        return json.loads(line)  # type: ignore[no-any-return]

    def close(self) -> str:
        """End its input, wait for it, and give what it wrote to standard error."""
        _, said = self.process.communicate(timeout=LIMIT_S)
        return said.decode()


class Lab:
    def __init__(self, place: str, env: dict[str, str]) -> None:
        self.place = place
        self.env = env
        self.app: App = open_app(place, env)
        self._servers: list[Server] = []

    @property
    def home(self) -> str:
        return self.app.home

    def server(self, env: Mapping[str, str] | None = None) -> Server:
        server = Server([*HEADCOUNT, "mcp"], self.place, env or self.env)
        self._servers.append(server)
        return server

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> Any:
        """A `headcount` command with --json; its answer."""
        done = subprocess.run(
            [*HEADCOUNT, *words, "--json"], cwd=self.place, env=dict(env or self.env), capture_output=True,
            text=True, timeout=LIMIT_S,
        )  # fmt: skip
        return json.loads(done.stdout)

    def add_team(self, name: str = TEAM) -> None:
        from headcount.app.teams import create_team

        create_team(self.app, name, environ=self.env)

    def add_member(self, name: str, role: str = "worker", team: str = TEAM) -> dict[str, str]:
        """A member in the books, with a token and no process; the environment that makes a caller it."""
        token = secrets.token_urlsafe(24)
        with self.app.store.write() as tx:
            found = add_members(tx, self.app.load(tx, team), name, role=role)
            member = found.latest(name)
            assert member is not None
            tx.add_token(Identity(found.id, member.key, role), token)
        return {
            **self.env, "HEADCOUNT_HOME": self.home, "HEADCOUNT_TEAM": team, "HEADCOUNT_MEMBER": name,
            "HEADCOUNT_GENERATION": str(member.generation), "HEADCOUNT_TOKEN": token,
            "HEADCOUNT_MARK": f"test.{name}",
        }  # fmt: skip

    def journal(self, *kinds: str, team: str = TEAM) -> list[Entry]:
        with self.app.store.read() as tx:
            return tx.journal(self.app.load(tx, team).id, kinds=kinds or None)

    def wait(self, condition: Callable[[], Any]) -> Any:
        """What `condition` gives once it gives something."""
        deadline = time.monotonic() + LIMIT_S
        while not (seen := condition()):
            assert time.monotonic() < deadline, "it did not happen in time"
            self.app.store.wait(f"team/{TEAM}", 0.2)
        return seen

    def close(self) -> None:
        for server in self._servers:
            if server.process.poll() is None:
                server.close()
        end_everything(self.app)
        end_engine(self.home)
        self.app.close()


@contextmanager
def make_lab(place: str, home: str) -> Iterator[Lab]:
    make_repository(place)
    os.makedirs(home)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HEADCOUNT_", "GIT_"))}
    env = {
        **kept,
        **IDENTITY,
        **QUICK,
        "HOME": home,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    lab = Lab(place, env)
    try:
        yield lab
    finally:
        lab.close()


def ask(lab: Lab, *names: str) -> str:
    """A stand-down of the whole team, asked for by the operator without an engine; its request id."""
    report = stand_down(lab.app, TEAM, names or None, "Task complete")
    return str(report["requestId"])


def member(lab: Lab, key: str) -> Any:
    """As the rules see it after they heard everything that was said."""
    return lab.app.apply(TEAM).team.members[key]
