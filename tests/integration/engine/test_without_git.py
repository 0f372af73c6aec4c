"""Where there is no git, what a member leaves is kept in a tar file, and got back by the same commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headcount.app.report import describe_salvage
from headcount.app.salvages import list_saved, restore_saved, show_saved, verify_saved
from headcount.errors import UsageError, WorldError

from .lab import POLITE, QUICK, Lab


def _leave_work(lab: Lab) -> str:
    """The name under which it was saved."""
    lab.create(QUICK)
    script = f"mkdir bin; echo work > bin/notes; chmod 750 bin/notes; ln -s notes bin/link; {POLITE}"
    lab.wait_file(lab.start("ada", script).key, "bin/link")
    answer = lab.finish(lab.ask(force=True))
    assert answer["status"] == "shutdown" and answer["deleted"]
    return str(answer["members"][0]["salvage"])


def test_what_was_left_in_a_plain_directory_is_listed_checked_and_restored(
    lab_without_git: Lab, tmp_path: Path
) -> None:
    app, ref = lab_without_git.app, _leave_work(lab_without_git)
    assert [(one["ref"], one["member"]) for one in list_saved(app)] == [(ref, "ada")]
    with pytest.raises(UsageError, match="No team"):
        list_saved(app, "others")
    assert verify_saved(app) == [{"ref": ref, "ok": True, "problems": []}]
    shown = show_saved(app, "ada")
    assert [entry["path"] for entry in shown["manifest"]["entries"]] == ["bin", "bin/link", "bin/notes"]
    assert shown["found"] == ["bin", "bin/link", "bin/notes"]
    assert show_saved(app, "ada#1") == shown
    target = tmp_path / "again"
    restored = restore_saved(app, "ada", str(target))
    assert restored == {"ref": ref, "path": str(target), "branch": None, "notes": []}
    assert (target / "bin/notes").read_text() == "work\n"
    assert (target / "bin/notes").stat().st_mode & 0o777 == 0o750
    assert os.readlink(target / "bin/link") == "notes"


def test_a_tar_file_that_was_changed_is_said_so_and_not_unpacked(
    lab_without_git: Lab, tmp_path: Path
) -> None:
    app, ref = lab_without_git.app, _leave_work(lab_without_git)
    with open(ref.removeprefix("archive:"), "ab") as file:
        file.write(b"more")
    assert not verify_saved(app, ref)[0]["ok"]
    with pytest.raises(WorldError, match="Did not restore"):
        restore_saved(app, ref, str(tmp_path / "again"))
    assert not (tmp_path / "again").exists()


def test_the_command_that_is_shown_for_it_is_one_that_works(lab_without_git: Lab, tmp_path: Path) -> None:
    ref = _leave_work(lab_without_git)
    words = describe_salvage(ref, None)["restore"].split()
    assert words[:3] == ["headcount", "salvage", "restore"]
    restore_saved(lab_without_git.app, words[3], str(tmp_path / "again"))


def test_without_anything_saved_the_list_is_empty_and_a_name_is_unknown(lab_without_git: Lab) -> None:
    assert list_saved(lab_without_git.app) == []
    with pytest.raises(UsageError, match="no salvage"):
        show_saved(lab_without_git.app, "ada")
