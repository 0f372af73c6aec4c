"""A process that is just changing its program has no environment for a moment, and is ours all the same."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from headcount.runtime.mark import VARIABLE
from headcount.runtime.processes import read_all, read_command_line, read_process

MARK = "hc1.0000000000000000.t.ada.1.00000000"
LOOKS = 60


@pytest.fixture(autouse=True)
def one_core() -> Iterator[None]:
    """Whoever starts a program goes on while the program still waits for its turn."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def start(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env={VARIABLE: MARK, "PATH": os.environ["PATH"]})


def test_a_program_that_has_only_just_been_started_is_seen_with_its_mark() -> None:
    seen = []
    for _ in range(LOOKS):
        with start("sleep", "600") as process:
            found = read_process(process.pid)
            seen.append(found.mark if found else None)
            process.kill()
    assert seen == [MARK] * LOOKS


def test_and_with_its_command_line() -> None:
    seen = []
    for _ in range(LOOKS):
        with start("sleep", "600") as process:
            seen.append(read_command_line(process.pid))
            process.kill()
    assert seen == [["sleep", "600"]] * LOOKS


def test_one_that_never_stops_changing_its_program_is_seen_at_every_look() -> None:
    with start("sh", "-c", 'exec sh -c "$0" "$0"', 'exec sh -c "$0" "$0"') as process:
        seen = [read_all()[process.pid].mark for _ in range(LOOKS)]
        process.kill()
    assert seen == [MARK] * LOOKS


def test_who_has_no_environment_at_all_is_not_waited_for() -> None:
    with start("env", "-i", "sleep", "600") as process:
        while read_command_line(process.pid) != ["sleep", "600"]:
            assert process.poll() is None
        found = read_process(process.pid)
        process.kill()
    assert found is not None and found.mark == ""
