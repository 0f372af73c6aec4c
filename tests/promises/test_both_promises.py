"""One story for each promise, as a user plays it: commands, git, processes, and an engine that is killed.

The other tiers show the many ways in which this can go wrong; these two show that it goes right.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LIMIT_S = 90.0
SETTINGS = """\
[policy]
answer_timeout_s = 0.5
stop_grace_s = 1.0
exit_grace_s = 0.3
on_escalation = "force-kill"
"""
TEAM = """\
from headcount import Command, Team, Teammate, define_team, define_worker

cy = define_worker("cy", command=["./cy.sh"])
doc = Command(name="c", description="d")[
    Team(team=define_team("crew", [cy]), description="d")[
        Teammate(worker=cy, description="d", prompt="Work."),
    ],
]
"""
# It answers nobody and ignores SIGTERM.
STUBBORN = """\
#!/bin/sh
trap '' TERM
%s
touch "$HEADCOUNT_HOME/ready"
while :; do sleep 0.2; done
"""


class Operator:
    def __init__(self, place: Path) -> None:
        self.repo = place / "repo"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HEADCOUNT_", "GIT_"))}
        who = {
            f"GIT_{role}_{what}": "t@localhost"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        self.env = {**kept, **who, "HOME": str(place), "GIT_CONFIG_GLOBAL": os.devnull}
        self.repo.mkdir()

    @property
    def home(self) -> Path:
        return self.repo / ".headcount"

    def git(self, *words: str, cwd: Path | None = None) -> str:
        command = ["git", *words]
        return subprocess.run(
            command, cwd=cwd or self.repo, env=self.env, check=True, capture_output=True, text=True
        ).stdout

    def headcount(self, *words: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "headcount", *words, "--json"],
            cwd=self.repo, env=self.env, capture_output=True, text=True, timeout=LIMIT_S,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def start(self, script: str) -> None:
        """Start the team `crew`, and wait until its member has run `script`."""
        for name, text in (("headcount.toml", SETTINGS), ("team.py", TEAM), ("cy.sh", STUBBORN % script)):
            (self.repo / name).write_text(text)
        (self.repo / "cy.sh").chmod(0o755)
        (self.repo / "kept.py").write_text("first\n")
        self.git("init", "--quiet", "-b", "main")
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "a team")
        self.headcount("up", "team.py")
        self._wait_until((self.home / "ready").exists)

    def stand_down(self) -> Any:
        """Ask for it, kill the engine in the middle, and ask again."""
        self.headcount("down", "--force", "--no-wait")
        self.kill_engine()
        return self.headcount("down", "--force")

    def kill_engine(self) -> None:
        text = (self.home / "engine.lock").read_text().strip()
        if text:
            try:
                os.kill(int(text), signal.SIGKILL)
            except ProcessLookupError:
                pass  # it ended by itself

    def alive(self) -> list[int]:
        """Every process with a member's environment of this state directory, as /proc has it."""
        wanted = {f"HEADCOUNT_HOME={self.home}".encode(), b"HEADCOUNT_MEMBER=cy"}
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if wanted.issubset((entry / "environ").read_bytes().split(b"\0")):
                        found.append(int(entry.name))
                except OSError:
                    continue  # it ended, or is another user's
        return found

    def _wait_until(self, condition: Any) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.02)


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    operator = Operator(tmp_path.resolve())
    yield operator
    for pid in operator.alive():  # a failed story's own members
        os.kill(pid, signal.SIGKILL)
    if (operator.home / "engine.lock").exists():
        operator.kill_engine()


def test_no_work_is_lost(operator: Operator) -> None:
    operator.start(
        """
echo committed > done.py; git add done.py; git commit --quiet -m work
echo stashed > kept.py; git stash push --quiet -m half
echo staged > staged.py; git add staged.py
echo changed > kept.py
mkdir deep; printf 'never added\\0' > 'deep/a name with spaces'
"""
    )
    report = operator.stand_down()
    assert (report["status"], report["deleted"]) == ("shutdown", True)
    (saved,) = operator.headcount("salvage", "list")
    operator.headcount("salvage", "verify")  # its exit code says that everything is there
    place = operator.repo.parent / "restored"
    operator.headcount("salvage", "restore", saved["ref"], str(place))
    assert (place / "done.py").read_text() == "committed\n"
    assert (place / "kept.py").read_text() == "changed\n"
    assert (place / "deep/a name with spaces").read_bytes() == b"never added\0"
    assert operator.git("diff", "--cached", "--name-only", cwd=place) == "staged.py\n"
    stashes = operator.git("stash", "list", "--format=%H", cwd=place).split()
    assert [operator.git("show", f"{stash}:kept.py", cwd=place) for stash in stashes] == ["stashed\n"]
    assert operator.git("show", "headcount/crew/cy:done.py") == "committed\n"


def test_no_agent_is_left(operator: Operator) -> None:
    operator.start(
        """
# A helper that leaves session and process group, is nobody's child any more, and ignores SIGTERM.
setsid sh -c 'trap "" TERM; while :; do sleep 0.2; done' &
sh -c 'nohup sh -c "trap \\"\\" TERM; while :; do sleep 0.2; done" >/dev/null 2>&1 &'
"""
    )
    assert len(operator.alive()) >= 3
    report = operator.stand_down()
    assert report["status"] == "shutdown"
    assert operator.alive() == []
    assert [line["name"] for line in report["members"] if line["outcome"]] == ["cy"]
