"""A start that was cut short may have made a workspace that nothing tells of. It is read all the same."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headcount.app.adapters import LocalFiles
from headcount.domain.policy import Policy
from headcount.engine.job import Job
from headcount.engine.member_acts import perform
from headcount.errors import ProcessError
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.member import Member
from headcount.protocol.team import Team
from headcount.runtime.worker_pool import WorkerPool
from headcount.workspace.git_workspaces import EngineWorkspaces
from headcount.workspace.repository import Repository

ALICE = Member("alice", 1, epoch=3)


@pytest.fixture(params=["git", "no git"])
def workspaces(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    repository = None
    if request.param == "git":
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(tmp_path / "repo")]
        subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
        repository = Repository.open(str(tmp_path / "repo"))
    return EngineWorkspaces(repository, str(tmp_path / "ws"), str(tmp_path / "archive"))


def world_of(workspaces: Any, **adapters: Any) -> Any:
    return SimpleNamespace(home="/nowhere", workspaces=workspaces, files=LocalFiles(), **adapters)


def job(kind: ActKind, workspaces: Any, member: Member = ALICE, runtime: Any = None, **start: Any) -> Job:
    world = cast(
        "Any",
        SimpleNamespace(
            home="/nowhere", runtimes={"plain": runtime}, workspaces=workspaces, files=LocalFiles()
        ),
    )
    team = Team("crew", members={member.key: member})
    return Job(
        Act(kind, member.key, member.epoch), team, Policy(), world, member, start={"mark": "m", **start}
    )


def test_the_last_read_saves_what_stands_in_a_workspace_that_nobody_wrote_down(workspaces: Any) -> None:
    made = workspaces.create("crew", "alice", 1, {})
    Path(made.path, "work.txt").write_text("hours of it")
    outcome = perform(job(ActKind.LAST_READ, workspaces))
    (read,) = outcome.events
    assert isinstance(read, ev.LastRead) and read.ok and read.ref
    assert outcome.facts["alice#1", "workspace"] == made.as_dict()  # so closing removes it


def test_without_one_there_is_nothing_to_read(workspaces: Any) -> None:
    outcome = perform(job(ActKind.LAST_READ, workspaces))
    assert outcome.events == (ev.LastRead("alice#1", 3, True, None),)
    assert not outcome.facts


def test_the_next_generation_is_not_shown_the_workspace_of_the_last(workspaces: Any) -> None:
    workspaces.create("crew", "alice", 1, {})
    assert workspaces.find("crew", "alice", 2, {}) is None


def test_who_shares_a_workspace_finds_the_same_in_any_generation(workspaces: Any) -> None:
    made = workspaces.create("crew", "alice", 1, {"workspace": "docs"})
    second = job(ActKind.LAST_READ, workspaces, Member("bob", 2, epoch=1), workspace="docs")
    assert perform(second).facts["bob#2", "workspace"] == made.as_dict()
    assert "%" not in made.path and "%" not in (made.branch or "")


def test_a_failed_start_leaves_the_workspace_to_those_who_share_it(workspaces: Any, tmp_path: Path) -> None:
    made = workspaces.create("crew", "bob", 1, {"workspace": "docs"})

    def refuse(_: Any) -> None:
        raise ProcessError("Did not start it", "there is no such program")

    start = {"workspace": "docs", "argv": ["agent"], "prompt_file": f"{tmp_path}/prompts/alice.md"}
    outcome = perform(
        job(ActKind.START, workspaces, runtime=SimpleNamespace(start=refuse, cancel=lambda *_: None), **start)
    )
    assert [type(event) for event in outcome.events] == [ev.StartFailed]
    assert os.path.isdir(made.path)
    assert outcome.facts["alice#1", "workspace"] == made.as_dict()


@pytest.mark.parametrize("how", ["create", "find"])
def test_a_worktree_whose_making_was_killed_is_completed(
    how: str, workspaces: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headcount.workspace.worktrees._LOCK_LOOK_S", 0)
    made = workspaces.create("crew", "alice", 1, {})
    if made.git_dir:
        os.unlink(f"{made.git_dir}/headcount.json")
        Path(made.git_dir, "index.lock").touch()  # of a git that was killed with the engine
    again = getattr(workspaces, how)("crew", "alice", 1, {})
    assert replace(again, checkout=made.checkout) == made


def test_a_shared_workspace_of_a_later_team_is_removed_by_whoever_worked_in_it_last(workspaces: Any) -> None:
    made = workspaces.create("crew", "carol", 2, {"workspace": "docs"})
    carol = Member("carol", 1, epoch=1, settled=True)
    team = Team("crew", 2, members={carol.key: carol})
    world = cast(
        "Any",
        SimpleNamespace(home="/nowhere", workspaces=workspaces, files=LocalFiles(), executor=WorkerPool(1)),
    )
    everyone = {
        "start": {carol.key: {"workspace": "docs"}},
        "workspace": {carol.key: made.as_dict()},
        "proof": {},
    }
    act = Act(ActKind.CLOSE_STEP, "", 1, {"step": "workspaces"})
    (ended,) = perform(Job(act, team, Policy(), world, everyone=everyone)).events
    assert isinstance(ended, ev.StepEnded) and ended.ok, ended
    assert not os.path.lexists(made.path)
