"""The engine takes checkpoints of living members, and what a member destroys comes back."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.agents.client import Seen
from headcount.app.caller import OPERATOR, Caller
from headcount.app.hosting import MemberReports
from headcount.app.member_checkpoints import list_checkpoints, restore_checkpoint, show_checkpoint
from headcount.app.members import pause
from headcount.app.page import read_member
from headcount.app.report import read_report
from headcount.app.retention import DAY_S, Kept, Retention, choose, find_kept
from headcount.app.witness import nudge
from headcount.cli import main
from headcount.domain.policy import Policy
from headcount.errors import Declined, HeadcountError, NotAllowed, UsageError
from headcount.protocol.member import State
from headcount.workspace.safe_files import exclusive

from .lab import LIMIT_S, PATIENT, QUICK, TEAM, Lab, environment_of, git

OFTEN = replace(PATIENT, checkpoint_s=0.2)
SELDOM = replace(PATIENT, checkpoint_s=1000)
# Files of all kinds: committed on its branch, changed, staged, untracked, in a directory, with odd bytes.
WORK = r"""
printf 'committed\n' > committed.txt; git add committed.txt; git commit -qm mine
printf 'line\r\nends\r\n' > a.txt
printf 'staged\n' > staged.txt; git add staged.txt
mkdir -p src/deep; printf '\000\377raw' > src/deep/raw.bin; printf 'untracked\n' > src/new.txt
ln -s nowhere src/link; printf '#!/bin/sh\n' > src/tool; chmod +x src/tool
touch "$HEADCOUNT_HOME/$HEADCOUNT_MEMBER-wrote"
while [ ! -e "$HEADCOUNT_HOME/destroy" ]; do sleep 0.02; done
"""
WAYS = {
    "reset": "git reset -q --hard HEAD~1; rm -rf src",
    "clean": "git rm -q --cached staged.txt; git clean -fdxq; git checkout -q -- .",
    "checkout": "git checkout -qf --orphan other; git rm -rfq .; git clean -fdxq",
    "remove": "rm -rf src *.txt",
    "rebase": "git add -A; git commit -qm all; git rebase -q --onto HEAD~2 HEAD",  # drops both commits
}


def points(lab: Lab, member: str) -> list[dict[str, Any]]:
    try:
        return [point for store in list_checkpoints(lab.app, member) for point in store["points"]]
    except UsageError:
        return []


def wait(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + LIMIT_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.05)
    return found


def read_files(top: str) -> dict[str, tuple[int, bytes]]:
    found = {}
    for path in sorted(Path(top).rglob("*")):
        name = str(path.relative_to(top))
        if (path.is_symlink() or path.is_file()) and name != ".git":
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            found[name] = (path.lstat().st_mode & 0o111, content)
    return found


def test_F66_an_agent_that_destroys_its_work_in_five_ways_gets_it_back_byte_for_byte(
    lab: Lab, tmp_path: Path
) -> None:
    lab.create(OFTEN)
    home = lab.app.home
    for name, way in WAYS.items():
        lab.start(name, f'{WORK}\n{way}\ntouch "$HEADCOUNT_HOME/{name}-destroyed"\nsleep 1000')
    before, at = {}, {}
    for name in WAYS:
        lab.wait_flag(f"{name}-wrote")
        before[name] = read_files(lab.workspace(f"{name}#1"))
        wrote = os.stat(f"{home}/{name}-wrote").st_mtime
        # Two later ones at least could be taken: the last is older than `checkpoint_s`.
        wait(lambda name=name: points(lab, name), f"a checkpoint of {name}")
        wait(lambda wrote=wrote: time.time() > wrote + 3 * OFTEN.checkpoint_s, "time")
    for name in WAYS:
        newest = wait(lambda name=name: _whole(lab, name, before[name], tmp_path), f"all of {name}")
        at[name] = newest
    Path(home, "destroy").touch()
    for name in WAYS:
        lab.wait_flag(f"{name}-destroyed")
        assert read_files(lab.workspace(f"{name}#1")) != before[name], name
        wait(lambda name=name: points(lab, name)[-1]["id"] != at[name], f"a later checkpoint of {name}")
        restore_checkpoint(lab.app, name, at[name], into=str(tmp_path / name))
        assert read_files(str(tmp_path / name)) == before[name], name


def _whole(lab: Lab, name: str, before: dict[str, Any], tmp_path: Path) -> str | None:
    """The newest checkpoint, once it was taken after the member wrote everything."""
    newest = str(points(lab, name)[-1]["id"])
    target = str(tmp_path / f"try-{time.monotonic_ns()}")
    restore_checkpoint(lab.app, name, newest, into=target)
    return newest if read_files(target) == before else None


def test_an_interval_of_zero_takes_none(lab: Lab) -> None:
    lab.create(replace(QUICK, checkpoint_s=0))
    lab.start("ada", "echo x > x; touch $HEADCOUNT_HOME/ready; sleep 1000")
    lab.wait_flag("ready")
    lab.finish(lab.ask(force=True))
    assert list_checkpoints(lab.app) == []
    assert not os.path.exists(f"{lab.app.home}/checkpoints")


def test_one_is_taken_before_a_nudge_and_before_a_pause(lab: Lab) -> None:
    lab.create(SELDOM)
    lab.start("ada", "echo x > x; touch $HEADCOUNT_HOME/ready; sleep 1000")
    lab.wait_flag("ready")
    nudge(lab.app, "ada", "look again")
    assert [p["why"] for p in points(lab, "ada")] == ["before a nudge"]
    Path(lab.workspace("ada#1"), "y").write_text("y")
    pause(lab.app, "ada")
    assert [p["why"] for p in points(lab, "ada")] == ["before a nudge", "before a pause"]


def test_one_is_taken_before_each_turn_of_a_client_but_the_first(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create(SELDOM)
    lab.start("ada", "touch $HEADCOUNT_HOME/ready; sleep 1000")
    lab.wait_flag("ready")
    work, operator = Path(lab.workspace("ada#1"), "work"), lab.app.caller
    lab.app.caller = Caller("worker", "ada#1", f"{TEAM}#1")
    for name, value in environment_of(lab.app, "ada#1").items():
        if name.startswith("HEADCOUNT_"):
            monkeypatch.setenv(name, value)
    reports = MemberReports(lab.app)
    for turn in range(3):
        reports.begin_work()
        work.write_text(f"of turn {turn}\n")
        reports.record_turn(Seen(), 0)
    lab.app.caller = operator
    taken = points(lab, "ada")
    assert [point["why"] for point in taken] == ["before a turn", "before a turn"]
    assert "+of turn 0" in show_checkpoint(lab.app, taken[0]["id"])["diff"]
    assert "+of turn 1" in show_checkpoint(lab.app, taken[1]["id"])["diff"]


def test_F85_a_store_that_cannot_be_read_hides_no_other(lab: Lab) -> None:
    lab.create(SELDOM)
    for name in ("ada", "ben"):
        lab.start(name, f"echo x > x; touch $HEADCOUNT_HOME/{name}; sleep 1000")
        lab.wait_flag(name)
        nudge(lab.app, name, "look again")
    broken, whole = list_checkpoints(lab.app)
    (ref,) = (path for path in Path(broken["path"], "refs").rglob("*") if path.is_file())
    ref.write_text("garbage\n")
    rows = list_checkpoints(lab.app)
    assert [bool(row["failed"]) for row in rows] == [True, False]
    assert rows[1]["points"] == whole["points"]
    assert read_report(lab.app, TEAM)


def test_one_that_is_being_taken_does_not_replace_the_one_before_a_pause(lab: Lab) -> None:
    lab.create(SELDOM)
    lab.start("ada", "echo x > x; touch $HEADCOUNT_HOME/ready; sleep 1000")
    lab.wait_flag("ready")
    nudge(lab.app, "ada", "look again")
    store = Path(list_checkpoints(lab.app, "ada")[0]["path"])
    with ThreadPoolExecutor() as pool:
        with exclusive(str(store / "lock")):
            Path(lab.workspace("ada#1"), "y").write_text("y")
            paused = pool.submit(pause, lab.app, "ada")
            time.sleep(0.5)
            assert not paused.done()
        assert paused.result()["confirmed"]
    assert [p["why"] for p in points(lab, "ada")] == ["before a nudge", "before a pause"]


def test_F117_a_checkpoint_that_is_due_during_a_long_checkout_does_not_fail_the_start(lab: Lab) -> None:
    home = Path(lab.app.home)
    wait_there = f"touch {home}/in-checkout; until [ -e {home}/go ]; do sleep 0.02; done; cat"
    git(lab.app.root, "config", "filter.slow.smudge", wait_there)
    Path(lab.app.root, ".gitattributes").write_text("slow.txt filter=slow\n")
    Path(lab.app.root, "slow.txt").write_text("slow\n")
    git(lab.app.root, "add", ".")
    git(lab.app.root, "commit", "-qm", "slow")
    lab.create(OFTEN)
    with ThreadPoolExecutor() as pool:
        started = pool.submit(lab.start, "ada", "touch $HEADCOUNT_HOME/ready; sleep 1000")
        lab.wait_flag("in-checkout")
        time.sleep(3)  # longer than a lock of git is respected that nobody can be using
        (home / "go").touch()
        assert started.result().state is State.RUNNING
    lab.wait_flag("ready")
    assert git(lab.workspace("ada#1"), "status", "--porcelain") == ""


def test_a_stand_down_takes_one_and_keeps_it_after_the_close(lab: Lab, tmp_path: Path) -> None:
    lab.create(replace(QUICK, checkpoint_s=1000))
    lab.start("ada", "echo precious > x; touch $HEADCOUNT_HOME/ready; sleep 1000")
    lab.wait_flag("ready")
    answer = lab.finish(lab.ask(force=True))
    assert answer["status"] == "shutdown"
    # The stand-down does not wait for it, and what it would hold is in the salvage.
    assert answer["members"][0]["salvage"]
    for point in points(lab, "ada"):
        restore_checkpoint(lab.app, "ada", point["id"], into=str(tmp_path / "back"), team=TEAM)
        assert (tmp_path / "back" / "x").read_text() == "precious\n"


def test_a_checkpoint_that_fails_is_named_and_harms_nobody(lab: Lab) -> None:
    lab.create(replace(QUICK, checkpoint_s=OFTEN.checkpoint_s))
    lab.start("ada", "echo x > x; touch $HEADCOUNT_HOME/ready; sleep 1000")
    lab.wait_flag("ready")
    store = Path(wait(lambda: points(lab, "ada") and list_checkpoints(lab.app), "one")[0]["path"])
    (store / "index").unlink()
    (store / "index").mkdir()  # nothing can be linked or renamed to it
    wait(lambda: list_checkpoints(lab.app)[0]["failed"], "a failure")
    assert lab.finish(lab.ask(force=True))["status"] == "shutdown"
    assert points(lab, "ada")


def test_a_restore_in_place_waits_for_a_pause_and_can_be_undone(lab: Lab, tmp_path: Path) -> None:
    lab.create(OFTEN)
    lab.start("ada", "echo old > x; touch $HEADCOUNT_HOME/ready; sleep 1000")
    lab.wait_flag("ready")
    first = wait(lambda: points(lab, "ada"), "a checkpoint")[-1]["id"]
    x = Path(lab.workspace("ada#1"), "x")
    x.write_text("new\n")
    with pytest.raises(Declined, match="Did not restore into") as refused:
        restore_checkpoint(lab.app, "ada", first)
    assert refused.value.code == "at-work"
    assert x.read_text() == "new\n"
    pause(lab.app, "ada")
    Path(lab.workspace("ada#1"), ".env").write_text("SECRET=1")
    done = restore_checkpoint(lab.app, "ada", first, paths=["x"])
    restore_checkpoint(lab.app, "ada", done["before"], into=str(tmp_path / "before"))
    assert ".env" not in os.listdir(tmp_path / "before")  # `salvage_private` names it
    assert (x.read_text(), done["files"]) == ("old\n", 1)
    restore_checkpoint(lab.app, "ada", done["before"])
    assert x.read_text() == "new\n"


def test_a_member_sees_and_restores_its_own_below_its_workspace_only(lab: Lab, tmp_path: Path) -> None:
    lab.create(OFTEN)
    for name in ("ada", "ben"):
        lab.start(name, f"echo {name} > x; touch $HEADCOUNT_HOME/{name}; sleep 1000")
        lab.wait_flag(name)
    for name in ("ada", "ben"):
        wait(lambda name=name: points(lab, name), "a checkpoint")
    lab.app.caller = Caller("worker", "ada#1", f"{TEAM}#1")
    try:
        assert {store["member"] for store in list_checkpoints(lab.app)} == {"ada"}
        for call in (
            lambda: list_checkpoints(lab.app, "ben"),
            lambda: show_checkpoint(lab.app, "ben@1"),
            lambda: restore_checkpoint(lab.app, "ben", "1", into=str(tmp_path / "no")),
            lambda: restore_checkpoint(lab.app, "ada", "1", into=str(tmp_path / "no")),
            lambda: restore_checkpoint(lab.app, "ada", "1"),
        ):
            with pytest.raises(NotAllowed):
                call()
        assert not (tmp_path / "no").exists()
        mine = f"{lab.workspace('ada#1')}/back"
        restore_checkpoint(lab.app, "ada", "1", into=mine)
        assert Path(mine, "x").read_text() == "ada\n"
    finally:
        lab.app.caller = OPERATOR


def test_the_command_lists_shows_and_restores(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create(OFTEN)
    lab.start("ada", "echo precious > x; touch $HEADCOUNT_HOME/ready; sleep 1000")
    lab.wait_flag("ready")
    wait(lambda: points(lab, "ada"), "a checkpoint")
    monkeypatch.chdir(lab.app.root)

    def run(*words: str) -> tuple[int, str]:
        code = main(["checkpoints", *words])
        said = capsys.readouterr()
        return code, said.out + said.err

    assert "ada#1" in run()[1]
    assert "ada@1" in run("ada")[1]
    assert read_member(lab.app, TEAM, "ada#1")["checkpoints"][0]["id"] == "ada@1"
    assert read_report(lab.app, TEAM)["members"][0]["checkpoints"][0]["id"] == "ada@1"
    listed = json.loads(run("--json")[1])
    assert listed[0]["points"][0]["files"] == 1
    shown = run("show", "ada@1")[1]
    assert "+precious" in shown
    assert "1 file changed" in shown
    code, said = run("restore", "ada", "--at", "0s", "--path", "x", "--into", str(tmp_path / "back"))
    assert (code, (tmp_path / "back" / "x").read_text()) == (0, "precious\n"), said
    for words in (
        ["show"],
        ["show", "ada"],
        ["restore", "ada"],
        ["restore", "ada", "--at", "1"],
        ["restore", "ada", "--at", "never", "--into", "x"],
        ["restore", "ada", "--at", "99", "--into", "x"],
        ["restore", "ada", "--at", "1d", "--into", "x"],
        ["nobody"],
        ["--at", "3"],
        ["ada", "bob"],
    ):
        code, said = run(*words)
        assert code == 2, (words, said)
        assert said.startswith("Error: "), said
    assert not Path(lab.app.root, "x").exists()
    assert git(lab.app.root, "status", "--porcelain") == ""


def test_an_engine_without_git_takes_none(lab_without_git: Lab) -> None:
    lab = lab_without_git
    lab.create(OFTEN)
    lab.start("ada", "echo x > x; touch $HEADCOUNT_HOME/ready; sleep 1000")
    lab.wait_flag("ready")
    assert list_checkpoints(lab.app) == []
    with pytest.raises(HeadcountError):
        show_checkpoint(lab.app, "ada@1")


def test_F90_checkpoints_of_a_workspace_that_its_member_deleted_are_never_removed(
    lab: Lab, tmp_path: Path
) -> None:
    lab.create(replace(QUICK, checkpoint_s=0.2))
    lab.start("ada", 'echo precious > work.txt; touch "$HEADCOUNT_HOME/ada-wrote"; sleep 1000')
    lab.wait_flag("ada-wrote")
    wait(lambda: points(lab, "ada"), "a checkpoint")
    shutil.rmtree(lab.workspace("ada#1"))
    answer = lab.finish(lab.ask(force=True))
    assert "`headcount checkpoints ada` may have it" in answer["warnings"][0]
    assert "checkpoints" not in {one.kind for one in find_kept(lab.app)}
    restore_checkpoint(lab.app, "ada", points(lab, "ada")[-1]["id"], into=str(tmp_path / "back"))
    assert (tmp_path / "back" / "work.txt").read_text() == "precious\n"


def test_F94_retention_continues_after_something_that_cannot_be_removed(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = threading.Event()

    def fail() -> None:
        raise PermissionError(13, "Permission denied")

    kept = [Kept("archive", "old", 1, 0.0, fail), Kept("archive", "newer", 1, 1.0, removed.set)]
    monkeypatch.setattr("headcount.app.retention.find_kept", lambda _: kept)
    retention = Retention(lab.app)
    retention.start()
    try:
        assert removed.wait(LIMIT_S)
    finally:
        retention.close()


def test_checkpoints_stay_after_the_close_until_they_are_old(lab: Lab) -> None:
    lab.create(replace(QUICK, checkpoint_s=0.2))
    lab.start("ada", 'echo one > one.txt; touch "$HEADCOUNT_HOME/ada-wrote"; sleep 1000')
    lab.wait_flag("ada-wrote")
    wait(lambda: points(lab, "ada"), "a checkpoint")

    def kinds() -> dict[str, Kept]:
        return {one.kind: one for one in find_kept(lab.app)}

    assert "checkpoints" not in kinds(), "its team is open"
    lab.finish(lab.ask(force=True))
    kept = kinds()["checkpoints"]
    assert kept.bytes and not choose([kept], Policy(keep_days=30), kept.since + 29 * DAY_S)
    [old] = choose([kept], Policy(keep_days=30), kept.since + 31 * DAY_S)
    old.remove()
    assert "checkpoints" not in kinds()
    assert git(lab.app.root, "for-each-ref", "refs/headcount/checkpoints") == ""
