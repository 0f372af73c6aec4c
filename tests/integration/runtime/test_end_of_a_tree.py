"""Promise 2, on the agents that others leave behind."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from places import Place, wait_until

from headcount.runtime.processes import read_process
from headcount.runtime.proof import BY_SUBREAPER


@pytest.mark.parametrize(
    "shape", ["polite", "stubborn", "daemon", "scrubbed_daemon", "scrubbed_child", "respawner", "forker"]
)
def test_C13_nothing_of_any_shape_is_left_after_a_stop(place: Place, shape: str) -> None:
    handle = place.start_shape(shape)
    assert place.survivors()

    proof = place.runtime.stop(handle, grace_s=0.2)

    assert proof.empty
    assert proof.method == BY_SUBREAPER
    assert not proof.alive
    assert not place.survivors()
    assert all(process.ended for process in proof.processes)


def test_C13_what_an_agent_left_when_it_exited_is_found_below_its_keeper(place: Place) -> None:
    handle = place.start_shape("leaver", ready=False)
    assert str(place.runtime.wait_exit(handle, 60)) == "exited with code 0"

    (stray,) = place.survivors()
    # Until it has called exec it has the environment of its parent, and the mark in it.
    wait_until(lambda: b"stubborn" in Path(f"/proc/{stray}/cmdline").read_bytes())
    assert [process.pid for process in place.runtime.list_marked()[handle.record.mark]] == [stray]
    before = place.runtime.prove_gone(handle)
    assert not before.empty
    assert [process.pid for process in before.alive if process.evidence == "descent"] == [stray]

    assert place.runtime.stop(handle, grace_s=0.1).empty
    assert not place.survivors()


def test_a_process_whose_main_thread_has_ended_is_not_taken_for_dead(plain: Place) -> None:
    handle = plain.start_shape("threaded")
    agent = handle.record.agent.pid
    wait_until(lambda: (found := read_process(agent)) and found.state == "Z")

    assert plain.runtime.alive(handle)
    assert not plain.runtime.prove_gone(handle).empty
    assert plain.runtime.stop(handle, grace_s=0.1).empty
    assert not plain.survivors()


def test_a_polite_agent_is_not_made_to_wait_for_the_grace(place: Place) -> None:
    handle = place.start_shape("polite")
    began = time.monotonic()
    proof = place.runtime.stop(handle, grace_s=60)
    assert proof.empty
    assert time.monotonic() - began < 50
    assert [process.ended for process in proof.processes] == ["killed by SIGTERM"]


def test_a_paused_tree_obeys_a_polite_stop(place: Place) -> None:
    handle = place.start_shape("polite")
    assert place.runtime.pause(handle).confirmed
    proof = place.runtime.stop(handle, grace_s=60)
    assert [process.ended for process in proof.processes] == ["killed by SIGTERM"]


def test_a_proof_is_refused_while_the_tree_lives_and_names_it(place: Place) -> None:
    handle = place.start_shape("daemon")
    proof = place.runtime.prove_gone(handle)
    assert not proof.empty
    assert {process.pid for process in proof.alive} >= set(place.survivors())


def test_ending_goes_on_from_the_record_after_a_restart(place: Place) -> None:
    handle = place.start_shape("scrubbed_daemon")
    again = place.reopen()
    adopted = again.adopt(handle.record.mark)
    assert adopted is not None
    assert adopted.record == handle.record
    proof = again.stop(adopted, grace_s=0.1)
    assert proof.empty
    assert not place.survivors()
    adopted.close()
    again.close()


def test_C14_a_shell_that_stays_in_the_workspace_prevents_the_proof(place: Place) -> None:
    workspace = place.directory / "workspace"
    workspace.mkdir()
    stay = 'trap "" HUP; touch here; while :; do sleep 1; done'
    script = f"cd {workspace}; setsid sh -c '{stay}' & until [ -e {workspace}/here ]; do sleep 0.01; done"
    handle = place.start("sh", "-c", script)
    assert place.runtime.wait_exit(handle, 60) is not None
    proof = place.runtime.prove_gone(handle)
    assert not proof.empty
    shells = [process.pid for process in proof.alive if process.name == "sh"]
    assert [os.readlink(f"/proc/{pid}/cwd") for pid in shells] == [str(workspace)]
    assert place.runtime.stop(handle, grace_s=0.1).empty


def test_E12_twenty_are_ended_in_about_the_time_of_one(place: Place) -> None:
    handles = [place.start_shape("stubborn") for _ in range(20)]
    grace_s = 2.0
    began = time.monotonic()
    with ThreadPoolExecutor(20) as pool:
        proofs = list(pool.map(lambda handle: place.runtime.stop(handle, grace_s), handles))
    assert all(proof.empty for proof in proofs)
    assert not place.survivors()
    assert time.monotonic() - began < 10 * grace_s  # one after the other: 20
