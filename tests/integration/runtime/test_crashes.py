"""Whoever dies in the middle, reality can be read from the record and the mark."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from places import Place, wait_until

from headcount.errors import ProcessError
from headcount.runtime import BY_MARK_ONLY, BY_SUBREAPER, PlainRuntime, handshake
from headcount.runtime.forkserver import KEEPER
from headcount.runtime.keeper import OUTPUT, PROCESS, REPLY, SPEC, STDIN


def kill_keeper(place: Place) -> None:
    keeper = place.handles[-1].record.keeper
    os.kill(keeper.pid, signal.SIGKILL)
    wait_until(lambda: not place.handles[-1].tree.keeper_alive())


@pytest.mark.parametrize("shape", ["stubborn", "daemon", "respawner"])
def test_without_its_keeper_the_tree_is_ended_by_mark_and_the_proof_says_so(place: Place, shape: str) -> None:
    handle = place.start_shape(shape)
    kill_keeper(place)
    assert place.survivors()

    proof = place.runtime.stop(handle, grace_s=0.1)

    assert proof.empty
    assert proof.method == BY_MARK_ONLY
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
    assert plain.runtime.prove_gone(handle).method == BY_MARK_ONLY


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
from headcount.runtime import handshake, PlainRuntime, SpawnSpec
def die_at_the_answer(fd, timeout):
    handshake.select.select([fd], [], [])
    os.kill(os.getpid(), signal.SIGKILL)
handshake._read_reply = die_at_the_answer
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


@pytest.mark.parametrize("wish_is_written", [True, False])
def test_D11_nothing_starts_when_the_asker_died_before_the_keeper_came(
    plain: Place, wish_is_written: bool
) -> None:
    home = plain.directory / "run" / plain.mark()
    home.mkdir()
    for name in (SPEC, REPLY, OUTPUT, STDIN):
        os.mkfifo(home / name)
    reader = os.open(home / REPLY, os.O_RDONLY | os.O_NONBLOCK) if wish_is_written else None
    subprocess.run([*KEEPER, "serve"], input=os.fsencode(home).hex(), text=True, timeout=60)
    if reader is not None:
        wait_until(lambda: _read(reader))
        os.close(reader)
    assert not (home / PROCESS).exists()
    assert plain.runtime.list_marked() == {}


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 100)
    except BlockingIOError:
        return b""


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

    def read_too_early(fd: int, timeout_s: float) -> str:
        wait_until((place.directory / "run" / mark / PROCESS).exists)
        return ""

    monkeypatch.setattr(handshake, "_read_reply", read_too_early)
    handle = place.start("sleep", "300", mark=mark)
    assert place.runtime.alive(handle)


def test_D2_keeper_killed_before_the_record_means_that_the_agent_never_ran(plain: Place) -> None:
    mark, touched = plain.mark(), plain.directory / "ran"
    keeper = """
import os, signal, sys
from headcount.runtime import keeper
keeper.Keeper._record = lambda self, mark, place: os.kill(os.getpid(), signal.SIGKILL)
keeper.serve()
"""
    plain.runtime._forkserver._server = subprocess.Popen(  # type: ignore[attr-defined]
        [sys.executable, "-c", keeper], stdin=subprocess.PIPE
    )
    with pytest.raises(ProcessError):
        plain.start("touch", str(touched), mark=mark)
    assert plain.runtime.adopt(mark) is None
    assert plain.runtime.cancel(mark) is None
    assert not touched.exists()


def test_D2_the_end_is_on_disk_when_no_engine_was_there_to_see_it(place: Place) -> None:
    handle = place.start("sh", "-c", "exit 7")
    wait_until(lambda: handle.directory.emptied())
    again = place.reopen()
    adopted = again.adopt(handle.record.mark)
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
from headcount.runtime import PlainRuntime, SpawnSpec
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
from headcount.runtime import keeper
record, asker = keeper.Keeper._record, os.getppid()
def record_and_lose_the_asker(self, mark, place):
    record(self, mark, place)
    os.kill(asker, signal.SIGKILL)
    while os.path.exists(f"/proc/{asker}"):
        pass
keeper.Keeper._record = record_and_lose_the_asker
keeper.keep(sys.argv[1], False)
"""
    engine = f"""
import os, subprocess, sys
from headcount.runtime import ProcessRuntime, SpawnSpec
class Runtime(ProcessRuntime):
    def launch(self, spec, home):
        subprocess.Popen([sys.executable, "-c", {keeper!r}, home])
Runtime({str(plain.directory)!r}).start(SpawnSpec({mark!r}, ("sleep", "3141"), "/", dict(os.environ)))
"""
    assert subprocess.run([sys.executable, "-c", engine]).returncode == -signal.SIGKILL
    handle = plain.runtime.adopt(mark)
    assert handle is not None
    plain.handles.append(handle)
    wait_until(lambda: plain.runtime.list_marked().keys() == {mark})
    assert handle.tree.keeper_alive()
    assert plain.runtime.stop(handle, grace_s=5).method == BY_SUBREAPER


def test_marked_processes_without_a_record_are_listed_and_ended_by_mark(place: Place) -> None:
    handle = place.start_shape("daemon")
    shutil.rmtree(handle.directory.path)
    mark = handle.record.mark
    wait_until(lambda: len(place.runtime.list_marked()[mark]) == 2)  # one may be in its exec
    stray = place.runtime.adopt_by_mark(mark)
    proof = place.runtime.stop(stray, grace_s=0.2)
    assert proof.empty
    assert proof.method == BY_MARK_ONLY
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


def test_a_killed_forkserver_is_replaced(plain: Place) -> None:
    assert isinstance(plain.runtime, PlainRuntime)
    first = plain.start("sleep", "300")
    server = plain.runtime._forkserver._server
    assert server is not None
    server.kill()
    server.wait()
    second = plain.start("sleep", "300")
    assert plain.runtime.alive(first)
    assert plain.runtime.alive(second)


def test_asking_twice_starts_once(place: Place) -> None:
    mark = place.mark()
    first = place.start("sleep", "300", mark=mark)
    second = place.start("sleep", "300", mark=mark)
    assert first.record == second.record
    assert len(place.runtime.list_marked()[mark]) == 1


def test_a_start_whose_answer_could_not_be_read_is_found_started(
    plain: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = handshake._read_reply

    def read_and_break(fd: int, timeout_s: float) -> str:
        read(fd, timeout_s)
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(handshake, "_read_reply", read_and_break)
    handle = plain.start("sleep", "1000")
    assert plain.runtime.alive(handle)
