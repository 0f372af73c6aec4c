"""Whoever dies in the middle, reality can be read from the record and the mark."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import Place, wait_until

from headcount.errors import ProcessError
from headcount.ports import SpawnSpec
from headcount.runtime import reaper, reaper_client
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.processes import is_alive, read_children
from headcount.runtime.proof import BY_MARK_ONLY, BY_SUBREAPER
from headcount.runtime.reaper import KEEP, OUTPUT, PROCESS, STDIN


def kill_keeper(place: Place) -> None:
    keeper = place.handles[-1].record.keeper
    os.kill(keeper.pid, signal.SIGKILL)
    wait_until(lambda: not place.handles[-1].tree.keeper_alive())


def kill_server(place: Place) -> None:
    """The subreaper above the keepers; what is below it goes to init."""
    above = place.handles[-1].record.above
    os.kill(above.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(above))


@pytest.mark.parametrize("shape", ["stubborn", "daemon", "scrubbed_daemon", "respawner"])
def test_F13_without_its_keeper_a_tree_is_ended_and_proved_by_the_subreaper_above(
    place: Place, shape: str
) -> None:
    handle = place.start_shape(shape)
    wait_until(lambda: len(place.survivors()) > ("daemon" in shape))
    kill_keeper(place)
    wait_until(place.survivors)

    proof = place.runtime.stop(handle, grace_s=0.1)

    assert proof.empty
    assert (proof.method, proof.doubt) == (BY_SUBREAPER, "")
    assert not place.survivors()


@pytest.mark.parametrize("shape", ["stubborn", "daemon", "respawner"])
def test_without_any_subreaper_a_tree_is_ended_by_mark_and_the_proof_says_so(
    place: Place, shape: str
) -> None:
    handle = place.start_shape(shape)
    kill_server(place)
    kill_keeper(place)
    assert place.survivors()

    proof = place.runtime.stop(handle, grace_s=0.1)

    assert proof.empty
    assert proof.method == BY_MARK_ONLY
    assert "may be alive" in proof.doubt
    assert not place.survivors()


def test_without_its_keeper_the_child_of_a_marked_process_is_found_by_descent(plain: Place) -> None:
    handle = plain.start_shape("scrubbed_child")
    kill_keeper(plain)
    assert plain.runtime.stop(handle, grace_s=0.1).empty
    assert not plain.survivors()


def test_an_agent_without_keeper_is_not_killed_by_its_own_output(plain: Place) -> None:
    """The keeper held the writing end of its input: the agent reads an end of file, and goes on."""
    done = plain.directory / "done"
    handle = plain.start("sh", "-c", f"read go; echo more && touch {done}", stdin=True)
    kill_keeper(plain)
    status = plain.runtime.wait_exit(handle, 60)
    assert done.exists()
    assert str(status) == "gone, nobody saw how"
    assert plain.runtime.prove_gone(handle).empty


def test_what_was_seen_before_it_scrubbed_itself_is_ended_even_without_keeper(plain: Place) -> None:
    handle = plain.start_shape("scrubbed_daemon")
    wait_until(lambda: len(plain.runtime.processes(handle)) == 2)
    kill_keeper(plain)
    assert plain.runtime.stop(handle, grace_s=0.1).empty
    assert not plain.survivors()


def test_D11_a_start_that_nobody_waited_for_is_found_and_can_be_ended(plain: Place) -> None:
    """The asker dies as soon as the keeper has answered, before it could register anything."""
    mark = plain.mark()
    engine = f"""
import os, signal
from headcount.ports import SpawnSpec
from headcount.runtime.plain import PlainRuntime
from headcount.runtime import reaper_client
def die_at_the_answer(connection):
    reaper_client.select.select([connection], [], [])
    os.kill(os.getpid(), signal.SIGKILL)
