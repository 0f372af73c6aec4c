"""Git LFS itself, with a store on this machine: headcount's git runs its filters, and believes the store."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from engine.lab import PATIENT, QUICK, Lab, git

from .members import APPROVES, READY, WAIT, start

FIRST, SECOND = "first\n" * 1000, "second\n" * 1000


@pytest.fixture
def large(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A repository of the user's with one LFS file, and a remote with an LFS store, both on this machine."""
    if shutil.which("git-lfs") is None:
        if "CI" in os.environ:
            pytest.fail("git-lfs is missing: .ci/run installs it")
        pytest.skip("git-lfs is not installed")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    root = lab.app.root
    git(root, "config", "--global", "user.name", "T")
    git(root, "lfs", "install", "--skip-repo")
    git(root, "lfs", "track", "*.bin")
    Path(f"{root}/big.bin").write_text(FIRST)
    git(root, "add", ".gitattributes", "big.bin")
    git(root, "commit", "--quiet", "-m", "large")
    git(root, "init", "--quiet", "--bare", str(tmp_path / "origin"))
    git(root, "remote", "add", "origin", f"file://{tmp_path}/origin")
    git(root, "push", "--quiet", "origin", "HEAD:refs/heads/main")
    git(root, "lfs", "push", "origin", "main")
    assert git(root, "show", "HEAD:big.bin").startswith("version https://git-lfs")
    assert stored(root, FIRST).is_file()
    return lab


def stored(root: str, content: str) -> Path:
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Path(root, ".git/lfs/objects", digest[:2], digest[2:4], digest)


def test_F31_committed_LFS_content_is_clean_and_is_not_saved_again(large: Lab) -> None:
    """The member's workspace has the bytes, and what it commits is in the store of the user's repository."""
    large.create(PATIENT)
    new = "yes second | head -n 1000 > new.bin; git add new.bin; git commit -qm new"
    start(large, "ann", f'cp big.bin "$HEADCOUNT_HOME/got"; {new}; touch new.bin big.bin; {APPROVES}')
    answer = large.finish(large.ask())
    assert Path(f"{large.app.home}/got").read_text() == FIRST
    assert (answer["members"][0]["outcome"], answer["members"][0]["salvage"]) == ("clean", None)
    assert stored(large.app.root, SECOND).read_text() == SECOND
    git(large.app.root, "merge", "--quiet", "headcount/crew/ann")
    assert Path(f"{large.app.root}/new.bin").read_text() == SECOND


def test_F31_changed_LFS_content_is_saved_with_its_own_bytes(large: Lab) -> None:
    large.create(QUICK)
    work = "yes second | head -n 1000 > big.bin; yes third | head -n 9 > new.bin"
    start(large, "ann", f"{work}; {READY}; {WAIT}")
    saved = large.finish(large.ask(force=True))["members"][0]["salvage"]
    assert git(large.app.root, "show", f"{saved}:files/big.bin") == SECOND
    assert git(large.app.root, "show", f"{saved}:files/new.bin") == "third\n" * 9


def test_F31_committed_LFS_content_that_the_member_took_out_of_the_store_is_not_lost(large: Lab) -> None:
    """It is saved, unless the filter, which our `git status` runs, has put it into the store again."""
    large.create(PATIENT)
    commit = "yes second | head -n 1000 > new.bin; git add new.bin; git commit -qm new"
    gone = stored(large.app.root, SECOND)
    start(large, "ann", f'{commit}; rm {gone} && touch "$HEADCOUNT_HOME/removed"; {APPROVES}')
    [member] = large.finish(large.ask())["members"]
    assert Path(f"{large.app.home}/removed").exists()
    assert {entry.data["to"] for entry in large.journal("moved")} & {"nudged", "escalated"} == set()
    saved = member["salvage"] and git(large.app.root, "show", f"{member['salvage']}:files/new.bin")
    assert SECOND in (saved, gone.exists() and gone.read_text())


def test_F31_a_workspace_begins_with_pointers_where_the_user_does_not_want_the_content(large: Lab) -> None:
    git(large.app.root, "lfs", "install", "--local", "--skip-smudge", "--skip-repo")
    large.create(PATIENT)
    start(large, "ann", f'cp big.bin "$HEADCOUNT_HOME/got"; {APPROVES}')
    [member] = large.finish(large.ask())["members"]
    assert Path(f"{large.app.home}/got").read_text() == git(large.app.root, "show", "HEAD:big.bin")
    assert (member["outcome"], member["salvage"]) == ("clean", None)
