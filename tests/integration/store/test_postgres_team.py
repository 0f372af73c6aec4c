"""A team on one machine whose state is in PostgreSQL, as a user plays it; engine and database are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.lab import IDENTITY, end_engine, engine_pid, make_repository
from tests.support.postgres import Cluster

LIMIT_S = 90.0
PASSWORD = "s3cret"  # the server asks for none, so it is only given
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
ada = define_worker("ada", command=["./ada.sh"])
doc = Command(name="c", description="d")[
    Team(team=define_team("crew", [cy, ada]), description="d")[
        Teammate(worker=cy, description="d", prompt="Work."),
        Teammate(worker=ada, description="d", prompt="Work."),
    ],
]
"""
# It answers nobody and ignores SIGTERM.
CY = """\
#!/bin/sh
trap '' TERM
echo unsaved > work.py
touch "$HEADCOUNT_HOME/ready"
while :; do sleep 0.2; done
"""
# It speaks through the command, and leaves when it is asked to.
ADA = """\
#!/bin/sh
%s -m headcount send lead -s here -m "here I am" >"$HEADCOUNT_HOME/sent" 2>&1
touch "$HEADCOUNT_HOME/spoken"
while :; do sleep 0.2; done
"""


class Operator:
    def __init__(self, place: Path, database: str) -> None:
        self.repo = place / "repo"
        self.home = self.repo / ".headcount"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HEADCOUNT_", "GIT_", "PG"))}
        url = database.replace("@", f":{PASSWORD}@", 1)
        self.env = {**kept, **IDENTITY, "HOME": str(place), "GIT_CONFIG_GLOBAL": os.devnull}
        self.env["HEADCOUNT_DATABASE"] = url
        make_repository(self.repo)
        files = {"headcount.toml": SETTINGS, "team.py": TEAM, "cy.sh": CY, "ada.sh": ADA}
        for name, text in files.items():
            (self.repo / name).write_text(text % sys.executable if name == "ada.sh" else text)
            (self.repo / name).chmod(0o755)
        for words in ("add .", "commit --quiet -m team"):
            subprocess.run(["git", "-C", self.repo, *words.split()], check=True, env=self.env)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "headcount", *words, "--json"],
            cwd=self.repo, env=self.env, capture_output=True, text=True, timeout=LIMIT_S,
        )  # fmt: skip

    def headcount(self, *words: str) -> Any:
        done = self.run(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)

    @property
    def engine(self) -> int:
        return engine_pid(self.home)

    def processes(self) -> dict[int, bytes]:
        """Environment and command line of every process of this state directory."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    environ = (entry / "environ").read_bytes()
                    if f"HEADCOUNT_HOME={self.home}".encode() in environ.split(b"\0"):
                        found[int(entry.name)] = environ + (entry / "cmdline").read_bytes()
        return found

    def alive(self) -> set[int]:
        """The processes of members."""
        return {pid for pid, text in self.processes().items() if b"HEADCOUNT_MEMBER=" in text}


def wait_until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server that this test may kill."""
    cluster = Cluster()
    yield cluster
    cluster.close()


@pytest.fixture
def operator(tmp_path: Path, cluster: Cluster) -> Iterator[Operator]:
    operator = Operator(tmp_path.resolve(), cluster.url())
    yield operator
    end_engine(operator.home)
    for pid in operator.alive():
        os.kill(pid, signal.SIGKILL)


def test_H12_a_database_and_an_engine_that_are_killed_cost_nobody_anything(
    operator: Operator, cluster: Cluster
) -> None:
    operator.headcount("up", "team.py")
    wait_until(lambda: (operator.home / "ready").exists() and (operator.home / "spoken").exists())
    assert not (operator.home / "state.db").exists()
    assert "lead" in (operator.home / "sent").read_text()
    engine, members = operator.engine, operator.alive()
    assert not any(PASSWORD.encode() in text for text in operator.processes().values())

    cluster.kill()
    log = operator.home / "engine.log"
    operator_says = operator.run("status")
    assert operator_says.returncode == 4 and "database-away" in operator_says.stdout
    os.kill(engine, 0)
    cluster.start()
    operator.headcount("send", "cy", "-s", "still", "-m", "there?")
    [status] = operator.headcount("status", "crew")
    assert {m["state"] for m in status["members"]} == {"running"} and operator.engine == engine

    operator.headcount("down", "crew", "--force", "--no-wait")
    wait_until(lambda: not (operator.alive() >= members))  # it has begun
    cluster.kill()
    os.kill(engine, signal.SIGKILL)
    cluster.start()
    report = operator.headcount("down", "crew", "--force")
    assert (report["status"], report["deleted"]) == ("shutdown", True), log.read_text()
    assert operator.alive() == set()
    saved = operator.headcount("salvage", "list")
    assert any("cy" in one["ref"] for one in saved)
    operator.headcount("salvage", "verify")
    kinds = [kind for (kind,) in cluster.execute("select kind from headcount.journal order by seq")]
    assert kinds.count("member_gone") <= 2 and "quarantined" not in kinds
    written = [str(row) for row in cluster.execute("select * from headcount.journal")]
    written += [operator.run("status", "crew").stdout, operator_says.stdout, log.read_text()]
    assert not any(PASSWORD in text for text in written)
    starts = cluster.execute("select count(*) from headcount.members")
    assert starts == [(2,)]  # nobody was started a second time
