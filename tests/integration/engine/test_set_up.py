"""A new workspace is set up before its member starts: copies, submodules, a command, another directory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.app.adapters import make_workspaces
from headcount.app.member_start import Plan
from headcount.app.members import read_output
from headcount.app.sweep import sweep
from headcount.app.teams import create_team, spawn
from headcount.domain.policy import Policy
from headcount.domain.settings import Agent, Agents, Settings, Workspace
from headcount.errors import UsageError
from headcount.protocol.member import State

from .lab import LIMIT_S, POLITE, QUICK, TEAM, Lab, git


def create(
    lab: Lab, policy: Policy = QUICK, workers: dict[str, Agent] | None = None, **workspace: Any
) -> None:
    lab.create(policy)
    lab.app.settings = Settings(policy, Agents(workers=workers or {}), Workspace(**workspace))


def top(lab: Lab) -> Path:
    return Path(lab.app.home).parent


def output(lab: Lab, name: str) -> str:
    return "".join(read_output(lab.app, name, TEAM))


def wait_output(lab: Lab, name: str, end: str) -> str:
    """Its keeper writes what it prints a moment later."""
    deadline = time.monotonic() + LIMIT_S
    while not (printed := output(lab, name)).endswith(end):
        assert time.monotonic() < deadline, printed[-200:]
        time.sleep(0.02)
    return printed


def ignore(lab: Lab, *patterns: str) -> None:
    (top(lab) / ".gitignore").write_text("".join(f"{pattern}\n" for pattern in patterns))
    git(str(top(lab)), "add", ".gitignore")
    git(str(top(lab)), "commit", "-qm", "ignore")


def test_files_are_copied_and_the_command_runs_before_the_member_starts(lab: Lab) -> None:
    ignore(lab, ".env", "deps/")
    (top(lab) / ".env").write_text("KEY=1\n")
    (top(lab) / ".env").chmod(0o600)
    create(lab, setup="mkdir deps && cp .env deps/made; echo set up $HEADCOUNT_ABOUT", copy=(".env",))
    key = lab.start("ada", f"cat deps/made; touch $HEADCOUNT_HOME/read; {POLITE}").key
    lab.wait_flag("read")
    printed = wait_output(lab, "ada", "set up ada#1\nKEY=1\n")
    assert printed.startswith("$ mkdir deps && cp .env deps/made;")
    assert os.stat(f"{lab.workspace(key)}/.env").st_mode & 0o777 == 0o600
    answer = lab.finish(lab.ask(force=True))
    assert answer["status"] == "shutdown" and answer["deleted"]
    assert answer["members"][0]["salvage"]  # ignored files are saved, wherever they came from


def test_F78_a_start_fails_with_its_setup_and_nothing_is_left(lab: Lab) -> None:
    create(lab, setup="touch half-made; sleep 1000 & echo broken; exit 7")
    member = lab.start("ada")
    assert member.state is State.GONE
    assert member.failure.startswith("Did not set its workspace up: `touch half-made;")
    saved = "refs/headcount/salvage/crew/ada/1"
    assert member.failure.endswith(f"` ended with code 7: broken (what it left is in {saved})")
    assert output(lab, "ada").endswith("broken\n")
    assert git(str(top(lab)), "worktree", "list").count("\n") == 1
    assert git(str(top(lab)), "for-each-ref", "refs/heads", "--format=%(refname:short)") == "main\n"
    assert not list(Path(lab.app.home, "worktrees", TEAM).iterdir())
    assert lab.marked() == []


def test_a_setup_that_hangs_is_ended_at_its_limit(lab: Lab) -> None:
    create(lab, replace(QUICK, checkout_timeout_s=2.0), setup="sleep 1000")
    member = lab.start("ada")
    assert member.failure == "Did not set its workspace up: `sleep 1000` did not end in time"


def test_F92_the_log_has_the_output_of_a_setup_that_still_runs_and_of_one_that_hung(lab: Lab) -> None:
    create(lab, replace(QUICK, checkout_timeout_s=3.0), setup="echo begun; sleep 1000")
    key = spawn(lab.app, TEAM, Plan("ada", command=("bash", "-c", POLITE))).key
    deadline = time.monotonic() + LIMIT_S
    while "begun" not in output(lab, "ada"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert lab.wait_state(key, lambda m: m.state is not State.STARTING).state is State.GONE
    assert output(lab, "ada") == "$ echo begun; sleep 1000\nbegun\n"


def test_F92_a_log_keeps_every_line_about_copies_and_the_beginning_and_end_of_much_output(lab: Lab) -> None:
    missing = tuple(f"missing-{n}" for n in range(20))
    create(lab, setup="yes x | head -c 18000000; echo; echo made", copy=missing)
    lab.start("ada", f"echo works; {POLITE}")
    printed = wait_output(lab, "ada", "\nmade\nworks\n")
    assert all(f"{name} is not in " in printed for name in missing)
    assert len(printed) < 17_000_000


def test_a_setup_that_an_engine_left_is_done_again_by_the_next(lab: Lab) -> None:
    home = Path(os.environ["HOME"])
    home.mkdir(exist_ok=True)
    create(lab, setup="echo once >> $HOME/tries; test -e $HOME/go || sleep 1000")
    key = spawn(lab.app, TEAM, Plan("ada", command=("bash", "-c", POLITE))).key
    deadline = time.monotonic() + LIMIT_S
    while not (home / "tries").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(KeyboardInterrupt), lab.engine:
        raise KeyboardInterrupt  # the engine leaves, and ends the command
    (home / "go").touch()
    lab.drive()
    assert lab.wait_state(key, lambda m: m.state is not State.STARTING).state is State.RUNNING
    assert (home / "tries").read_text() == "once\nonce\n"


def test_a_file_that_git_does_not_ignore_fails_the_start(lab: Lab) -> None:
    (top(lab) / "notes").write_text("untracked\n")
    create(lab, copy=("notes",))
    failure = lab.start("ada").failure
    assert failure == ("Did not copy notes into the workspace: "
                       "git does not ignore it, so the member would have to commit it")  # fmt: skip


def test_a_worker_has_its_own_setup_before_that_of_the_team(lab: Lab) -> None:
    create(lab, workers={"ben": Agent(setup="echo of ben")}, setup="echo of all")
    for name, more in (("ada", {}), ("ben", {}), ("cy", {"setup": "echo of the definition"})):
        lab.start(name, POLITE, **more)
    assert [output(lab, name).split("\n")[1] for name in ("ada", "ben", "cy")] == [
        "of all",
        "of ben",
        "of the definition",
    ]


def test_members_that_share_a_workspace_share_its_setup(lab: Lab) -> None:
    create(lab, setup="echo once >> $HOME/count; sleep 0.3")
    os.makedirs(os.environ["HOME"], exist_ok=True)
    for name in ("ada", "ben"):
        lab.start(name, POLITE, workspace="desk")
    assert Path(os.environ["HOME"], "count").read_text() == "once\n"


def test_without_git_files_are_copied_too(lab_without_git: Lab) -> None:
    lab = lab_without_git
    (top(lab) / ".env").write_text("KEY=1\n")
    create(lab, copy=(".env",), setup="test -f .env")
    key = lab.start("ada").key
    place = Path(lab.workspace(key))
    assert (place / ".env").read_text() == "KEY=1\n"
    assert lab.finish(lab.ask(force=True))["deleted"]
    assert not list(place.parent.iterdir())


def test_submodules_are_initialised(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gitconfig").write_text('[protocol "file"]\n allow = always\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    subprocess.run(["git", "clone", "-q", str(top(lab)), str(tmp_path / "lib")], check=True)
    git(str(top(lab)), "submodule", "--quiet", "add", str(tmp_path / "lib"), "lib")
    git(str(top(lab)), "commit", "-qm", "submodule")
    create(lab, submodules=True)
    member = lab.start("ada")
    assert not member.failure, (member.failure, output(lab, "ada"))
    assert Path(lab.workspace(member.key), "lib/README").exists()


def test_workspaces_can_be_outside_of_the_repository(lab: Lab, tmp_path: Path) -> None:
    create(lab, directory="../elsewhere")
    key = lab.start("ada", f"echo unsaved > notes; touch $HEADCOUNT_HOME/noted; {POLITE}").key
    lab.wait_flag("noted")
    place = Path(lab.workspace(key))
    assert place.parent.parent.parent == tmp_path / "elsewhere"
    assert place.parent.parent.name.startswith("repo-")
    # Whoever stands there stands in no checkout of the user's.
    told = subprocess.run(
        [sys.executable, "-m", "headcount", "status", "--json"],
        cwd=place, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert '"team": "crew"' in told.stdout
    assert sweep(lab.app, dry_run=True)["orphans"] == []
    answer = lab.finish(lab.ask(force=True))
    assert answer["deleted"] and answer["members"][0]["salvage"]
    assert not place.exists()


def test_what_is_left_outside_of_the_repository_is_swept(lab: Lab, tmp_path: Path) -> None:
    create(lab, directory="../elsewhere")
    place = Path(lab.workspace(lab.start("ada").key))
    lab.finish(lab.ask(force=True))
    made = make_workspaces(lab.app).create(TEAM, "ada", 9, {"worktrees": str(place.parent.parent)})
    lab.app.settings = Settings(QUICK)  # it was changed since
    assert [one["workspace"] for one in sweep(lab.app)["ended"]] == [made.path]
    assert not os.path.exists(made.path)


def test_a_directory_in_the_repository_is_refused_before_anything_is_made(lab: Lab) -> None:
    lab.app.settings = Settings(QUICK, workspace=Workspace(directory="inside"))
    with pytest.raises(UsageError) as refused:
        create_team(lab.app, TEAM)
    assert refused.value.code == "wrong-setting"
    with lab.app.store.read() as tx:
        assert tx.team_names() == []
