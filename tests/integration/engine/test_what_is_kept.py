"""What a stand-down saves, what it keeps out of git, what it only lists, and what the operator decides."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.app.salvages import restore_saved, show_saved, verify_saved
from headcount.app.sweep import sweep
from headcount.domain.settings import Agent, Agents
from headcount.errors import UsageError
from headcount.workspace import remove as gate

from .lab import PATIENT, POLITE, TEAM, Lab, git

READY = 'touch "$HEADCOUNT_HOME/ready"'


def ignore(lab: Lab) -> None:
    root = Path(lab.app.root)
    (root / ".gitignore").write_text("node_modules/\n.env\nbuild/\n*.tmp\n")
    (root / "package.json").write_text("{}\n")
    git(lab.app.root, "add", ".gitignore", "package.json")
    git(lab.app.root, "-c", "user.name=u", "-c", "user.email=u@localhost", "commit", "-qm", "ignore")


def end(lab: Lab, script: str) -> dict[str, Any]:
    """The answer of a stand-down of a member that ran this in its workspace."""
    lab.start("ada", f"{script}; {READY}; {POLITE}")
    lab.wait_flag("ready")
    answer = lab.ask(force=True)
    lab.approve(answer)
    return lab.finish(answer)


def receipt_of(answer: dict[str, Any]) -> dict[str, Any]:
    receipt = json.loads(Path(f"{answer['archive']}/receipt.json").read_text())
    found: dict[str, Any] = receipt["members"][0]
    return found


def test_F62_build_output_alone_needs_no_salvage_and_is_in_the_receipt(lab: Lab) -> None:
    ignore(lab)
    lab.create()
    answer = end(lab, "mkdir -p node_modules/a; echo x > node_modules/a/x.js")
    assert (answer["deleted"], answer["members"][0]["salvage"]) == (True, None)
    listed = receipt_of(answer)["findings"]["skipped"]
    assert [(one["path"], one["files"], one["bytes"]) for one in listed] == [("node_modules/", 1, 2)]
    assert git(lab.app.root, "for-each-ref", "refs/headcount/salvage") == ""
    assert not Path(lab.workspace("ada#1")).exists()


def test_secret_is_named_in_the_receipt_verified_and_restored(lab: Lab, tmp_path: Path) -> None:
    ignore(lab)
    lab.create()
    answer = end(lab, "echo S=hush > .env; echo x > node_modules.txt")
    saved = receipt_of(answer)["salvage"][0]
    assert saved["private"]["path"] == f"{lab.app.home}/archive/{TEAM}/ada-1.private.tar"
    assert show_saved(lab.app, "ada")["private"] == saved["private"]
    assert [one["ok"] for one in verify_saved(lab.app)] == [True]
    restore_saved(lab.app, "ada", str(tmp_path / "back"))
    assert (tmp_path / "back" / ".env").read_text() == "S=hush\n"
    assert "files/.env" not in git(lab.app.root, "ls-tree", "-r", "--name-only", saved["ref"]).split("\n")
    Path(saved["private"]["path"]).unlink()
    assert [one["ok"] for one in verify_saved(lab.app)] == [False]


def test_patterns_of_one_worker_hold_for_that_worker(lab: Lab) -> None:
    ignore(lab)
    lab.create()
    mine = Agents(workers={"ada": Agent(salvage_skip=("*.tmp",), salvage_private=("notes.txt",))})
    lab.app.settings = replace(lab.app.settings, agents=mine)
    answer = end(lab, "echo x > a.tmp; echo mine > notes.txt")
    saved = receipt_of(answer)["salvage"][0]
    assert [one["path"] for one in saved["skipped"]] == ["a.tmp"]
    assert saved["private"]["entries"] == 1
    names = git(lab.app.root, "ls-tree", "-r", "--name-only", saved["ref"])
    assert "a.tmp" not in names and "notes.txt" not in names


def keep_large_build(lab: Lab) -> tuple[dict[str, Any], Path]:
    """The answer of a stand-down that keeps the workspace, because `build` is over the limit."""
    ignore(lab)
    lab.create(replace(PATIENT, salvage_ignored_max_mb=1))
    answer = end(lab, "mkdir build; head -c 2097152 /dev/zero > build/large.bin; echo w > work.txt")
    return answer, Path(lab.workspace("ada#1"))


def test_F65_what_is_over_the_limit_is_explained_and_goes_when_the_operator_says_so(lab: Lab) -> None:
    answer, place = keep_large_build(lab)
    said = "; ".join(answer["warnings"])
    assert answer["deleted"] is False and place.exists()
    assert "does not hold build/ (2.0 MB)" in said
    assert f"headcount sweep --discard {place}/build`" in said
    assert "raise salvage_ignored_max_mb to 4 in" in said
    for path in (lab.app.root, f"{place}", f"{place}/.git", f"{place}/none"):
        with pytest.raises(UsageError, match="Did not delete"):
            sweep(lab.app, discard=[f"{place}/build", path])
    assert sweep(lab.app, dry_run=True, discard=[f"{place}/build"])["discarded"][0]["bytes"] == 2 << 20
    assert (place / "build" / "large.bin").exists()
    swept = sweep(lab.app, discard=[f"{place}/build"])
    assert [(one["removed"], one["problem"]) for one in swept["ended"]] == [(True, None)]
    assert not place.exists()
    with lab.app.store.read() as tx:
        noted = [entry for entry in tx.journal(f"{TEAM}#1") if entry.kind == "discarded"]
    assert [(entry.about, entry.data["path"], entry.data["files"]) for entry in noted] == [
        ("ada#1", f"{place}/build", 1)
    ]


def test_F144_nothing_is_discarded_by_an_empty_path_or_through_a_mount(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty path means the current directory to Python, and that may be inside a kept workspace."""
    _, place = keep_large_build(lab)
    monkeypatch.chdir(place / "build")
    with pytest.raises(UsageError, match="Did not delete an empty path"):
        sweep(lab.app, discard=[""])
    mounts = f"1 2 0:3 / {place}/build/volume rw - ext4 /dev/x rw"
    with monkeypatch.context() as mounted:
        mounted.setattr(gate, "_read_mounts", lambda: [mounts.encode()])
        with pytest.raises(UsageError, match="Did not delete"):
            sweep(lab.app, discard=[f"{place}/build"])
    assert (place / "build" / "large.bin").exists()
    monkeypatch.chdir(lab.app.root)
    swept = sweep(lab.app, discard=[f"{place}/build/large.bin", f"{place}/build", f"{place}/build/"])
    assert [one["path"] for one in swept["discarded"]] == [f"{place}/build"]
    assert not place.exists()


def test_path_of_an_open_team_is_not_discarded(lab: Lab) -> None:
    lab.create()
    lab.start("ada", f"echo w > work.txt; {READY}; {POLITE}")
    lab.wait_flag("ready")
    with pytest.raises(UsageError, match="Did not delete"):
        sweep(lab.app, discard=[f"{lab.workspace('ada#1')}/work.txt"])
    assert Path(lab.workspace("ada#1"), "work.txt").exists()
