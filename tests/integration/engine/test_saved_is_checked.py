"""What a receipt names as saved is checked before a workspace goes, before the tombstone, and later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headcount.app.salvages import list_saved, restore_saved, verify_saved

from .lab import POLITE, QUICK, Lab, git

REF = "refs/headcount/salvage/crew/ada/1"


def leave_work(lab: Lab, *finalizer: str) -> dict[str, Any]:
    """One member that leaves a file; `finalizer` runs after it was saved and before its workspace goes."""
    lab.create(QUICK)
    finalizers = (finalizer,) if finalizer else ()
    lab.wait_file(lab.start("ada", f"echo work > notes; {POLITE}", finalizers=finalizers).key, "notes")
    return lab.finish(lab.ask(force=True))


def top(lab: Lab) -> str:
    return os.path.dirname(lab.app.home)


def test_F44_a_workspace_whose_salvage_was_lost_is_kept_and_the_team_is_not_closed_as_clean(lab: Lab) -> None:
    answer = leave_work(lab, "sh", "-c", f"rm -f {top(lab)}/.git/objects/pack/*.pack")
    assert answer["status"] == "shutdown" and not answer["deleted"]
    assert any("kept" in warning and "ada" in warning for warning in answer["warnings"])
    assert any(warning.startswith("tombstone: ") and REF in warning for warning in answer["warnings"])
    assert Path(lab.workspace("ada#1"), "notes").read_text() == "work\n"


def test_F44_a_ref_that_was_lost_before_the_close_is_made_again(lab: Lab) -> None:
    answer = leave_work(lab, "git", "-C", top(lab), "update-ref", "-d", REF)
    assert answer["deleted"] and not answer["warnings"]
    assert verify_saved(lab.app) == [{"ref": REF, "ok": True, "problems": []}]
    assert not os.path.exists(lab.workspace("ada#1"))


def run(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headcount", "salvage", *words],
        cwd=top(lab),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_F40_verify_misses_a_ref_that_a_receipt_names_and_restore_works_without_it(
    lab: Lab, tmp_path: Path
) -> None:
    leave_work(lab)
    assert run(lab, "verify").returncode == 0
    commit = git(top(lab), "rev-parse", REF).strip()
    git(top(lab), "update-ref", "-d", REF)
    checked = run(lab, "verify")
    assert checked.returncode == 1
    assert f"{REF} is gone; its commit {commit} is still there" in checked.stdout
    assert json.loads(run(lab, "verify", "--json").stdout)[0]["ok"] is False
    assert "(gone)" in run(lab, "list").stdout
    assert list_saved(lab.app)[0]["lost"] is True
    git(top(lab), "gc", "-q", "--prune=now")
    restored = run(lab, "restore", "ada", str(tmp_path / "again"))
    assert restored.returncode == 0, restored.stderr
    assert "was gone" in restored.stdout and "made again" in restored.stdout
    assert (tmp_path / "again" / "notes").read_text() == "work\n"
    assert git(top(lab), "rev-parse", REF).strip() == commit
    assert run(lab, "verify").returncode == 0


@pytest.mark.parametrize("lost", ["ref and pack", "keep"])
def test_F40_verify_names_what_is_gone_for_good_or_in_danger(lab: Lab, tmp_path: Path, lost: str) -> None:
    leave_work(lab)
    packs = Path(top(lab), ".git", "objects", "pack")
    if lost == "keep":
        next(packs.glob("*.keep")).unlink()
    else:
        git(top(lab), "update-ref", "-d", REF)
        for file in packs.glob("pack-*"):
            file.unlink()
    checked = run(lab, "verify")
    assert checked.returncode == 1
    assert ("gone, too" if lost == "ref and pack" else "`git gc` may delete") in checked.stdout
    assert "Traceback" not in checked.stderr


def test_restore_says_where_it_is_not_as_it_was(lab: Lab, tmp_path: Path) -> None:
    leave_work(lab)
    restored = restore_saved(lab.app, "ada", str(tmp_path / "again"))
    assert restored == {
        "ref": REF, "path": str(tmp_path / "again"), "branch": "headcount/crew/ada", "notes": [],
    }  # fmt: skip
