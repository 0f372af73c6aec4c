"""A removal that was refused half way, because something appeared, can be asked for again."""

from __future__ import annotations

from pathlib import Path

import pytest
from gitworld import World, gone

from headcount.workspace.remove import Refused, Removed, _Gate, remove
from headcount.workspace.snapshot import FILES
from headcount.workspace.verify import read_saved


def test_what_appeared_during_a_removal_is_saved_and_removed_when_asked_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = world.member()
    late = Path(member.path) / "late.txt"
    listed = _Gate.look

    def and_then_somebody_writes(self: _Gate) -> object:
        passed = listed(self)
        late.write_text("late\n")
        return passed

    with monkeypatch.context() as patched:
        patched.setattr(_Gate, "look", and_then_somebody_writes)
        assert isinstance(remove(world.repo, member, gone(member)), Refused)
    assert isinstance(remove(world.repo, member, gone(member)), Refused)  # nothing of it was saved yet
    saved = world.salvage(member)

    assert isinstance(remove(world.repo, member, gone(member)), Removed)
    assert FILES + b"late.txt" in read_saved(world.repo, saved.ref).leaves
