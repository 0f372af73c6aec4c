"""What a member is doing: one line of its client's words, written at most a few times a second."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headcount.app import doing
from headcount.app.doing import DoingFile, one_line


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
