"""What a thousand members need, on a few: few looks at all processes, many open files."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading

import pytest
from places import Place, wait_until

from headcount.errors import ProcessError
from headcount.runtime import processes, reaper_client, tree
from headcount.runtime.mark import VARIABLE
from headcount.runtime.processes import read_below, read_process


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each look at every process of the machine. A recent one stays so for the whole test."""
    monkeypatch.setattr(tree, "_RECENT_S", 600.0)
    counted: list[int] = []
    read_all = processes.read_all

    def counting() -> dict[int, processes.Process]:
        counted.append(1)
        return read_all()

    monkeypatch.setattr(processes, "read_all", counting)
    return counted


def test_asking_many_trees_to_end_takes_one_look_at_all_processes(plain: Place, passes: list[int]) -> None:
    handles = [plain.start_shape("polite") for _ in range(5)]
    passes.clear()
    assert all(plain.runtime.terminate(handle) for handle in handles)
    assert len(passes) == 1
    assert all(plain.runtime.wait_empty(handle, 60) for handle in handles)


def test_a_child_that_was_forked_after_the_last_look_is_asked_to_end_too(
    plain: Place, passes: list[int]
) -> None:
    handle = plain.start("sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; exec sleep 1000")
    plain.runtime.prove_gone(handle)
    plain.directory.joinpath("go").touch()
    wait_until(lambda: (found := read_process(handle.record.agent.pid)) and found.name == "sleep")
    passes.clear()
    assert plain.runtime.terminate(handle) == 1
    assert passes == []
    assert plain.runtime.wait_empty(handle, 60)


def test_an_end_that_was_proved_is_not_looked_for_again(plain: Place, passes: list[int]) -> None:
    handle = plain.start("true")
    plain.runtime.wait_exit(handle, 60)
    plain.runtime.wait_empty(handle, 60)
    proof = plain.runtime.prove_gone(handle)
    assert proof.empty
    passes.clear()
    assert plain.runtime.prove_gone(handle) is proof
    assert passes == []


def test_a_tree_that_is_alive_is_looked_at_every_time(plain: Place, passes: list[int]) -> None:
    handle = plain.start_shape("polite")
    passes.clear()
    for looks in (1, 2):
        assert not plain.runtime.prove_gone(handle).empty
        assert len(passes) >= looks


@pytest.mark.parametrize("obeys", [True, False])
def test_what_carries_the_mark_outside_of_its_keepers_tree_is_ended_too(plain: Place, obeys: bool) -> None:
    """As if started for the member by a service that is nobody's child."""
    handle = plain.start_shape("polite")
    script = "echo; sleep 1000 & wait" if obeys else "trap '' TERM; echo; while :; do sleep 1; done"
    outside = subprocess.Popen(
        ["sh", "-c", script, plain.token],
        env={"PATH": os.environ["PATH"], VARIABLE: handle.record.mark},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert outside.stdout is not None
    outside.stdout.read(1)
    reaper = threading.Thread(target=outside.wait)
    reaper.start()
    proof = plain.runtime.stop(handle, grace_s=2)
    reaper.join(10)
    outside.stdout.close()
    assert proof.empty
    assert not plain.survivors()
    assert "mark" in {process.evidence for process in proof.processes if process.pid == outside.pid}


def test_all_that_is_below_is_found_whichever_thread_forked_it() -> None:
    forked, over = threading.Event(), threading.Event()
    children: list[subprocess.Popen[bytes]] = []

    def fork() -> None:
        children.append(subprocess.Popen(["sh", "-c", "sleep 1000 & echo; wait"], stdout=subprocess.PIPE))
        forked.set()
        over.wait(60)

    thread = threading.Thread(target=fork)
    thread.start()
    assert forked.wait(60)
    (child,) = children
    assert child.stdout is not None
    child.stdout.read(1)
    try:
        below = read_below(os.getpid())
        assert child.pid in below
        assert [process.ppid for process in below.values()].count(child.pid) == 1
    finally:
        for process in read_below(child.pid).values():
            os.kill(process.pid, 9)
        child.kill()
        child.wait()
        child.stdout.close()
        over.set()
        thread.join()
    assert child.pid not in read_below(os.getpid())


def test_an_engine_may_open_as_many_files_as_it_is_allowed_to() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096));"
        "from headcount.runtime.reaper_client import members_file_limit, raise_file_limit;"
        "raise_file_limit();"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE), members_file_limit())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "(4096, 4096) 256"


def test_a_member_gets_back_the_limit_that_its_engine_was_started_with(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that uses select() breaks above 1,024."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    monkeypatch.setattr(reaper_client, "_AT_START", 300)
    handle = place.start("sh", "-c", "echo $(ulimit -Sn) $(ulimit -Hn) > files")
    place.runtime.wait_exit(handle, 60)
    assert (place.directory / "files").read_text().split() == ["300", str(hard)]


def test_a_member_runs_with_what_its_terminal_can_give_where_that_is_less(
    tmux: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of an earlier engine goes on with the limits that it was started with."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    monkeypatch.setattr(reaper_client, "_AT_START", hard + 1)
    handle = tmux.start("sh", "-c", "ulimit -Sn > files")
    tmux.runtime.wait_exit(handle, 60)
    assert (tmux.directory / "files").read_text().split() == [str(hard)]


def test_what_fails_before_the_program_is_even_tried_is_no_start(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaper_client, "_AT_START", -5)
    with pytest.raises(ProcessError, match="Did not start") as error:
        place.start("sleep", "300")
    assert error.value.why == "Invalid argument"


def test_more_children_than_the_kernel_lists_at_once_are_all_found() -> None:
    fork = "for _ in range(900):\n    if not os.fork(): signal.pause()"
    code = f"import os, signal\n{fork}\nos.write(1, b'x')\nsignal.pause()"
    parent = subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    try:
        parent.stdout.read(1)
        below = read_below(parent.pid)
    finally:
        for pid in [*read_below(parent.pid), parent.pid]:
            os.kill(pid, 9)
        parent.wait()
        parent.stdout.close()
    assert len(below) == 900
