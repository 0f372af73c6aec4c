"""The environment of a team, held in memory beside those of other teams of the same user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headcount.engine import held_environment


def test_a_file_that_another_process_removes_first_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_environment, "_PLACES", (str(tmp_path / "memory"),))
    (tmp_path / "memory").mkdir()
    gone = held_environment.hold(str(tmp_path / "never-there"), "crew#1", {"A": "1"})
    unlink = os.unlink

    def remove_twice(path: str) -> None:
        unlink(path)
        unlink(path)

    monkeypatch.setattr(os, "unlink", remove_twice)
    (tmp_path / "home").mkdir()
    held = held_environment.hold(str(tmp_path / "home"), "crew#1", {"A": "2"})
    assert not os.path.exists(gone["held_in"])
    assert held_environment.read(held)["A"] == "2"
    held_environment.forget(held)
    assert not os.path.exists(held["held_in"])
