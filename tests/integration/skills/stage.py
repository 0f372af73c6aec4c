"""A live team on which the commands of the generated pages are carried out, each by whom it is meant for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from engine.lab import PATIENT, POLITE, TEAM, Lab, environment_of

from headcount.domain.settings import Agent, Agents, Settings
from headcount.mcp_server.tool_calls import ToolCaller
from headcount.protocol.member import Member, State

BLOCK = re.compile(r"^```(bash|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)
STUBS = ("worker", "spec-reviewer", "code-quality-reviewer")
SETTINGS = "[agents]\n" + "".join(f"[agents.{n}]\ncommand = ['bash', '-c', '{POLITE}']\n" for n in STUBS)


class Step(NamedTuple):
    """One command or one JSON of a page."""

    kind: str
    text: str


def steps(page: str) -> Iterator[Step]:
    for kind, body in BLOCK.findall(page):
        if kind == "json":
            yield Step(kind, body)
        else:
            yield from (Step(kind, line) for line in body.splitlines())


class Stage:
    def __init__(self, lab: Lab, **policy: Any) -> None:
        self.lab = lab
        self.names: dict[str, str] = {"team": TEAM, "model": "haiku"}
        Path(lab.app.root, "headcount.toml").write_text(SETTINGS)
        lab.create(replace(PATIENT, **policy))
        stubs = {name: Agent(command=("bash", "-c", POLITE)) for name in STUBS}
        lab.app.settings = Settings(policy=lab.app.settings.policy, agents=Agents(workers=stubs))

    def member(self, name: str, **more: Any) -> Member:
        member = self.lab.start(name, **more)
        assert member.state is State.RUNNING, member
        return member

    def environment(self, key: str) -> dict[str, str]:
        env = environment_of(self.lab.app, key)
        return {**env, "PATH": f"{os.path.dirname(sys.executable)}:{env['PATH']}"}

    def filled(self, text: str) -> str:
        """With the names of this team. What is left between angle brackets is a text of one's own."""
        for name, value in self.names.items():
            text = text.replace(f"<{name}>", value)
        return re.sub(r"<([a-z][a-z' ]+)>", r"\1", text)

    def shell(self, line: str, who: str | None, cwd: str | None = None) -> subprocess.CompletedProcess[str]:
        env = self.environment(who) if who else _operator()
        return subprocess.run(
            ["bash", "-c", self.filled(line)], env=env, cwd=cwd or self.lab.app.root, capture_output=True,
            text=True, timeout=60,
        )  # fmt: skip

    def call(self, step: dict[str, Any], who: str | None) -> dict[str, Any]:
        session = ToolCaller(self.environment(who) if who else _operator(), self.lab.app.root)
        try:
            answer = session.call(step)
        finally:
            session.close()
        assert not answer["isError"], answer["content"]
        content: dict[str, Any] = answer["structuredContent"]
        return content

    def wait(self, key: str, condition: Callable[[Member], bool]) -> None:
        self.lab.wait_state(key, condition)


def _operator() -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("HEADCOUNT_")}
    return {**env, "PATH": f"{os.path.dirname(sys.executable)}:{env['PATH']}"}
