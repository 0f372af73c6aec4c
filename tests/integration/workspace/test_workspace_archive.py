from __future__ import annotations

import os
from pathlib import Path

import pytest
from anything import read_files
from gitworld import git, gone

from headcount.domain.findings import Archive, Kind, Workspace
from headcount.domain.policy import Policy
from headcount.errors import UsageError, WorldError
from headcount.workspace.archive import archive, restore_archive, verify_archive
from headcount.workspace.git_workspaces import EngineWorkspaces
from headcount.workspace.inspection import read_findings
from headcount.workspace.remove import Refused, Removed, remove_directory
from headcount.workspace.worktrees import Workspaces


@pytest.fixture
def plain(tmp_path: Path) -> Workspace:
    workspace = Workspaces(None, str(tmp_path / "worktrees")).create("t", "alice", 1)
    root = Path(workspace.path)
    (root / "notes.txt").write_text("notes\n")
    (root / "empty").mkdir()
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o750)
    (root / "link").symlink_to("/absolute/nowhere")
    os.link(root / "notes.txt", root / "second-name.txt")
    with open(os.fsencode(root) + b"/\xff\nodd", "wb") as file:
        file.write(os.urandom(3 << 20))
    return workspace


def test_without_git_files_are_not_dirty_and_have_to_be_saved(plain: Workspace) -> None:
    findings = read_findings(None, plain)
    assert findings.clean and not findings.spotless
    assert {item.kind for item in findings.items} == {Kind.FILES}
    os.rename(plain.path, plain.path + "-elsewhere")
    assert not read_findings(None, plain).clean


def test_directory_is_archived_read_back_removed_and_restored_whole(plain: Workspace, tmp_path: Path) -> None:
    before = read_files(Path(plain.path))
    kept = archive(plain, str(tmp_path / "archive"))
    assert verify_archive(kept, plain) == []
    assert Archive.from_dict(kept.as_dict()) == kept
    assert remove_directory(plain, gone(plain), kept) == Removed(plain.path)
    assert not os.path.lexists(plain.path)
    restore_archive(kept, str(tmp_path / "back"))
    assert read_files(tmp_path / "back") == before


def test_repository_inside_is_archived_with_its_history(plain: Workspace, tmp_path: Path) -> None:
    git(plain.path, "init", "-q", "clone")
    git(Path(plain.path) / "clone", "commit", "-qm", "inside", "--allow-empty")
    kept = archive(plain, str(tmp_path / "archive"))
    restore_archive(kept, str(tmp_path / "back"))
    assert git(tmp_path / "back" / "clone", "log", "--format=%s") == "inside"


def test_archive_is_repeated_only_when_something_changed(plain: Workspace, tmp_path: Path) -> None:
    first = archive(plain, str(tmp_path / "archive"))
    assert archive(plain, str(tmp_path / "archive")) == first
    (Path(plain.path) / "notes.txt").write_text("more\n")
    second = archive(plain, str(tmp_path / "archive"))
    assert second.path != first.path
    assert verify_archive(first) == []
    assert sorted(os.listdir(tmp_path / "archive" / "t")) == ["alice-1.2.tar", "alice-1.tar"]


def test_C14_C20_directory_stays_without_proof_or_while_the_archive_differs(
    plain: Workspace, tmp_path: Path
) -> None:
    kept = archive(plain, str(tmp_path / "archive"))
    assert isinstance(remove_directory(plain, gone(plain, alive=("4711",)), kept), Refused)
    (Path(plain.path) / "late.txt").write_text("late\n")
    refused = remove_directory(plain, gone(plain), kept)
    assert refused == Refused(("late.txt differs",))
    (Path(plain.path) / "late.txt").unlink()
    with open(kept.path, "r+b") as file:
        file.seek(1000)
        file.write(b"!")
    assert isinstance(remove_directory(plain, gone(plain), kept), Refused)
    assert (Path(plain.path) / "notes.txt").exists()


def test_archive_that_cannot_be_written_is_an_error_and_leaves_nothing(
    plain: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "t").write_text("in the way\n")
    with pytest.raises((WorldError, OSError)):
        archive(plain, str(tmp_path / "archive"))
    assert (Path(plain.path) / "notes.txt").exists()


def test_restore_of_an_archive_refuses_a_target_that_is_not_empty(plain: Workspace, tmp_path: Path) -> None:
    kept = archive(plain, str(tmp_path / "archive"))
    with pytest.raises(UsageError):
        restore_archive(kept, plain.path)


def test_removing_a_plain_directory_again_after_a_crash_succeeds(plain: Workspace, tmp_path: Path) -> None:
    port = EngineWorkspaces(None, str(tmp_path), str(tmp_path / "archive"))
    assert port.remove(plain, gone(plain), Policy(), {}) is None
    assert port.remove(plain, gone(plain), Policy(), {}) is None
