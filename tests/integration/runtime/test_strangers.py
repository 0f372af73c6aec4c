"""I10: nothing that we did not start is signalled, matched by prefix, or deleted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import SHAPES, Place, sessions, wait_until

from headcount.ports import SpawnSpec
from headcount.runtime.mark import new_mark
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.processes import send_signal
from headcount.runtime.reaper import PROCESS, boot_id, start_time
from headcount.runtime.start_record import Identity
from headcount.runtime.tmux import TmuxRuntime


@pytest.fixture
def bystander(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else's: the same program, the same arguments but the token, the same directory."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(SHAPES), "polite", "bystander"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def state_of(pid: int) -> str:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat[stat.rindex(")") + 2]


def test_C12_same_program_in_the_same_directory_is_untouched(
    place: Place, bystander: subprocess.Popen[bytes]
) -> None:
    handle = place.start_shape("stubborn")
    assert place.runtime.pause(handle).confirmed
    assert state_of(bystander.pid) != "T"
    proof = place.runtime.stop(handle, grace_s=0.1)
    assert proof.empty
    assert bystander.pid not in {process.pid for process in proof.processes}
    assert bystander.poll() is None


def test_C10_neighbour_whose_name_starts_alike_is_untouched(place: Place) -> None:
    first = place.start_shape("polite")
    neighbours = [
        place.start("sleep", "300", mark=place.mark(team="web-2")),
        place.start("sleep", "300", mark=place.mark(member="alice-2")),
        place.start("sleep", "300", mark=first.record.mark + "0"),
    ]
    assert place.runtime.stop(first, grace_s=1).empty
    assert all(place.runtime.alive(neighbour) for neighbour in neighbours)


def test_a_recycled_agent_pid_is_not_ours(plain: Place, bystander: subprocess.Popen[bytes]) -> None:
    """The record of a process that ended long ago; its number belongs to the bystander now."""
    mark = plain.mark()
    home = plain.directory / "run" / mark
    home.mkdir()
    record = {"mark": mark, "boot": boot_id(), "at": 0.0, "place": []}
    record |= {"pid": bystander.pid, "start": start_time(bystander.pid) - 1}
    record |= {"keeper": bystander.pid, "keeper_start": start_time(bystander.pid) - 1}
    (home / PROCESS).write_text(json.dumps(record))

    handle = plain.runtime.adopt(mark)
    assert handle is not None
    assert handle.exit_fd is None
    assert not plain.runtime.alive(handle)
    assert plain.runtime.processes(handle) == ()
    assert plain.runtime.terminate(handle) == 0
    assert not plain.runtime.request_exit(handle)
    assert plain.runtime.kill(handle).empty
    assert bystander.poll() is None


def test_a_pid_and_start_time_of_an_earlier_boot_is_not_ours(
    plain: Place, bystander: subprocess.Popen[bytes]
) -> None:
    mark = plain.mark()
    home = plain.directory / "run" / mark
    home.mkdir()
    record = {"mark": mark, "boot": "an earlier boot", "at": 0.0, "place": []}
    record |= {"pid": bystander.pid, "start": start_time(bystander.pid)}
    record |= {"keeper": bystander.pid, "keeper_start": start_time(bystander.pid)}
    (home / PROCESS).write_text(json.dumps(record))

    handle = plain.runtime.adopt(mark)
    assert handle is not None
    assert not plain.runtime.alive(handle)
    proof = plain.runtime.kill(handle)
    assert proof.empty
    assert proof.method == "reboot+mark"
    assert bystander.poll() is None


def test_a_signal_never_goes_to_ourselves_or_to_a_wrong_start_time(
    bystander: subprocess.Popen[bytes],
) -> None:
    import signal

    assert not send_signal(Identity(os.getpid(), start_time(os.getpid())), signal.SIGKILL)
    assert not send_signal(Identity(bystander.pid, start_time(bystander.pid) + 1), signal.SIGKILL)
    assert bystander.poll() is None


def test_a_mark_of_another_state_directory_is_not_listed(tmp_path: Path) -> None:
    ours, theirs = PlainRuntime(_made(tmp_path / "a")), PlainRuntime(_made(tmp_path / "b"))
    mark = str(new_mark(theirs.state_id, "web", "alice", 1))
    handle = theirs.start(SpawnSpec(mark, ("sleep", "300"), "/", {"PATH": os.environ["PATH"]}))
    try:
        assert list(theirs.list_marked()) == [mark]
        assert ours.list_marked() == {}
    finally:
        assert theirs.kill(handle).empty
        handle.close()
        ours.close()
        theirs.close()


def _made(path: Path) -> str:
    path.mkdir()
    return str(path)


def test_C11_neighbouring_session_whose_name_starts_alike_is_untouched(tmux: Place) -> None:
    """On our own socket, and on another server."""
    runtime = tmux.runtime
    assert isinstance(runtime, TmuxRuntime)
    handle = tmux.start_shape("stubborn")
    name = runtime._tmux("display-message", "-p", "-t", handle.record.pane, "#{session_name}").strip()
    other = str(tmux.directory / "other.sock")
    for socket, alike in ((runtime.socket, f"{name}_5"), (runtime.socket, name[:-1]), (other, name)):
        command = ["tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-s", alike, "sleep 300"]
        subprocess.run(command, check=True, env={"PATH": os.environ["PATH"]})
    try:
        assert runtime.stop(handle, grace_s=0.1).empty
        wait_until(lambda: len(sessions(runtime)) == 2)
        listed = subprocess.run(["tmux", "-S", other, "ls", "-F", "#S"], capture_output=True, text=True)
        assert listed.stdout.strip() == name
        # Its ids are gone now; using them again must not reach the neighbours.
        assert not runtime.nudge(handle, "exit")
        assert len(sessions(runtime)) == 2
    finally:
        subprocess.run(["tmux", "-S", other, "kill-server"], check=True)
