"""Records that were removed or damaged while what they tell of is alive: it is found all the same."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from places import SHAPES, Place, wait_until

from headcount.runtime import reaper_client
from headcount.runtime.log import end_of_log
from headcount.runtime.process_runtime import Handle
from headcount.runtime.proof import BY_SUBREAPER
from headcount.runtime.reaper import EMPTY, EXIT, PROCESS
from headcount.runtime.tmux import TmuxRuntime


def scrubbed(place: Place) -> Handle:
    """An agent that has left a daemon without environment: its descent alone tells whose it is."""
    handle = place.start_shape("scrubbed_daemon")
    wait_until(lambda: len(place.survivors()) == 2)
    # Its log is begun a moment after its screen shows it, and would be made in a directory that is removed.
    wait_until(lambda: end_of_log(handle.directory.path))
    return handle


def test_C13_without_records_what_scrubbed_itself_is_ended_by_its_descent(place: Place) -> None:
    handle = scrubbed(place)
    shutil.rmtree(handle.directory.path)
    runtime = place.reopen()

    proof = runtime.stop(runtime.adopt_by_mark(handle.record.mark), grace_s=0.2)

    assert proof.empty
    assert len(proof.processes) == 2
    assert not place.survivors()


def test_what_scrubbed_itself_is_listed_when_neither_a_record_nor_a_marked_process_is_left(
    place: Place,
) -> None:
    handle = scrubbed(place)
    shutil.rmtree(handle.directory.path)
    os.kill(handle.record.agent.pid, 9)
    wait_until(lambda: len(place.survivors()) == 1)

    marked = place.reopen().list_marked()

    assert [process.pid for process in marked[handle.record.mark]] == place.survivors()


def test_a_process_that_calls_itself_a_keeper_is_not_taken_for_one(plain: Place) -> None:
    name = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'hc-keeper'); print('named', flush=True)"
    handle = plain.start(sys.executable, "-c", f"{name}; time.sleep(300)", plain.token)
    wait_until(lambda: "named" in plain.runtime.capture(handle))
    shutil.rmtree(handle.directory.path)

    stray = plain.reopen().adopt_by_mark(handle.record.mark)

    assert stray.record.keeper == handle.record.keeper


def test_D11_a_start_whose_records_are_removed_at_once_is_not_said_to_have_failed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = place.mark()
    home = Path(place.runtime.state_directory, "run", mark)
    answer = reaper_client._read_reply

    def after_the_removal(connection: Any) -> Any:
        said = answer(connection)
        wait_until(lambda: not home.exists())
        return said

    monkeypatch.setattr(reaper_client, "_read_reply", after_the_removal)
    removing = f'rm -rf {home}; exec "$@"'
    argv = ("sh", "-c", removing, "sh", sys.executable, "-I", "-S", str(SHAPES), "stubborn", place.token)

    handle = place.start(*argv, mark=mark)

    wait_until(place.survivors)
    assert place.runtime.kill(handle).empty
    assert not place.survivors()


@pytest.mark.parametrize("damage", ["{", "{}", "[]", "a pipe"])
def test_a_damaged_record_is_worth_no_more_than_none(plain: Place, damage: str) -> None:
    handle = scrubbed(plain)
    record = Path(handle.directory.file(PROCESS))
    record.unlink()
    if damage == "a pipe":
        os.mkfifo(record)
    else:
        record.write_text(damage)
    runtime = plain.reopen()

    again = runtime.adopt(handle.record.mark)
    assert again is not None
    assert (again.record.agent, again.record.keeper) == (handle.record.agent, handle.record.keeper)
    proof = runtime.stop(again, grace_s=0.2)

    assert proof.empty
    assert proof.method == BY_SUBREAPER
    assert not plain.survivors()


def test_D8_an_agent_whose_records_are_gone_is_watched_and_seen_to_end(place: Place) -> None:
    handle = place.start_shape("polite")
    shutil.rmtree(handle.directory.path)
    runtime = place.reopen()

    again = runtime.cancel(handle.record.mark)
    assert again is not None and runtime.alive(again)
    os.kill(handle.record.agent.pid, signal.SIGKILL)

    assert runtime.wait_exit(again, 60) is not None
    assert runtime.prove_gone(again).empty
    assert runtime.adopt(handle.record.mark) is None


def test_I1_an_agent_whose_record_is_damaged_at_its_start_is_not_taken_for_dead(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = place.mark()
    record = Path(place.runtime.state_directory, "run", mark, PROCESS)
    answer = reaper_client._read_reply

    def after_the_damage(connection: Any) -> Any:
        said = answer(connection)
        record.write_text("{")
        return said

    monkeypatch.setattr(reaper_client, "_read_reply", after_the_damage)
    handle = place.start(sys.executable, "-I", "-S", str(SHAPES), "polite", place.token, mark=mark)

    assert place.runtime.alive(handle)


def test_an_end_that_was_recorded_and_cannot_be_read_is_one_that_nobody_saw(plain: Place) -> None:
    handle = plain.start_shape("polite")
    assert plain.runtime.stop(handle, grace_s=5).empty
    for name in (EXIT, EMPTY):
        Path(handle.directory.file(name)).write_text("{")
    again = plain.reopen().adopt(handle.record.mark)

    assert again is not None
    assert plain.runtime.prove_gone(again).empty
    assert str(plain.runtime.exit_status(again)) == "gone, nobody saw how"


def test_what_is_put_back_is_as_good_as_what_was_removed(place: Place) -> None:
    handle = place.start_shape("polite")
    shutil.rmtree(handle.directory.path)

    place.runtime.put_back(handle)
    again = place.reopen().adopt(handle.record.mark)

    assert again is not None and again.record == handle.record
    proof = place.runtime.stop(again, grace_s=5)
    assert proof.empty and proof.method == BY_SUBREAPER
    assert place.runtime.exit_status(again) is not None
    assert not place.survivors()


def test_a_tmux_server_whose_socket_was_removed_is_reached_again(tmux: Place) -> None:
    handle = tmux.start_shape("polite")
    runtime = tmux.runtime
    assert isinstance(runtime, TmuxRuntime)
    os.unlink(runtime.socket)
    assert not runtime.server_alive(handle)

    runtime.put_back(handle)

    wait_until(lambda: runtime.server_alive(handle))
    assert runtime.stop(handle, grace_s=5).empty
