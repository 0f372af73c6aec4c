from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from places import Place, sessions, wait_until, with_token

from headcount.errors import Declined, ProcessError
from headcount.runtime.proof import BY_SUBREAPER
from headcount.runtime.tmux import TmuxRuntime


def test_E2_pause_stops_the_whole_tree_and_resume_continues_it(place: Place) -> None:
    counter = place.directory / "counter"
    count = f"while :; do echo x >> {counter}; sleep 0.01; done"
    handle = place.start("sh", "-c", f"setsid sh -c '{count}' & sleep 300")
    wait_until(lambda: counter.exists() and len(place.runtime.processes(handle)) >= 3)

    held = place.runtime.pause(handle)
    assert held.confirmed
    assert held.others == ()
    # Not a claim of ours alone: the kernel says so of each, and the counter stands still.
    assert {_state(process.pid) for process in held.processes} == {"T"}
    before = counter.stat().st_size
    assert place.runtime.prove_gone(handle).empty is False
    assert counter.stat().st_size == before

    assert place.runtime.resume(handle).confirmed
    wait_until(lambda: counter.stat().st_size > before)


def test_E2_a_parent_that_sleeps_in_a_vfork_is_held_as_soon_as_it_can_be(plain: Place) -> None:
    handle = plain.start_shape("vforker")
    wait_until(lambda: _state(handle.record.agent.pid) == "D")
    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(plain.runtime.pause, handle)
        wait_until(lambda: "T" in {process.state for process in plain.runtime.processes(handle)})
        os.close(os.open(plain.directory / "gate", os.O_WRONLY))
        assert holding.result(60).confirmed
    assert _state(handle.record.agent.pid) == "T"


def test_E2_a_tree_that_forks_all_the_time_is_held_too(place: Place) -> None:
    handle = place.start_shape("forker")
    assert place.runtime.pause(handle).confirmed
    first = set(place.survivors())
    assert first
    assert {_state(pid) for pid in first} <= {"T", "Z"}
    assert set(place.survivors()) == first


def _state(pid: int) -> str:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat[stat.rindex(")") + 2]


def test_D3_dead_agent_is_seen_although_its_terminal_lives_on(tmux: Place) -> None:
    runtime = tmux.runtime
    assert isinstance(runtime, TmuxRuntime)
    stays = 'trap "" HUP TERM; touch here; sleep 300; sleep 300'
    handle = tmux.start(
        "sh", "-c", f"setsid sh -c '{stays}' & until [ -e here ]; do sleep 0.01; done; exit 6"
    )
    status = runtime.wait_exit(handle, 60)
    assert status is not None
    assert status.code == 6
    assert sessions(runtime) == [handle.record.session]
    assert not runtime.alive(handle)
    assert not runtime.prove_gone(handle).empty
    assert runtime.stop(handle, grace_s=0.1).empty
    wait_until(lambda: not sessions(runtime))


def test_D10_when_the_tmux_server_is_killed_the_tree_is_still_found_and_ended(tmux: Place) -> None:
    runtime = tmux.runtime
    assert isinstance(runtime, TmuxRuntime)
    handle = tmux.start_shape("scrubbed_daemon")
    os.kill(handle.record.terminal.pid, signal.SIGKILL)
    # The terminal is hung up: the agent dies of it, its daemon does not.
    assert runtime.wait_exit(handle, 60) is not None
    assert sessions(runtime) == []
    assert len(tmux.survivors()) == 1

    proof = runtime.stop(handle, grace_s=0.1)
    assert proof.empty
    assert proof.method == BY_SUBREAPER
    assert not tmux.survivors()


def test_D10_ids_of_a_dead_server_are_not_used_on_the_next_one(tmux: Place) -> None:
    runtime = tmux.runtime
    assert isinstance(runtime, TmuxRuntime)
    old = tmux.start_shape("stubborn")
    os.kill(old.record.terminal.pid, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{old.record.terminal.pid}").exists())
    new = tmux.start_shape("polite")
    assert (old.record.pane, old.record.session) == (new.record.pane, new.record.session)

    assert runtime.alive(old)
    assert not runtime.nudge(old, "meant for the old one")
    with pytest.raises(Declined):
        runtime.attach_command(old)
    assert "meant for" not in runtime.capture(new)
    assert runtime.alive(new)
    assert sessions(runtime) == [new.record.session]


def test_a_start_while_the_server_ends_with_its_last_session_succeeds(tmux: Place) -> None:
    for number in range(15):
        handle = tmux.start("sh", "-c", f"exit {number}")
        assert str(tmux.runtime.wait_exit(handle, 60)) == f"exited with code {number}"


def test_tmux_that_cannot_be_had_is_an_error_and_nothing_starts_later(
    tmux: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmux.mark()
    with monkeypatch.context() as patch:
        spec = tmux.spec("sleep", "300", mark=mark)
        patch.setenv("PATH", "/nowhere")
        with pytest.raises(ProcessError) as error:
            tmux.runtime.start(spec)
    assert error.value.code == "tmux"
    assert tmux.runtime.cancel(mark) is None
    assert tmux.runtime.list_marked() == {}


def test_D11_a_start_that_failed_leaves_no_process_of_its_terminal(tmux: Place) -> None:
    """tmux copies the output of each pane by a process of its own, which waits for nobody."""
    tmux.runtime._start_timeout_s = 0.001  # before any keeper can connect
    spec = tmux.spec("sleep", "300")
    with pytest.raises(ProcessError):
        tmux.runtime.start(spec)
    wait_until(lambda: with_token(spec.mark) == [])
    assert sessions(tmux.runtime) == []


def test_C12_the_agent_owns_its_terminal_and_the_keeper_none(tmux: Place) -> None:
    handle = tmux.start_shape("polite")
    assert os.readlink(f"/proc/{handle.record.agent.pid}/fd/0").startswith("/dev/pts/")
    assert _terminal_of(handle.record.agent.pid) != 0
    assert _terminal_of(handle.record.keeper.pid) == 0


def _terminal_of(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat[stat.rindex(")") + 2 :].split()[4])


def test_C13_a_pane_that_the_agent_opens_carries_its_mark_and_is_ended(tmux: Place) -> None:
    """Such a pane is a child of the tmux server, so only the mark finds it."""
    runtime = tmux.runtime
    assert isinstance(runtime, TmuxRuntime)
    handle = tmux.start_shape("polite")
    runtime._tmux("split-window", "-t", handle.record.pane, f"exec -a {tmux.token} sleep 300")
    wait_until(lambda: len(tmux.survivors()) == 2)
    assert not runtime.prove_gone(handle).empty
    proof = runtime.stop(handle, grace_s=1)
    assert proof.empty
    assert "mark" in {process.evidence for process in proof.processes}
    assert not tmux.survivors()


def test_a_state_directory_too_deep_for_a_socket_has_its_own_elsewhere(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    place = Place(TmuxRuntime(str(deep)), deep)
    try:
        handle = place.start_shape("polite")
        assert place.runtime.stop(handle, grace_s=5).empty
    finally:
        place.clean_up()