reaper_client._read_reply = die_at_the_answer
PlainRuntime({str(plain.directory)!r}).start(SpawnSpec({mark!r}, ("sleep", "3141"), "/", dict(os.environ)))
"""
    done = subprocess.run([sys.executable, "-c", engine])
    assert done.returncode == -signal.SIGKILL

    assert [str(found) for found in plain.runtime.list_started()] == [mark]
    handle = plain.runtime.cancel(mark)
    assert handle is not None
    plain.handles.append(handle)
    assert plain.runtime.alive(handle)
    assert plain.runtime.list_marked().keys() == {mark}
    proof = plain.runtime.stop(handle, grace_s=5)
    assert proof.empty
    assert proof.method == BY_SUBREAPER
    assert plain.runtime.list_marked() == {}


def test_D11_nothing_starts_when_the_caller_died_before_its_order_was_sent(plain: Place) -> None:
    home = plain.directory / "run" / plain.mark()
    home.mkdir()
    for name in (OUTPUT, STDIN):
        os.mkfifo(home / name)
    server = plain.runtime.shared.server
    with server.connect(KEEP) as connection:
        connection.sendall(b"\0" * 7)
    wait_until(lambda: not read_children(server.identity.pid))
    assert not (home / PROCESS).exists()
    assert plain.runtime.list_marked() == {}


def test_D11_a_start_that_was_called_off_can_no_longer_happen(place: Place) -> None:
    mark = place.mark()
    touched = place.directory / "ran"
    assert place.runtime.cancel(mark) is None
    with pytest.raises(ProcessError) as error:
        place.start("touch", str(touched), mark=mark)
    assert "called off" in error.value.why
    assert not touched.exists()
    assert place.runtime.list_marked() == {}


def test_D11_a_start_whose_answer_came_too_late_is_not_reported_as_failed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is there, the answer is not: it runs, so it must be known."""
    mark = place.mark()

    def read_too_early(connection: Any) -> Any:
        wait_until((place.directory / "run" / mark / PROCESS).exists)
        return "", None

    monkeypatch.setattr(reaper_client, "_read_reply", read_too_early)
    handle = place.start("sleep", "300", mark=mark)
    assert place.runtime.alive(handle)


def test_D2_keeper_killed_before_the_record_means_that_the_agent_never_ran(plain: Place) -> None:
    mark, touched = plain.mark(), plain.directory / "ran"
    keeper = """
import os, signal, sys
sys.path[:0] = [os.path.dirname(sys.argv[1])]
import reaper
reaper.Keeper._write_record = lambda self, place: os.kill(os.getpid(), signal.SIGKILL)
reaper.keep(reaper._socket.socket(fileno=int(sys.argv[2])), False)
"""

    class Runtime(PlainRuntime):
        def connect(self, spec: SpawnSpec, home: str, timeout_s: float) -> socket.socket:
            return start_keeper(keeper)

    with pytest.raises(ProcessError):
        Runtime(str(plain.directory)).start(plain.spec("touch", str(touched), mark=mark))
    assert plain.runtime.adopt(mark) is None
    assert plain.runtime.cancel(mark) is None
    assert not touched.exists()


def start_keeper(code: str) -> socket.socket:
    """An interpreter of its own instead of a fork, so that its code can differ."""
    ours, theirs = socket.socketpair()
    with theirs:
        words = [sys.executable, "-c", code, reaper.__file__, str(theirs.fileno())]
        STARTED.append(subprocess.Popen(words, pass_fds=[theirs.fileno()]))
    return ours


STARTED: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def reap_started() -> Iterator[None]:
    yield
    while STARTED:
        STARTED.pop().wait(60)


def test_D2_the_end_is_on_disk_when_no_engine_was_there_to_see_it(place: Place) -> None:
    handle = place.start("sh", "-c", "exit 7")
    wait_until(lambda: handle.directory.emptied())
    again = place.reopen()
    adopted = again.adopt(handle.record.mark, handle.as_dict())
    assert adopted is not None
    status = again.exit_status(adopted)
    assert status is not None
    assert status.code == 7
    proof = again.prove_gone(adopted)
    assert proof.empty
    assert proof.method == BY_SUBREAPER
    again.close()


def test_members_and_keepers_outlive_the_engine_and_hold_nothing_of_it(plain: Place) -> None:
    """The engine's standard output is a pipe: it ends with the engine, or somebody held it."""
    mark = plain.mark()
    engine = f"""
import os
from headcount.ports import SpawnSpec
from headcount.runtime.plain import PlainRuntime
inherited = os.dup(1)
os.set_inheritable(inherited, True)
PlainRuntime({str(plain.directory)!r}).start(SpawnSpec({mark!r}, ("sleep", "3141"), "/", dict(os.environ)))
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", engine], stdout=subprocess.PIPE, timeout=60)
    assert done.returncode == 0
    handle = plain.runtime.adopt(mark)
    assert handle is not None
    plain.handles.append(handle)
    assert plain.runtime.alive(handle)
    keeper = handle.record.keeper.pid
    for fd in os.listdir(f"/proc/{keeper}/fd"):
        target = os.readlink(f"/proc/{keeper}/fd/{fd}")
        assert target == "/dev/null" or target.startswith(handle.directory.path), target
    assert Path(f"/proc/{keeper}/cwd").readlink() == Path("/")
    assert b"HEADCOUNT_MARK" not in Path(f"/proc/{keeper}/environ").read_bytes()


def test_D11_a_keeper_whose_asker_died_before_the_answer_goes_on_keeping(plain: Place) -> None:
    """Its answer breaks a pipe; that must not break the keeper."""
    mark = plain.mark()
    keeper = """
