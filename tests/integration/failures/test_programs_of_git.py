"""Programs of members and repositories that headcount runs: nothing of them is left, and they are nobody."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine.lab import PATIENT, QUICK, TEAM, Lab, git

from headcount.app.adapters import find_repository, make_commands, make_workspaces
from headcount.domain.settings import Integration
from headcount.workspace.inspection import read_findings
from headcount.workspace.worktrees import Workspaces

from .members import APPROVES, READY, WAIT, start

HEADCOUNT = shlex.join([sys.executable, "-m", "headcount"])


def daemon(tmp_path: Path, name: str, then: str) -> str:
    """A script that leaves a process in a session of its own, notes its pid, and then does its work."""
    script, pids = tmp_path / name, tmp_path / f"{name}.pids"
    leave = f"setsid sh -c 'echo $$ >> {pids}; exec sleep 1000' < /dev/null > /dev/null 2>&1 &"
    script.write_text(f"#!/bin/sh\n{leave}\nwhile [ ! -s {pids} ]; do sleep 0.01; done\n{then}\n")
    script.chmod(0o755)
    return str(script)


def left(tmp_path: Path, name: str) -> list[str]:
    """Those that are alive of the processes that the script has started, of which there was at least one."""
    pids = (tmp_path / f"{name}.pids").read_text().split()
    assert pids
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


def commit(place: str, **files: str) -> None:
    for name, content in files.items():
        Path(f"{place}/{name.replace('__', '.')}").write_text(content)
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "-m", "files")


def test_F5_what_a_filter_starts_during_our_git_status_is_ended(lab: Lab, tmp_path: Path) -> None:
    """The user has configured it before the team began, so headcount runs it."""
    commit(lab.app.root, __gitattributes="*.txt filter=fmt\n", a__txt="a\n")
    git(lab.app.root, "config", "filter.fmt.clean", daemon(tmp_path, "clean", "exec tr A-Z a-z"))
    lab.create(QUICK)
    start(lab, "ann", f"echo B > a.txt; {READY}; {WAIT}")
    assert lab.finish(lab.ask(force=True))["status"] == "shutdown"
    assert left(tmp_path, "clean") == []


@pytest.mark.parametrize("where", ["config", "config --worktree", "config --global"])
def test_F9_filter_that_a_member_configures_is_not_run_by_our_git(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """And what the filter would have hidden from git is saved."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    git(lab.app.root, "config", "--global", "user.name", "T")
    git(lab.app.root, "config", "extensions.worktreeConfig", "true")
    commit(lab.app.root, a__txt="public\n")  # of the same length: else git need not look into it
    lab.create(QUICK)
    ran = tmp_path / "ran"
    hides = f"touch {ran}; git show :a.txt"
    filters = f"echo '*.txt filter=fmt' > .gitattributes; git {where} filter.fmt.clean '{hides}'"
    start(lab, "ann", f"{filters}; echo secret > a.txt; {READY}; {WAIT}")
    lab.finish(lab.ask(force=True))
    assert not ran.exists()
    assert "secret" in git(lab.app.root, "grep", "-h", "secret", f"refs/headcount/salvage/{TEAM}/ann/1")


@pytest.mark.parametrize("before", ["", "tr A-Z a-z"], ids=["added", "changed"])
def test_F9_a_file_that_only_a_members_own_filter_makes_clean_is_saved_and_no_reason_for_a_nudge(
    lab: Lab, before: str
) -> None:
    """For the member's git nothing is left to commit, so a nudge would ask for what it cannot do."""
    commit(lab.app.root, __gitattributes="*.txt filter=fmt\n", a__txt="1\n")
    if before:
        git(lab.app.root, "config", "filter.fmt.clean", before)
    lab.create(PATIENT)
    work = (
        "git config filter.fmt.clean 'tr a-z A-Z' && echo secret > b.txt && git add b.txt && git commit -qm b"
    )
    # Another time: git must read the file, and runs the filter as its settings are where it runs.
    seen = 'touch -d "1 hour ago" b.txt; git --no-optional-locks status --short > "$HEADCOUNT_HOME/seen"'
    start(lab, "ann", f"{work} && {seen} && {APPROVES}")
    answer = lab.finish(lab.ask())
    assert Path(f"{lab.app.home}/seen").read_text() == ""
    assert {entry.data["to"] for entry in lab.journal("moved")} & {"nudged", "escalated"} == set()
    assert (answer["status"], answer["members"][0]["outcome"]) == ("shutdown", "salvaged")
    assert git(lab.app.root, "show", f"{answer['members'][0]['salvage']}:files/b.txt") == "secret\n"


