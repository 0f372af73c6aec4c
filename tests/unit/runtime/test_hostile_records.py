"""What a member may put into its own directory below `run/`, and what the engine makes of it."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from headcount.runtime import reaper
from headcount.runtime.log import end_of_log, last_written, read_log, read_tail


def test_a_pipe_or_a_link_in_the_place_of_a_log_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "log.0").write_bytes(b"head\n")
    os.mkfifo(tmp_path / "log.5")
    (tmp_path / "log.6").symlink_to("/dev/zero")
    (tmp_path / "other").write_bytes(b"x" * 100)
    (tmp_path / "log.7").symlink_to(tmp_path / "other")
    (tmp_path / "log.8").mkdir()
    assert (end_of_log(str(tmp_path)), read_tail(str(tmp_path), 100)) == (5, b"head\n")
    assert read_log(str(tmp_path), 5).data == b""
    assert last_written(str(tmp_path)) > 0


def test_a_log_that_becomes_a_pipe_while_it_is_read_is_not_waited_for(tmp_path: Path) -> None:
    """The member exchanges both as fast as it can."""
    (tmp_path / "file").write_bytes(b"x" * 100)
    os.mkfifo(tmp_path / "pipe")
    stop = threading.Event()

    def exchange() -> None:
        while not stop.is_set():
            for kind in ("file", "pipe"):
                os.link(tmp_path / kind, tmp_path / "next")
                os.rename(tmp_path / "next", tmp_path / "log.0")

    thread = threading.Thread(target=exchange, daemon=True)
    thread.start()
    try:
        for _ in range(2000):
            assert read_log(str(tmp_path)).data in (b"", b"x" * 100)
    finally:
        stop.set()
        thread.join()


def test_a_terabyte_in_the_place_of_a_log_costs_its_tail(tmp_path: Path) -> None:
    with open(tmp_path / "log.0", "wb") as file:
        file.truncate(1 << 40)
    assert read_tail(str(tmp_path), 4000) == b"\0" * 4000


@pytest.mark.parametrize(
    "message",
    [
        ("started", {"pid": 1, "seal": "00", "at": 1.5, "place": ["%1", "$1", "7"], "none": None}),
        (0, 1, True, False, None, -1, 2**63, 0.25),
        ('\x1b"\\\n\0', "\udcff", "\u20ac \U0001f600", "", {"": []}),
    ],
)
def test_a_message_arrives_as_it_was_sent(message: tuple[object, ...]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reaper.send(ours, *message)  # type: ignore[arg-type]
        assert repr(reaper.receive(theirs)) == repr(message)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[", b"[1] x", b"\xff", b"[" * 200_000, b"nul", b"(1,)", b"\xe3\x00\x00\x00"]
)
def test_bytes_that_are_no_message_are_none(body: bytes) -> None:
    assert reaper.read_message(body) == ()