import os, signal, sys
sys.path[:0] = [os.path.dirname(sys.argv[1])]
import reaper
record, caller = reaper.Keeper._write_record, os.getppid()
def record_and_lose_the_caller(self, place):
    record(self, place)
    os.kill(caller, signal.SIGKILL)
    while os.path.exists(f"/proc/{caller}"):
        pass
reaper.Keeper._write_record = record_and_lose_the_caller
reaper.keep(reaper._socket.socket(fileno=int(sys.argv[2])), False)
"""
    engine = f"""
import os, socket, subprocess, sys
from headcount.ports import SpawnSpec
from headcount.runtime import reaper
from headcount.runtime.process_runtime import ProcessRuntime
class Runtime(ProcessRuntime):
    def connect(self, spec, home, timeout_s):
        ours, theirs = socket.socketpair()
        words = [sys.executable, "-c", {keeper!r}, reaper.__file__, str(theirs.fileno())]
        subprocess.Popen(words, pass_fds=[theirs.fileno()])
        return ours
Runtime({str(plain.directory)!r}).start(SpawnSpec({mark!r}, ("sleep", "3141"), "/", dict(os.environ)))
"""
    assert subprocess.run([sys.executable, "-c", engine]).returncode == -signal.SIGKILL
    handle = plain.runtime.adopt(mark)
    assert handle is not None
    plain.handles.append(handle)
    wait_until(lambda: plain.runtime.list_marked().keys() == {mark})
    assert handle.tree.keeper_alive()
    assert plain.runtime.stop(handle, grace_s=5).empty


def test_marked_processes_without_a_record_are_listed_and_ended_by_mark(place: Place) -> None:
    handle = place.start_shape("daemon")
    shutil.rmtree(handle.directory.path)
    mark = handle.record.mark
    wait_until(lambda: len(place.runtime.list_marked()[mark]) == 2)  # one may be in its exec
    stray = place.runtime.adopt_by_mark(mark)
    proof = place.runtime.stop(stray, grace_s=0.2)
    assert proof.empty
    assert proof.method == BY_SUBREAPER  # the subreaper above its keeper has no child that could be its own
    assert len(proof.processes) == 2
    assert not place.survivors()
    wait_until(lambda: not handle.tree.keeper_alive())


def test_records_of_what_is_alive_are_not_removed(place: Place) -> None:
    handle = place.start_shape("leaver", ready=False)
    place.runtime.wait_exit(handle, 60)
    with pytest.raises(ProcessError) as error:
        place.runtime.discard(handle.record.mark)
    assert error.value.code == "still-alive"
    assert place.runtime.adopt(handle.record.mark) is not None


def test_a_killed_server_is_replaced(plain: Place) -> None:
    first = plain.start("sleep", "300")
    kill_server(plain)
    second = plain.start("sleep", "300")
    assert plain.runtime.alive(first)
    assert plain.runtime.alive(second)
    assert first.record.above != second.record.above
    assert plain.runtime.stop(first, grace_s=5).method == BY_SUBREAPER  # by the seal of its keeper


def test_asking_twice_starts_once(place: Place) -> None:
    mark = place.mark()
    first = place.start("sleep", "300", mark=mark)
    second = place.start("sleep", "300", mark=mark)
    assert first.record == second.record
    assert len(place.runtime.list_marked()[mark]) == 1


def test_a_start_whose_answer_could_not_be_read_is_found_started(
    plain: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = reaper_client._read_reply

    def read_and_break(connection: Any) -> Any:
        read(connection)
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(reaper_client, "_read_reply", read_and_break)
    handle = plain.start("sleep", "1000")
    assert plain.runtime.alive(handle)
