"""A state directory that was copied, or moved, while its members were alive."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from places import Place

from headcount.errors import ProcessError
from headcount.runtime.plain import PlainRuntime

_PIPES = shutil.ignore_patterns("output", "stdin", "spec", "reply")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Its state is not beside what the test makes."""
    (tmp_path / "state").mkdir()
    return Place(PlainRuntime(str(tmp_path / "state")), tmp_path)


def test_C12_a_copy_does_not_touch_the_members_of_the_original(place: Place, tmp_path: Path) -> None:
    handle = place.start_shape("scrubbed_daemon")
    try:
        shutil.copytree(tmp_path / "state", tmp_path / "copy", ignore=_PIPES)
        copy = PlainRuntime(str(tmp_path / "copy"))
        mark = handle.record.mark

        for adopting in (copy.adopt, copy.adopt_by_mark):
            with pytest.raises(ProcessError) as refused:
                adopting(mark)
            assert refused.value.code == "another-state"
        assert mark not in copy.list_marked()
        assert place.runtime.kill(handle).empty
        assert copy.adopt(mark) is not None  # what is gone can be spoken of
    finally:
        place.clean_up()


def test_members_of_a_directory_that_was_moved_are_found_there(place: Place, tmp_path: Path) -> None:
    handle = place.start_shape("scrubbed_daemon")
    try:
        (tmp_path / "state").rename(tmp_path / "moved")
        moved = PlainRuntime(str(tmp_path / "moved"))

        found = moved.adopt(handle.record.mark)

        assert found is not None
        assert moved.kill(found).empty
        assert not place.survivors()
    finally:
        place.clean_up()
