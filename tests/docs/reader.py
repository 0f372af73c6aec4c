"""A reader who does what a page says, in a shell, and compares what comes out."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .pages import Block, read_blocks
from .shown import fits

# A reader takes a second to type. Commands at the end of a block that only look are asked again until that
# long has passed: what is done by then is done by others, the engine and the members.
_LOOKS = re.compile(
    r"headcount (status|witness findings|escalations|logs) |git (log|show|worktree list|-C)|cat [^<>]*$"
    r"|timeout 5 headcount serve "
)
_PATIENCE_S = 60.0
_LIMIT_S = 100
# On the pages members have seconds, for a reader who waits for those that do not answer. Those that do may be
# slow here: how long each limit is stands on no page, but in the settings that it shows.
_LIMITS = {"HEADCOUNT_POLICY_ANSWER_TIMEOUT_S": "8", "HEADCOUNT_POLICY_NUDGE_TIMEOUT_S": "4"}


class Reader:
    """A shell whose directory stays between blocks."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cwd = str(home)
        self.page = ""
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("HEADCOUNT_")},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HEADCOUNT_POLICY_CONTAINMENT": "subreaper",  # what every machine can do, and the pages show
            "HOME": str(home),
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
            "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        (home / ".gitconfig").write_text(
            "[user]\n name = You\n email = you@example.org\n[init]\n defaultBranch = main\n"
        )

    def follow(self, page: Path) -> None:
        self.page = page.name
        self.env |= _LIMITS
        self.follow_blocks(read_blocks(page))

    def follow_blocks(self, blocks: list[Block]) -> None:
        for block, after in zip(blocks, [*blocks[1:], None], strict=True):
            if block.file:
                (Path(self.cwd) / block.file).write_text(block.text)
            elif block.language == "bash":
                self.do(block, after if after and after.language == "text" else None)

    def do(self, block: Block, shown: Block | None) -> None:
        """Run it, and hold what it printed on standard output against what the page shows."""
        if shown is None:
            done = self.run(block.text)
            assert done.returncode == 0, f"{self.page}:{block.line}\n{done.stdout}{done.stderr}"
            return
        acts, looks = _without_looks(block.text)
        first = self.run(acts)
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            done = self.run(looks)
            if fits(shown.text, first.stdout + done.stdout, str(self.home)):
                return
            if not looks or time.monotonic() > deadline:
                printed = first.stdout + done.stdout + first.stderr + done.stderr
                pytest.fail(f"{self.page}:{shown.line} shows\n{shown.text}\nand this was printed:\n{printed}")
            time.sleep(0.2)

    def run(self, commands: str) -> subprocess.CompletedProcess[str]:
        remember = f"\ncode=$?; pwd > {shlex.quote(str(self.home / '.cwd'))}; exit $code"
        done = subprocess.run(
            ["bash", "-c", commands + remember],
            cwd=self.cwd, env=self.env, capture_output=True, text=True, timeout=_LIMIT_S,
        )  # fmt: skip
        self.cwd = (self.home / ".cwd").read_text().strip()
        return done

    def leave_nothing(self) -> None:
        """Whatever a page that failed has left running is stood down."""
        for home in self.home.rglob(".headcount"):
            for team in json.loads(self._headcount(home, "status", "--json") or "[]"):
                self._headcount(home, "down", team["team"], "--force")

    def _headcount(self, home: Path, *words: str) -> str:
        command = [sys.executable, "-m", "headcount", *words]
        env = {**self.env, "HEADCOUNT_HOME": str(home)}
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=_LIMIT_S).stdout


def _without_looks(commands: str) -> tuple[str, str]:
    """What it does, and how it looks at the end at what came of that."""
    lines = commands.splitlines()
    end = len(lines)
    while end and _LOOKS.match(lines[end - 1] + " "):
        end -= 1
    return "\n".join(lines[:end]), "\n".join(lines[end:])
