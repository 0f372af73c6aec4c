"""What a client prints in one turn: every line of it, and no wait for what it has left running."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from headcount.agents.host import host_process
from headcount.agents.host.host_process import read_lines


def lines(script: str, errors: list[bytes] | None = None) -> list[str]:
    pipe = subprocess.PIPE
    with subprocess.Popen(["sh", "-c", script], stdout=pipe, stderr=pipe) as child:
        return list(read_lines(child, errors.append if errors is not None else lambda _: None))


def test_every_line_is_read_also_the_last_without_an_end() -> None:
    assert lines("printf 'one\\ntwo\\n\\nthree'") == ["one\n", "two\n", "\n", "three"]
    assert lines("printf '\\344\\n'") == ["\N{REPLACEMENT CHARACTER}\n"]
    assert lines("true") == []


def test_its_standard_error_is_passed_on_as_it_comes() -> None:
    errors: list[bytes] = []
    assert lines("echo out; echo 'no disk' >&2", errors) == ["out\n"]
    assert b"".join(errors) == b"no disk\n"


def test_a_line_longer_than_a_pipe_is_one_line() -> None:
    (line,) = lines("head -c 3000000 /dev/zero | tr '\\0' x; echo")
    assert line == "x" * 3_000_000 + "\n"


def test_who_closes_its_output_is_waited_for() -> None:
    began = time.monotonic()
    assert lines("echo said; exec >&-; sleep 0.3") == ["said\n"]
    assert time.monotonic() - began >= 0.3


@pytest.mark.timeout(60)
def test_a_turn_is_over_with_the_client_whatever_it_has_left_running() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(["sh", "-c", "sleep 300 & echo $!"], stdout=pipe, stderr=pipe) as child:
        (left,) = read_lines(child, lambda _: None)
    os.kill(int(left), signal.SIGKILL)  # it is there still


def test_F123_a_long_line_costs_time_by_its_length_and_not_by_the_square_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_process, "_read", lambda *_: iter([b"x" * 4096] * 4096 + [b"\nend"]))
    begun = time.process_time()
    long, end = read_lines(None, lambda _: None)  # type: ignore[arg-type]
    assert (len(long), end) == (4096 * 4096 + 1, "end")
    assert time.process_time() - begun < 3  # of the processor; it was 20 s
