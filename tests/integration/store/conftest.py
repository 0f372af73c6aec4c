"""A state directory with an open team, and the installed command run as one of its members."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from headcount.ports import Identity, Task
from headcount.protocol.member import State
from headcount.store.sqlite import SqliteStore
from tests.support.store_suite import add_members, make_team

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headcount.protocol.team import Team

COMMAND = os.path.join(os.path.dirname(sys.executable), "headcount")


class World:
    """The team `review`: alice and bob work, rita reviews, boss leads. Their tokens are `token-<name>`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.store = SqliteStore(str(home))
        with self.store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            team = add_members(tx, team, "rita", role="spec-reviewer")
            self.team = add_members(tx, team, "boss", role="lead")
            for member in self.team.members.values():
                tx.add_token(Identity(self.team.id, member.key, member.role), f"token-{member.name}")

    def env(self, name: str | None, **more: str) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("HEADCOUNT_")}
        env["HEADCOUNT_HOME"] = str(self.home)
        if name is not None:
            env |= {
                "HEADCOUNT_TEAM": "review",
                "HEADCOUNT_MEMBER": name,
                "HEADCOUNT_GENERATION": "1",
                "HEADCOUNT_TOKEN": f"token-{name}",
            }
        return env | more

    def run(self, name: str | None, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *words],
            env=self.env(name, **more),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def json(self, name: str | None, *words: str, **more: str) -> Any:
        return json.loads(self.run(name, *words, "--json", **more).stdout)

    def start(self, name: str, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen([COMMAND, *words], env=self.env(name), stdout=subprocess.PIPE, text=True)

    def change(self, name: str, **changes: Any) -> Team:
        """Change a member as a step would have."""
        with self.store.write() as tx:
            team = tx.load_team("review")
            assert team is not None
            member = replace(team.members[f"{name}#1"], **changes)
            after = replace(team, members={**team.members, member.key: member})
            tx.save_team(team, after)
        return after

    def add_task(self, task_id: str, **more: Any) -> None:
        with self.store.write() as tx:
            tx.add_task(Task(task_id, self.team.id, f"subject of {task_id}", **more))

    def ask(self, name: str, request: str = "r1") -> None:
        self.change(name, state=State.ASKED, ask=request, request=request, answer=None)

    def inputs(self) -> list[Any]:
        with self.store.write() as tx:
            return tx.take_inputs(self.team.id)

    def inbox(self, *boxes: str) -> list[Any]:
        with self.store.read() as tx:
            return tx.inbox(self.team.id, boxes)

    def notes(self, kind: str) -> list[Any]:
        with self.store.read() as tx:
            return [(e.about, e.data) for e in tx.journal(self.team.id, kinds=[kind])]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / ".headcount")
    yield world
    world.store.close()
