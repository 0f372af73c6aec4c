"""Where a team begins, and what `up` reports of it."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from engine.lab import LIMIT_S, Lab, git

from headcount.app import team_start as up
from headcount.app.app import open_app
from headcount.app.definition import read_definition
from headcount.app.init import set_up, undo
from headcount.app.resident import ensure_driven
from headcount.cli.start_commands import run_up
from headcount.protocol.member import State
from headcount.runtime.processes import Identity, wait_until_gone
from headcount.runtime.reaper import start_time
from tests.support.lab import engine_pid

_TEAM = """\
from headcount import Command, Team, Teammate, define_team, define_worker

ann = define_worker("ann", command=["/bin/sh", "-c", "sleep 1000"])
bob = define_worker("bob", command=["/bin/sh", "-c", "sleep 1000"])
crew = define_team("crew", [ann, bob])
doc = Command(name="x", description="y")[
    Team(team=crew, description="d")[
        Teammate(worker=ann, description="d", prompt="p"),
        Teammate(worker=bob, description="d", prompt="p"),
    ]
]
"""


def kill_engine(home: str) -> int:
    """The one that drives, which is a process of its own."""
    pid = engine_pid(home)
    assert pid != os.getpid()
    engine = Identity(pid, start_time(pid))
    os.kill(pid, signal.SIGKILL)
    assert wait_until_gone([engine], LIMIT_S)
    return pid


def test_F50_up_takes_over_when_its_engine_is_killed(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.stop_driving()
    (tmp_path / "team.py").write_text(_TEAM)
    killed: list[int] = []

    def driven(app: object) -> None:
        ensure_driven(lab.app)
        if not killed:  # the first one, before anybody is started
            killed.append(kill_engine(lab.app.home))

    monkeypatch.setattr(up, "ensure_driven", driven)
    try:
        team = up.start_team(lab.app, read_definition(str(tmp_path / "team.py")))
        assert [m.state for m in team.members.values()] == [State.RUNNING, State.RUNNING]
        assert len(lab.marked()) >= 2
    finally:
        kill_engine(lab.app.home)


def test_F50_up_counts_only_members_that_run(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.stop_driving()
    (tmp_path / "team.py").write_text(_TEAM)
    monkeypatch.chdir(lab.app.root)
    monkeypatch.setattr(up, "ensure_driven", lambda app: None)
    monkeypatch.setattr(up, "start_limit", lambda app, members=1: 0.1)
    assert run_up(argparse.Namespace(file=str(tmp_path / "team.py"), json=False, tmux=False)) == 1
    assert "Started 0 of 2 members." in capsys.readouterr().out


@pytest.fixture
def linked(lab: Lab, tmp_path: Path) -> str:
    """A linked worktree of the user's, one commit ahead of the main checkout."""
    place = str(tmp_path / "linked")
    git(lab.app.root, "worktree", "add", "--quiet", "-b", "feature", place)
    Path(f"{place}/feature").write_text("f\n")
    git(place, "add", "feature")
    git(place, "commit", "--quiet", "-m", "feature")
    return place


def test_F51_members_begin_at_the_commit_that_is_checked_out_where_up_is_called(
    lab: Lab, linked: str, tmp_path: Path
) -> None:
    (tmp_path / "team.py").write_text(_TEAM)
    Path(f"{linked}/uncommitted").write_text("u\n")
    done = subprocess.run(
        [sys.executable, "-m", "headcount", "up", str(tmp_path / "team.py")],
        cwd=linked, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "Your 1 uncommitted file is not included." in done.stdout
    began = git(lab.app.root, "rev-parse", "headcount/crew/ann", "headcount/crew/bob").split()
    assert set(began) == {git(linked, "rev-parse", "HEAD").strip()}
    assert not os.path.exists(f"{linked}/.headcount")


def test_F51_settings_of_the_checkout_where_a_command_is_called_count(lab: Lab, linked: str) -> None:
    Path(f"{linked}/headcount.toml").write_text('[policy]\nmax_waits = 7\nnotify = ["./notify.sh", "-v"]\n')
    Path(f"{lab.app.root}/headcount.toml").write_text("[policy]\nmax_waits = 5\n")
    os.mkdir(f"{linked}/inside")
    there, here = open_app(f"{linked}/inside", {}), open_app(lab.app.root, {})
    assert (there.settings.policy.max_waits, here.settings.policy.max_waits) == (7, 5)
    assert there.home == here.home
    there.close()
    here.close()


def test_F51_settings_in_a_members_workspace_do_not_count(lab: Lab) -> None:
    lab.create()
    lab.start("ann", "printf '[policy]\\nmax_waits = 7\\n' > headcount.toml; touch ready; sleep 1000")
    lab.wait_file("ann#1", "ready")
    app = open_app(lab.workspace("ann#1"), {"HEADCOUNT_HOME": lab.app.home})
    assert app.settings.policy.max_waits != 7
    app.close()


def test_F51_init_writes_into_the_checkout_where_it_is_called(lab: Lab, linked: str) -> None:
    set_up(linked, None, {})
    assert os.path.exists(f"{linked}/headcount.toml")
    assert not os.path.exists(f"{lab.app.root}/headcount.toml")
    set_up(lab.app.root, None, {})
    undo(linked, {})
    assert not os.path.exists(f"{linked}/headcount.toml")
    assert os.path.exists(f"{lab.app.root}/headcount.toml")
    undo(lab.app.root, {})
    assert not os.path.exists(f"{lab.app.root}/headcount.toml")
    assert not os.path.exists(f"{lab.app.home}/init.json")
