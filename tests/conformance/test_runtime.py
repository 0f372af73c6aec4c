"""One suite for every runtime, the fake one included: what the engine may rely on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headcount.errors import ProcessError
from headcount.ports import SpawnSpec
from headcount.runtime.mark import new_mark
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.proof import BY_SUBREAPER
from headcount.runtime.tmux import TmuxRuntime
from tests.support.fake_runtime import FakeMachine, FakeRuntime

_IDLE = "while :; do sleep 1; done"
_STRAY = (
    f"""setsid sh -c 'trap "" TERM HUP; touch stray; {_IDLE}' & until [ -e stray ]; do sleep 0.01; done;"""
)

# The same agents, for a shell and for the fake.
AGENTS = {
    "polite": (f"echo ready; {_IDLE}", ("say=ready",)),
    "stubborn": (f"trap '' TERM; {_STRAY} echo ready; {_IDLE}", ("ignore-term", "stray", "say=ready")),
    "leaver": (f"{_STRAY} exit 0", ("stray", "exit=0")),
    "code 3": ("exit 3", ("exit=3",)),
    "deaf": ("stty -echo; while :; do echo ready $((i+=1)); sleep 0.1; done", ("deaf", "say=ready")),
    "listener": ("echo ready; cat", ("say=ready",)),
}


class World:
    """A machine with one state directory; `engine()` gives a runtime on it, each time a new one."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.kind = kind
        self.directory = directory
        self.machine = FakeMachine()
        self.runtime = self.engine()

    def engine(self) -> Any:
        if self.kind == "fake":
            return FakeRuntime(self.machine)
        return {"plain": PlainRuntime, "tmux": TmuxRuntime}[self.kind](str(self.directory))

    def mark(self, member: str = "alice") -> str:
        return str(new_mark(self.runtime.state_id, "web", member, 1))

    def spec(self, agent: str, mark: str | None = None) -> SpawnSpec:
        script, words = AGENTS[agent]
        argv = ("agent", *words) if self.kind == "fake" else ("sh", "-c", script)
        env = {"PATH": os.environ["PATH"]}
        return SpawnSpec(mark or self.mark(), argv, str(self.directory), env, stdin=True)

    def start(self, agent: str, mark: str | None = None) -> Any:
        handle = self.runtime.start(self.spec(agent, mark))
        if "ready" in AGENTS[agent][0]:
            wait_until(lambda: "ready" in self.runtime.capture(handle))
        return handle


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.005)


