"""What a member is doing: one line of its client's words, written at most a few times a second."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headcount.app import doing
from headcount.app.doing import DoingFile, DoingReader, one_line


@pytest.fixture
def team(tmp_path: Path) -> Path:
    (tmp_path / "teams/t").mkdir(parents=True)
    return tmp_path / "teams/t"


def _read(team: Path) -> str:
    return str(json.loads((team / "doing/ada-2.json").read_text())["text"])


def test_a_flood_is_written_a_few_times_and_its_last_line_is_shown(
    team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = DoingFile(str(team.parent.parent), "t", "ada#2")
    written = []
    monkeypatch.setattr(os, "replace", lambda old, new: (written.append(new), os.rename(old, new)))
    for number in range(2000):
        file.report(f"editing {number}.py")
    assert len(written) < 20
    assert file._timer is not None
    file._timer.join()
    assert _read(team) == "editing 1999.py"


def test_it_never_fails_and_makes_no_directory_of_a_closed_team(tmp_path: Path) -> None:
    DoingFile(str(tmp_path), "t", "ada#1").report("editing x.py")
    assert not (tmp_path / "teams").exists()


def test_the_words_of_a_client_become_one_visible_line() -> None:
    hostile = "running \x1b[2Jrm\n\u202e\u200b\U000e0041-rf\x07 ~" + "x" * 10_000
    line = one_line(hostile)
    assert line.startswith("running [2Jrm -rf ~x") and line.endswith("…")
    assert len(line) == doing._LONGEST and line.isprintable()


# --- reading


def _reader(team: Path, **starts: str) -> Callable[[], dict[str, str]]:
    reader = DoingReader(str(team.parent.parent), "t")

    def read() -> dict[str, str]:
        keys = [f"{name}#1" for name in ("ada", "ben", "cy", "dan", "eve")]
        found = reader.read(keys, lambda key: {"agent": "command", "mark": starts.get(key.partition("#")[0])})
        return {key.partition("#")[0]: one["text"] for key, one in found.items()}

    return read


def test_a_file_that_a_member_put_there_is_not_waited_for_and_not_believed(team: Path) -> None:
    (team / "doing").mkdir()
    secret = team / "secret"
    secret.write_text('{"text": "a secret", "at": 1.0}')
    (team / "doing/ada-1.json").symlink_to(secret)
    os.mkfifo(team / "doing/ben-1.json")
    (team / "doing/cy-1.json").write_text('{"text": "x", "at": 1e999}')
    (team / "doing/dan-1.json").write_text("[" * 3000)
    (team / "doing/eve-1.json").write_text(json.dumps({"text": "running \x1b[2J", "at": 1.0}))
    assert _reader(team)() == {"eve": "running [2J"}


def test_a_line_that_was_replaced_at_once_is_read(team: Path) -> None:
    """Two writes within one tick of the clock: the time of the directory does not tell them apart."""
    read = _reader(team)
    for number in range(50):
        DoingFile(str(team.parent.parent), "t", "ada#1").report(f"editing {number}.py")
        assert read() == {"ada": f"editing {number}.py"}


def test_a_plain_command_shows_the_last_line_that_it_printed(team: Path) -> None:
    log = team.parent.parent / "run/m-1"
    log.mkdir(parents=True)
    read = _reader(team, ada="m-1")
    assert read() == {}
    (log / "log.0").write_bytes(b"first\n\x1b[32mPASS\x1b[0m 12 tests\n\n   \n")
    assert read() == {"ada": "PASS 12 tests"}
    with (log / "log.0").open("ab") as file:
        file.write(b"last")
    assert read() == {"ada": "last"}
