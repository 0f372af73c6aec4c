"""A state directory that a stranger wrote, or that was made for another place, is not used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount.app import place
from headcount.app.app import open_app
from headcount.app.place import RECORD, check_place, read_place, this_place
from headcount.app.teams import create_team
from headcount.errors import WorldError

from .conftest import Desk

NOBODY = 65534


def make_state(repo: Path) -> Path:
    app = open_app(str(repo), {})
    create_team(app, "crew", environ={})
    app.close()
    return repo / ".headcount"


@pytest.mark.parametrize(
    "words", [["sweep"], ["status"], ["sweep", "--dry-run"], ["adopt", "--yes"], ["inbox"]]
)
def test_a_state_that_came_with_a_clone_is_refused_by_every_command(desk: Desk, words: list[str]) -> None:
    make_state(desk.repo)
    desk.git("add", "--force", ".headcount")
    desk.git("commit", "--quiet", "-m", "state of a stranger")
    clone = desk.place / "clone"
    desk.git("clone", "--quiet", str(desk.repo), str(clone))
    answer = desk.answer(*words, cwd=clone)
    assert answer["error"]["code"] == "tracked-state", answer
    assert not (clone / ".headcount/engine.log").exists()


@pytest.mark.parametrize("name", ["state.db", "state.db-wal", "teams/crew/status.json"])
def test_F81_a_state_that_a_pull_brings_into_one_that_was_made_here_is_refused(desk: Desk, name: str) -> None:
    """git overwrites ignored files without a question, and `place.json` is still the user's own."""
    make_state(desk.repo)
    assert desk.answer("status")[0]["team"] == "crew"
    stranger = desk.place / "stranger"
    desk.git("clone", "--quiet", str(desk.repo), str(stranger))
    planted = stranger / ".headcount" / name
    planted.parent.mkdir(parents=True)
    planted.write_bytes(b"planted")
    desk.git("add", "--force", ".headcount", cwd=stranger)
    desk.git("commit", "--quiet", "-m", "state of a stranger", cwd=stranger)
    desk.git("pull", "--quiet", str(stranger), "HEAD")
    assert (desk.repo / ".headcount" / name).read_bytes() == b"planted"
    for words in (["status"], ["sweep"], ["inbox"]):
        answer = desk.answer(*words, GIT_INDEX_FILE=str(desk.place / "another"))  # as below a hook of git
        assert answer["error"]["code"] == "tracked-state", answer


def test_git_is_asked_only_after_the_index_has_changed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    state = make_state(desk.repo)
    check_place(str(state))
    asked: list[str] = []
    monkeypatch.setattr(place, "_check_untracked", asked.append)
    check_place(str(state))
    assert asked == []
    (desk.repo / "new").touch()
    desk.git("add", "new")
    for _ in range(2):
        check_place(str(state))
    assert asked == [str(state)]


def test_a_link_that_came_with_a_clone_is_not_followed(desk: Desk) -> None:
    """It may lead to the state of another repository of the same user."""
    state = make_state(desk.repo)
    other = desk.place / "other"
    desk.git("clone", "--quiet", str(desk.repo), str(other))
    (other / ".headcount").symlink_to(state)
    desk.git("add", "--force", ".headcount", cwd=other)
    assert desk.answer("status", cwd=other)["error"]["code"] == "tracked-state"
    desk.git("rm", "--quiet", "--cached", ".headcount", cwd=other)
    assert desk.answer("status", cwd=other)["error"]["code"] == "moved-state"


def test_a_copied_repository_is_taken_over_only_by_the_command_that_shows_it_first(desk: Desk) -> None:
    make_state(desk.repo)
    copy = desk.place / "copy"
    shutil.copytree(desk.repo, copy, symlinks=True)
    refused = desk.run("sweep", cwd=copy)
    assert refused.returncode == 4 and "[moved-state]" in refused.stderr
    assert "headcount adopt" in refused.stderr

    shown = desk.run("adopt", cwd=copy)
    assert shown.returncode == 1 and "Team crew is active" in shown.stdout, shown.stdout
    assert str(desk.repo) in shown.stdout and "Nothing was changed" in shown.stdout
    assert desk.answer("status", cwd=copy)["error"]["code"] == "moved-state"

    assert desk.run("adopt", "--yes", cwd=copy).returncode == 0
    assert desk.answer("status", cwd=copy)[0]["team"] == "crew"
    assert desk.run("adopt", cwd=copy).returncode == 0
    assert desk.answer("status")[0]["team"] == "crew"  # the original is where it was