@pytest.fixture(params=["plain", "tmux", "fake"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    world = World(request.param, tmp_path)
    yield world
    for mark in world.runtime.list_marked():
        world.runtime.kill(world.runtime.adopt(mark))
    world.runtime.close()


def test_a_started_agent_is_alive_and_has_no_exit_status(world: World) -> None:
    handle = world.start("polite")
    assert world.runtime.alive(handle)
    assert world.runtime.exit_status(handle) is None
    assert handle.record.agent.pid in {process.pid for process in world.runtime.processes(handle)}


def test_the_exit_code_is_told_and_the_tree_proved_empty(world: World) -> None:
    handle = world.start("code 3")
    assert str(world.runtime.wait_exit(handle, 60)) == "exited with code 3"
    assert not world.runtime.alive(handle)
    proof = world.runtime.prove_gone(handle)
    assert proof.empty
    assert [process.ended for process in proof.processes] == ["exited with code 3"]


def test_a_program_that_is_not_there_is_a_failed_start(world: World) -> None:
    argv = ("agent", "missing") if world.kind == "fake" else ("no-such-program",)
    with pytest.raises(ProcessError) as error:
        world.runtime.start(SpawnSpec(world.mark(), argv, str(world.directory), {"PATH": "/bin"}))
    assert error.value.code == "start-failed"
    assert "No such file" in error.value.why
    assert world.runtime.list_marked() == {}


def test_one_mark_starts_once_whoever_asks(world: World) -> None:
    mark = world.mark()
    first = world.start("polite", mark)
    second = world.engine().start(world.spec("polite", mark))
    assert first.record == second.record


def test_D11_a_start_called_off_never_happens(world: World) -> None:
    mark = world.mark()
    assert world.runtime.cancel(mark) is None
    with pytest.raises(ProcessError):
        world.start("polite", mark)
    assert world.runtime.list_marked() == {}


def test_D11_calling_off_a_start_that_happened_gives_its_handle(world: World) -> None:
    mark = world.mark()
    assert world.runtime.adopt(mark) is None
    handle = world.start("polite", mark)
    assert world.engine().cancel(mark).record == handle.record


def test_a_request_to_exit_reaches_the_agent_alone(world: World) -> None:
    handle = world.start("polite")
    assert world.runtime.request_exit(handle)
    wait_until(lambda: not world.runtime.alive(handle))
    assert str(world.runtime.wait_exit(handle, 60)) == "killed by SIGTERM"
    assert not world.runtime.request_exit(handle)


def test_a_request_to_exit_is_back_in_its_time_whoever_does_not_take_it(world: World) -> None:
    handle = world.start("deaf")
    began = time.monotonic()
    assert not world.runtime.request_exit(handle, "/exit", 1.0)
    assert time.monotonic() - began < 8  # it would try for ten seconds


def test_C13_what_an_agent_left_behind_prevents_the_proof_until_it_is_ended(world: World) -> None:
    handle = world.start("leaver")
    assert str(world.runtime.wait_exit(handle, 60)) == "exited with code 0"
    proof = world.runtime.prove_gone(handle)
    assert not proof.empty
    assert proof.alive
    assert not world.runtime.wait_empty(handle, 0.05)
    assert world.runtime.kill(handle).empty


def test_C13_a_stubborn_tree_is_ended_and_each_end_is_told(world: World) -> None:
    handle = world.start("stubborn")
    assert world.runtime.terminate(handle) >= 2
    assert world.runtime.alive(handle)
    proof = world.runtime.kill(handle)
    assert proof.empty
    assert proof.method == BY_SUBREAPER
    assert len(proof.processes) >= 2
    assert all(process.ended for process in proof.processes)
    assert world.runtime.wait_empty(handle, 1)
    assert world.runtime.list_marked() == {}


def test_stop_is_the_whole_way(world: World) -> None:
    assert world.runtime.stop(world.start("stubborn"), grace_s=0.1).empty


def test_E2_pause_and_resume_reach_every_process(world: World) -> None:
    handle = world.start("stubborn")
    held = world.runtime.pause(handle)
    assert held.confirmed
    assert {process.state for process in world.runtime.processes(handle)} == {"T"}
    assert len(held.processes) >= 2
    assert world.runtime.resume(handle).confirmed
    assert "T" not in {process.state for process in world.runtime.processes(handle)}


def test_a_nudge_is_delivered_to_who_reads_and_not_to_the_dead(world: World) -> None:
    handle = world.start("listener")
    assert world.runtime.nudge(handle, "please commit")
    wait_until(lambda: "please commit" in world.runtime.capture(handle))
    world.runtime.kill(handle)
    assert not world.runtime.nudge(handle, "again")


def test_C10_one_of_two_whose_names_start_alike_is_ended_and_the_other_is_not(world: World) -> None:
    first = world.start("polite", world.mark("alice"))
    second = world.start("polite", world.mark("alice-2"))
    assert world.runtime.stop(first, grace_s=1).empty
    assert world.runtime.alive(second)
    assert list(world.runtime.list_marked()) == [second.record.mark]


def test_the_next_engine_sees_the_same_and_can_end_it(world: World) -> None:
    handle = world.start("stubborn")
    later = world.engine()
    adopted = later.adopt(handle.record.mark)
    assert later.alive(adopted)
    assert later.kill(adopted).empty
    assert world.runtime.prove_gone(handle).empty


def test_discarded_records_can_no_longer_be_adopted(world: World) -> None:
    handle = world.start("code 3")
    assert world.runtime.wait_exit(handle, 60)
    assert world.runtime.kill(handle).empty
    world.runtime.discard(handle.record.mark)
    assert world.runtime.adopt(handle.record.mark) is None