def test_F9_filters_in_a_submodule_are_not_run_by_our_git(lab: Lab, tmp_path: Path) -> None:
    """git status would start another git there, which reads another configuration."""
    inner = tmp_path / "inner"
    inner.mkdir()
    git(str(inner), "init", "--quiet")
    commit(str(inner), a__txt="a\n")
    git(lab.app.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(lab.app.root, "commit", "--quiet", "-m", "submodule")
    lab.create(QUICK)
    ran = tmp_path / "ran"
    got = "git -c protocol.file.allow=always submodule --quiet update --init && cd sub"
    filters = f"echo '*.txt filter=fmt' > .gitattributes && git config filter.fmt.clean 'touch {ran}; cat'"
    start(lab, "ann", f"{got} && {filters} && echo b > a.txt && {READY}; {WAIT}")
    lab.finish(lab.ask(force=True))
    assert not ran.exists()


def merge_in(lab: Lab, **plan: Any) -> tuple[str, ...]:
    """Two branches that change one line, merged as a run merges them."""
    for branch in ("one", "two"):
        git(lab.app.root, "checkout", "--quiet", "-b", branch, "main")
        commit(lab.app.root, list__txt=f"{branch}\n")
    git(lab.app.root, "checkout", "--quiet", "main")
    commit_of_two = git(lab.app.root, "rev-parse", "two").strip()
    return make_workspaces(lab.app).merge("one", commit_of_two, "merge", plan)


def test_F6_what_a_merge_driver_starts_during_our_merge_is_ended(lab: Lab, tmp_path: Path) -> None:
    commit(lab.app.root, __gitattributes="list.txt merge=fmt\n", list__txt="first\n")
    union = 'exec git merge-file -q --union "$1" "$2" "$3"'
    git(lab.app.root, "config", "merge.fmt.driver", f"{daemon(tmp_path, 'driver', union)} %A %O %B")
    repo = find_repository(lab.app)
    assert repo is not None
    assert merge_in(lab, git_config=repo.record_config().as_fact()) == ()
    assert git(lab.app.root, "show", "one:list.txt").split() == ["one", "two"]
    assert left(tmp_path, "driver") == []


def test_F9_merge_driver_that_a_member_configures_is_not_run_by_our_git(lab: Lab, tmp_path: Path) -> None:
    commit(lab.app.root, __gitattributes="list.txt merge=fmt\n", list__txt="first\n")
    repo = find_repository(lab.app)
    assert repo is not None
    recorded = repo.record_config().as_fact()
    git(lab.app.root, "config", "merge.fmt.driver", f"touch {tmp_path}/ran")
    assert merge_in(lab, git_config=recorded) == ("list.txt",)
    assert not (tmp_path / "ran").exists()


def test_F7_what_a_judge_a_finalizer_and_a_sync_command_start_is_ended(lab: Lab, tmp_path: Path) -> None:
    judge = daemon(tmp_path, "judge", "cat > /dev/null; echo '{\"clean\": true}'")
    lab.create(replace(QUICK, judge=(judge,)))
    sync = daemon(tmp_path, "sync", "exit 0")
    lab.app.settings = replace(lab.app.settings, integration=Integration(sync=sync))
    start(lab, "ann", f"{READY}; {WAIT}", finalizers=((daemon(tmp_path, "finalizer", "exit 0"),),))
    assert lab.finish(lab.ask())["status"] == "shutdown"
    assert {name: left(tmp_path, name) for name in ("judge", "sync", "finalizer")} == {
        "judge": [], "sync": [], "finalizer": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        f"{HEADCOUNT} {{words}}",
        f'env -i PATH="$PATH" {HEADCOUNT} {{words}}',
        f'setsid -w env -i PATH="$PATH" sh -c \'{HEADCOUNT} {{words}}; exit "$?"\'',
    ],
    ids=["with its mark", "scrubbed", "scrubbed, in a session of its own"],
)
def test_F8_code_of_members_that_we_run_is_nobody(lab: Lab, call: str) -> None:
    lab.create(QUICK)
    start(lab, "ann")
    commands = make_commands()
    for words in (f"down {TEAM}", "spawn eve true", f"status {TEAM}", "send lead -s s -m m"):
        done = commands.run(call.format(words=words), cwd=lab.app.root, timeout_s=60, together=True)
        assert done.returncode == 5, (words, done.stdout)
        assert "[code-of-a-team]" in done.stdout
    assert set(lab.team().members) == {"ann#1"}
    seen = commands.run(call.format(words=f"status {TEAM}"), cwd=lab.app.root, timeout_s=60, as_operator=True)
    assert (seen.returncode, "ann" in seen.stdout) == (0, True)


def test_F9_private_configuration_is_the_shape_of_now_and_the_programs_of_then(lab: Lab) -> None:
    """A repository whose settings have odd names and values, which the private file must give back."""
    root = lab.app.root
    git(root, "config", 'filter.od"d\\ na.me.clean', ' sed "s/a/\\\\b/" # x; ')
    git(root, "config", "alias.two", "!echo a\n\tb")
    repo = find_repository(lab.app)
    assert repo is not None
    recorded = repo.record_config()
    git(root, "config", "core.autocrlf", "input")
    git(root, "config", "filter.late.clean", "false")
    made = Workspaces(repo.as_recorded(recorded), f"{lab.app.home}/worktrees").create(TEAM, "ann", 1)
    assert made.git_dir is not None
    own = repo.as_recorded(recorded).git.on(made.git_dir, made.path)
    # A command that is not known to be plain sees the private file, and nothing else.
    seen = dict(record.decode().partition("\n")[::2] for record in _list_all(own))
    assert seen['filter.od"d\\ na.me.clean'] == ' sed "s/a/\\\\b/" # x; '
    assert seen["alias.two"] == "!echo a\n\tb"
    assert seen["core.autocrlf"] == "input"
    assert "filter.late.clean" not in seen
    assert read_findings(repo.as_recorded(recorded), made).spotless


def _list_all(git_there: Any) -> list[bytes]:
    alias = ("-c", "alias.shown=!git config --list -z", "shown")
    records: list[bytes] = git_there.run(*alias).records()
    return records
