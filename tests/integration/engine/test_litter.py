"""What teams leave: empty branches go at the close, old records by themselves, the rest by `prune`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from headcount.app.prune import find_litter, remove_litter
from headcount.app.resident import driving
from headcount.app.retention import DAY_S
from headcount.app.salvages import verify_saved
from headcount.app.standing_down import stand_down
from headcount.app.teams import create_team

from .lab import LIMIT_S, POLITE, QUICK, TEAM, Lab, git

COMMIT = "echo work > work; git add work; git commit -qm work; touch $HEADCOUNT_HOME/done; " + POLITE


def top(lab: Lab) -> str:
    return os.path.dirname(lab.app.home)


def branches(lab: Lab) -> list[str]:
    return git(top(lab), "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").split()


def close(lab: Lab) -> dict[str, Any]:
    answer = lab.finish(lab.ask(force=True))
    assert answer["status"] == "shutdown" and answer["deleted"], answer
    return answer


def headcount(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headcount", *words],
        cwd=top(lab), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_after_the_close_only_branches_with_commits_are_left(lab: Lab) -> None:
    lab.create(QUICK)
    lab.start("ada", COMMIT)
    lab.start("ben")
    lab.start("cy", f"echo unsaved > notes; touch $HEADCOUNT_HOME/noted; {POLITE}")
    lab.wait_flag("done")
    lab.wait_flag("noted")
    close(lab)
    assert branches(lab) == ["headcount/crew/ada", "main"]
    assert [row["ok"] for row in verify_saved(lab.app)] == [True]


def test_what_a_closed_team_left_is_removed_when_the_next_one_closes(lab: Lab) -> None:
    lab.create(QUICK)
    lab.start("ada", f"echo unsaved > notes; echo printed; touch $HEADCOUNT_HOME/noted; {POLITE}")
    lab.wait_flag("noted")
    place = Path(close(lab)["archive"])
    assert (place / "logs/ada#1").is_dir()
    long_ago = time.time() - 31 * DAY_S
    os.utime(place / "receipt.json", (long_ago, long_ago))

    create_team(lab.app, "next", environ=os.environ)
    assert stand_down(lab.app, "next", None, "enough")["status"] in ("shutdown", "pending_shutdown")

    deadline = time.monotonic() + LIMIT_S
    while (place / "logs").exists() or (place / "journal.jsonl").exists():
        assert time.monotonic() < deadline, list(place.iterdir())
        time.sleep(0.02)
    assert json.loads((place / "receipt.json").read_text())["members"][0]["salvage"]
    assert verify_saved(lab.app)[0]["ok"]
    assert headcount(lab, "logs", "ada", "--team", TEAM).returncode == 0


def test_prune_removes_merged_branches_and_nothing_else(lab: Lab) -> None:
    lab.create(QUICK)
    for name in ("ada", "ben", "cy"):
        commit = f"echo {name} > {name}; git add .; git commit -qm {name}; touch $HEADCOUNT_HOME/{name}"
        lab.start(name, f"{commit}; {POLITE}")
        lab.wait_flag(name)
    close(lab)
    git(top(lab), "merge", "-q", "--no-edit", "headcount/crew/ada")
    git(top(lab), "merge", "-q", "--squash", "headcount/crew/ben")
    git(top(lab), "commit", "-qm", "squashed")
    git(top(lab), "branch", "headcount/crew/users")  # the user's own, and merged
    git(top(lab), "branch", "-m", "headcount/crew/ada", "mine")
    git(top(lab), "branch", "headcount/crew/ada")  # the user's, under a name that was ours
    git(top(lab), "worktree", "add", "-q", "../users-checkout", "mine")

    assert [one.name for one in find_litter(lab.app)[0]] == []
    git(top(lab), "branch", "-M", "mine", "headcount/crew/ada")
    assert [one.name for one in find_litter(lab.app)[0]] == []  # it is checked out
    git(top(lab), "worktree", "remove", "../users-checkout")
    found, _ = find_litter(lab.app)
    assert [(one.name, one.why) for one in found] == [("headcount/crew/ada", "all of it is in main")]

    told = headcount(lab, "prune", "--dry-run")
    assert told.stdout == "branch headcount/crew/ada: all of it is in main\nWould remove 1 branch.\n"
    assert "headcount/crew/ada" in branches(lab)
    pruned = json.loads(headcount(lab, "prune", "--json").stdout)
    assert [one["name"] for one in pruned["removed"]] == ["headcount/crew/ada"] and not pruned["kept"]
    assert branches(lab) == ["headcount/crew/ben", "headcount/crew/cy", "headcount/crew/users", "main"]


def test_F75_prune_keeps_a_branch_that_moves_after_it_was_found(lab: Lab) -> None:
    lab.create(QUICK)
    lab.start("ada", COMMIT)
    lab.wait_flag("done")
    close(lab)
    git(top(lab), "merge", "-q", "headcount/crew/ada")
    found, _ = find_litter(lab.app)
    git(top(lab), "update-ref", "refs/heads/main", "main~1")
    answer = remove_litter(lab.app, found)
    assert [one["name"] for one in answer["kept"]] == ["headcount/crew/ada"] and not answer["removed"]
    assert "headcount/crew/ada" in branches(lab)


def test_prune_removes_records_that_a_closing_left_and_keeps_those_of_open_teams(lab: Lab) -> None:
    lab.create(QUICK)
    key = lab.start("ada", f"echo printed; touch $HEADCOUNT_HOME/printed; {POLITE}").key
    lab.wait_flag("printed")
    run = Path(lab.app.home, "run")
    (mark,) = (path.name for path in run.iterdir() if path.name.startswith("hc1."))
    assert find_litter(lab.app)[0] == []
    kept = {path.name: path.read_bytes() for path in (run / mark).iterdir() if path.is_file()}
    archive = Path(close(lab)["archive"])
    lab.stop_driving()  # its retention would be faster
    assert not (run / mark).exists()
    (run / mark).mkdir()  # as a closing leaves it that fails at the last moment
    for name, content in kept.items():
        (run / mark / name).write_bytes(content)
    (archive / "logs" / key / "log.0").unlink()

    found, _ = find_litter(lab.app)
    assert [(one.kind, one.name, one.why) for one in found] == [("record", mark, "its team is closed")]
    assert not remove_litter(lab.app, found)["kept"]
    assert not (run / mark).exists()
    assert (archive / "logs" / key / "log.0").read_text() == "printed\n"


def test_F77_a_retention_that_fails_neither_fails_nor_delays_a_close(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.stop_driving()

    def fail(_: object) -> list[object]:
        raise OSError("the disk is broken")

    monkeypatch.setattr("headcount.app.retention.find_kept", fail)
    with driving(lab.app):
        lab.create(QUICK)
        lab.start("ada")
        close(lab)


def test_doctor_shows_the_disk_that_headcount_takes(lab: Lab) -> None:
    lab.create(QUICK)
    lab.start("ada", f"echo unsaved > notes; echo printed; touch $HEADCOUNT_HOME/noted; {POLITE}")
    lab.wait_flag("noted")
    close(lab)
    checks = {check["name"]: check for check in json.loads(headcount(lab, "doctor", "--json").stdout)}
    found = checks["disk"]["found"]
    assert found.startswith("state ") and "logs 8 bytes" in found and "archives " in found
    assert found.endswith("1 salvage, 0 branches")
