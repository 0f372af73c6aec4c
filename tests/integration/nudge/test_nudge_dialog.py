"""Nobody types into a dialog: not a nudge, not the way to exit, however urgent; a person alone answers it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headcount.ports import SpawnSpec
from headcount.runtime.mark import new_mark
from headcount.runtime.tmux import TmuxRuntime

from .desk import CHECK, Desk, wait_until

HOLD = r"^ ❯ \d+\. (?![\s\S]*^>( |$))"
# A dialog that takes every key, then a prompt that reads lines.
PROGRAM = """
printf ' Proceed?\\n ❯ 1. Yes\\n   2. No\\n'; stty -icanon -echo
read -r -n 1 key; printf '%s' "$key" > answer; stty icanon echo
while IFS= read -e -r -p "> " line; do printf '%s\\n' "$line" >> heard; done
"""


@pytest.fixture
def asked(desk: Desk) -> Desk:
    mark = str(new_mark(desk.runtime.state_id, "web", "ada", 1))
    env = {"PATH": os.environ["PATH"], "TERM": "screen", "LC_ALL": "C.UTF-8"}
    argv = ("bash", "-c", PROGRAM)
    desk.handle = desk.runtime.start(SpawnSpec(mark, argv, str(desk.directory), env, hold=HOLD))
    wait_until(lambda: "2. No" in desk.screen())
    return desk


@pytest.mark.parametrize("urgent", [False, True])
def test_a_nudge_waits_until_a_person_has_answered(asked: Desk, urgent: bool) -> None:
    for runtime in (asked.runtime, TmuxRuntime(str(asked.directory))):  # one after a crash knows it too
        assert not runtime.nudge(asked.handle, CHECK, urgent=urgent, tag="n1")
    assert not (asked.directory / "answer").exists()

    asked.person_presses("2")
    wait_until(lambda: asked.screen().rstrip().endswith(">"))
    assert asked.runtime.nudge(asked.handle, CHECK, urgent=urgent, tag="n1")
    assert (asked.directory / "answer").read_text() == "2"
    wait_until(lambda: asked.heard() == [CHECK])


def test_its_way_to_exit_is_not_typed_either(asked: Desk) -> None:
    assert not asked.runtime.request_exit(asked.handle, "/exit", 1.0)
    assert not (asked.directory / "answer").exists()


def test_the_member_cannot_change_what_is_taken_for_a_dialog(asked: Desk) -> None:
    """It can write every file below `run/`: a pattern that never fits, one that takes for ever, or a pipe."""
    known = asked.handle.as_dict()
    place = asked.handle.directory
    record = json.loads(Path(place.file("process.json")).read_text())
    Path(place.file("process.json")).write_text(json.dumps({**record, "hold": "(x+x+)+y|never"}))
    os.mkfifo(place.file("hold"))
    again = TmuxRuntime(str(asked.directory))
    for handle in (again.adopt(asked.handle.record.mark, known), again.adopt(record["mark"], {"hold": HOLD})):
        assert handle is not None and handle.record.hold == HOLD
        assert not again.nudge(handle, CHECK, urgent=True, tag="n1")
        handle.close()
    unknown = again.adopt(record["mark"])
    assert unknown is not None and unknown.record.hold == ""
    unknown.close()