def test_state_of_an_older_version_is_accepted_once_and_then_recorded(desk: Desk) -> None:
    state = make_state(desk.repo)
    (state / RECORD).unlink()
    assert desk.answer("status")[0]["team"] == "crew"
    made = read_place(str(state))
    assert made is not None and made.items() >= this_place(str(state)).items()


@pytest.mark.parametrize("field", ["path", "machine", "user"])
def test_another_path_machine_or_user_is_elsewhere(desk: Desk, field: str) -> None:
    state = make_state(desk.repo)
    made = json.loads((state / RECORD).read_text())
    (state / RECORD).write_text(json.dumps({**made, field: "another"}))
    with pytest.raises(WorldError) as refused:
        check_place(str(state))
    assert refused.value.code == "moved-state"


@pytest.mark.parametrize("damage", [b"", b"[" * 100_000, b"\xff", b"[]", None])
def test_a_damaged_record_is_a_record_of_elsewhere(desk: Desk, damage: bytes | None) -> None:
    state = make_state(desk.repo)
    (state / RECORD).unlink()
    if damage is None:
        os.mkfifo(state / RECORD)  # nobody ever writes into it
    else:
        (state / RECORD).write_bytes(damage)
    assert desk.answer("status")["error"]["code"] == "moved-state"


# --- as an unprivileged user ------------------------------------------------------------------------------


def as_nobody(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    program = [
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        sys.executable,
        "-m",
        "headcount",
    ]
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run([*program, *words, "--json"], cwd=cwd, env=environ, capture_output=True, text=True)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody may write, as /tmp is, with a folder of an unprivileged user in it.

    Not below pytest's own: each pytest that starts takes that one away from other users again.
    """
    if os.getuid() != 0:
        pytest.skip("only root can act as two users")
    place = Path(tempfile.mkdtemp(prefix="headcount-test-"))
    place.chmod(0o1777)
    (place / "mine").mkdir()
    os.chown(place / "mine", NOBODY, NOBODY)
    yield place
    shutil.rmtree(place)


def test_settings_of_another_user_in_a_shared_parent_are_not_used(shared: Path) -> None:
    stranger = 65533
    subprocess.run(["git", "init", "--quiet", str(shared)], check=True)
    (shared / "headcount.toml").write_text('[workspace]\nsetup = "touch /tmp/never"\n')
    for path in (shared / "headcount.toml", shared / ".git"):
        os.chown(path, stranger, stranger)
    (shared / "mine/.headcount").mkdir(mode=0o700)
    os.chown(shared / "mine/.headcount", NOBODY, NOBODY)
    done = as_nobody("status", cwd=shared / "mine")
    assert json.loads(done.stdout)["error"]["code"] == "foreign-settings", done.stdout + done.stderr


def test_an_empty_folder_named_git_does_not_end_the_search(shared: Path) -> None:
    (shared / ".git").mkdir()
    (shared / "headcount.toml").write_text("[policy]\nunknown_key = 1\n")
    os.chown(shared / "headcount.toml", 65533, 65533)  # it would be refused if it were found
    (shared / "mine/.headcount").mkdir(mode=0o700)
    os.chown(shared / "mine/.headcount", NOBODY, NOBODY)
    done = as_nobody("status", cwd=shared / "mine")
    assert json.loads(done.stdout) == [], done.stdout + done.stderr


def test_a_state_directory_that_everybody_can_write_is_refused(shared: Path) -> None:
    state = shared / "mine/.headcount"
    state.mkdir()
    os.chown(state, NOBODY, NOBODY)
    state.chmod(0o777)
    done = as_nobody("status", cwd=shared / "mine")
    assert json.loads(done.stdout)["error"]["code"] == "foreign-state", done.stdout + done.stderr


def test_a_state_directory_of_another_user_is_refused(shared: Path) -> None:
    (shared / ".headcount").mkdir(mode=0o755)
    done = as_nobody("status", cwd=shared / "mine")
    assert json.loads(done.stdout)["error"]["code"] == "foreign-state", done.stdout + done.stderr
