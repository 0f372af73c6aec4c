from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.runtime import log as log_reader
from headcount.runtime.log import plain_text, read_log, read_tail
from headcount.runtime.reaper import Log


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=50), max_size=40), st.integers(min_value=4, max_value=200))
def test_the_log_is_bounded_and_keeps_head_and_tail(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], limit: int
) -> None:
    home = str(tmp_path_factory.mktemp("log"))
    log = Log(home, limit)
    for piece in pieces:
        log.write(piece)
    whole = b"".join(pieces)
    segment = limit // 4

    assert sum(path.stat().st_size for path in Path(home).iterdir()) <= limit
    assert read_log(home).data == whole[:segment]
    tail = read_tail(home, 2 * segment)
    assert tail == whole[len(whole) - len(tail) :]
    assert len(tail) == min(len(whole), 2 * segment)


def test_a_reader_behind_a_gap_is_told_where_it_goes_on(tmp_path: Path) -> None:
    log = Log(str(tmp_path), 40)
    log.write(bytes(range(100)))
    head = read_log(str(tmp_path))
    assert head.data == bytes(range(10))
    after_the_gap = read_log(str(tmp_path), head.end)
    assert after_the_gap.offset == 70
    assert after_the_gap.data == bytes(range(70, 80))


def test_a_part_that_is_dropped_while_it_is_read_is_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Log(str(tmp_path), 40).write(bytes(range(100)))
    listed = [(0, 10), (10, 10), (70, 10), (80, 10), (90, 10)]  # with one that has gone since
    monkeypatch.setattr(log_reader, "_segments", lambda _: listed)
    assert read_log(str(tmp_path), 10) == (bytes(range(70, 80)), 70, 80)


def test_a_full_disk_costs_the_output_that_did_not_fit_and_none_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(str(tmp_path), 40)
    log.write(b"a" * 40)
    with monkeypatch.context() as full:
        full.setattr(os, "write", _no_space)
        for _ in range(10):
            log.write(b"b" * 5)
    log.write(b"c" * 5)
    assert read_tail(str(tmp_path), 100) == b"a" * 30 + b"c" * 5


def _no_space(fd: int, data: bytes) -> int:
    raise OSError(errno.ENOSPC, "no space left on device")


def test_output_that_cannot_be_written_is_dropped_and_later_output_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "gone"
    log = Log(str(home), 1000)
    log.write(b"lost")
    home.mkdir()
    log.write(b"kept")
    assert read_log(str(home)) == (b"kept", 4, 8)


def test_text_for_a_terminal_has_neither_sequences_nor_control_characters() -> None:
    assert (
        plain_text(b"\x1b[1;31mred\x1b[0m\x07 \x1b]0;title\x07a\x1b(Bb\r\nc\td\x9b\xff") == "red ab\nc\td��"
    )
    assert plain_text(b"\x1b]52;c;cGF5bG9hZA==\x1b\\after") == "after"
    assert plain_text(b"\x1b]0;never ended") == ""
