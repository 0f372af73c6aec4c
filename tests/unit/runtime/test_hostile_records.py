"""What a member may put into its own directory below `run/`, and what the engine makes of it."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from headcount.errors import ProcessError
from headcount.runtime import log, reaper
from headcount.runtime.containment import Cgroup
from headcount.runtime.log import end_of_log, last_written, read_log, read_tail
from headcount.runtime.mark import state_id
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.start_record import (
    ExitStatus,
    Said,
    SpawnDirectory,
    make_tmux_directory,
    remove_tmux_directory,
)
from headcount.tree_removal import remove_tree


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


def test_a_pipe_that_took_the_place_of_a_log_just_now_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "log.0")
    monkeypatch.setattr(log, "_segments", lambda home: [(0, 100)])  # as it was a moment ago
    assert read_log(str(tmp_path)).data == b""


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


@pytest.mark.parametrize("size", [70_000, 1 << 40])
def test_a_record_larger_than_any_that_a_keeper_writes_is_damaged(tmp_path: Path, size: int) -> None:
    """Without its size it would be a good one: the rest is blanks, or a terabyte that nobody reads."""
    path = tmp_path / reaper.EXIT
    good = b'{"code": 0, "signal": null, "at": 1.0, "error": ""}'
    path.write_bytes(good)
    directory = SpawnDirectory(str(tmp_path))
    assert directory.exit_status() == ExitStatus(0, None, 1.0)
    path.write_bytes(good.ljust(70_000))
    os.truncate(path, size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert directory.exit_status() is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "bytes"])
def test_a_record_of_nudges_that_a_member_replaced_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "said"
    {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "directory": path.mkdir,
        "bytes": lambda: path.write_bytes(b"\xff\xfe took one\n"),
    }[kind]()
    said = Said(str(path))
    said.put("one")
    said.took("one")
    assert not said.waits("two") and not said.taken("two")


def test_the_log_is_written_to_no_pipe_and_through_no_link(tmp_path: Path) -> None:
    """A member knows where the next part begins. Output is lost then, and the keeper goes on."""
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / "log.4").symlink_to(target)
    os.mkfifo(tmp_path / "log.8")
    log = reaper.Log(str(tmp_path), 16)
    for _ in range(4):
        log.write(b"four")
    assert target.read_text() == "mine"
    assert (tmp_path / "log.0").read_bytes() == b"four"


def test_standard_input_that_a_member_replaced_takes_no_nudge(tmp_path: Path) -> None:
    """Neither a file of the user's, nor the standard input of another member."""
    target, other, path = tmp_path / "target", tmp_path / "other", tmp_path / reaper.STDIN
    target.write_text("mine")
    os.mkfifo(other)
    reader = os.open(other, os.O_RDWR | os.O_NONBLOCK)
    handle = SimpleNamespace(directory=SpawnDirectory(str(tmp_path)))
    for place in (target, other, None):
        path.touch() if place is None else path.symlink_to(place)
        assert not PlainRuntime.put_in_front(None, handle, "text", False)  # type: ignore[arg-type]
        path.unlink()
    with pytest.raises(BlockingIOError):
        os.read(reader, 1)
    os.close(reader)
    assert target.read_text() == "mine"


def test_a_seed_that_cannot_be_read_is_an_error_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "id")
    with pytest.raises(ProcessError):
        state_id(str(tmp_path))


@pytest.fixture
def nest() -> Iterator[Callable[[Path], Path]]:
    """Makes a directory with 1,500 others below each other, which pytest itself could not remove."""
    made = []

    def make(top: Path) -> Path:
        here = os.getcwd()
        made.append(str(top))
        top.mkdir()
        try:
            os.chdir(top)
            for _ in range(1500):
                os.mkdir("d")
                os.chdir("d")
        finally:
            os.chdir(here)
        return top

    yield make
    subprocess.run(["rm", "-rf", "--", *made], check=True)


def test_sockets_of_a_member_are_removed_beside_directories_without_end(
    tmp_path: Path, nest: Callable[[Path], Path]
) -> None:
    """A failure here would make the proof that the member is gone impossible."""
    place = Path(make_tmux_directory(str(tmp_path), "mark"))
    nest(place / "deep")
    own = place / f"tmux-{os.getuid()}"
    own.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(own / "default"))
        remove_tmux_directory(str(tmp_path), "mark")
    assert not own.exists() and (place / "deep").exists()
    subprocess.run(
        ["rm", "-rf", "--", str(place)], check=True
    )  # where sockets have short paths, it is elsewhere


def test_F82_directories_of_any_depth_and_without_rights_are_removed(
    tmp_path: Path, nest: Callable[[Path], Path]
) -> None:
    """Python alone fails at a thousand levels, and a team could not be closed."""
    top = nest(tmp_path / "top")
    kept = tmp_path / "kept"
    kept.write_text("kept")
    (top / "link").symlink_to(tmp_path)
    (top / "sealed").mkdir()
    (top / "sealed/file").touch()
    (top / "sealed").chmod(0)
    remove_tree(str(top))
    assert not top.exists() and kept.read_text() == "kept"
    remove_tree(str(top))


def test_cgroups_that_a_member_nested_without_end_are_read_and_removed(
    tmp_path: Path, nest: Callable[[Path], Path]
) -> None:
    """Here directories stand for them."""
    deep = nest(tmp_path / "cgroup")
    cgroup = Cgroup(str(deep))
    assert cgroup.processes() == []
    cgroup.remove()
    assert not deep.exists()
