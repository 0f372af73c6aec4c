"""Each shape of member under each containment that this machine can give, and what each of them proves."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest
from places import SHAPES, Place, wait_until

from headcount.errors import ProcessError
from headcount.runtime import containment as containment_module
from headcount.runtime import process_runtime
from headcount.runtime.containment import (
    Cgroup,
    can_make_cgroup,
    can_make_namespace,
    cgroup_of,
    choose,
    scope_command,
)
from headcount.runtime.mark import new_mark
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.process_runtime import Handle, Shared
from headcount.runtime.processes import is_alive
from headcount.runtime.proof import BY_CGROUP, BY_NAMESPACE, BY_SUBREAPER
from headcount.runtime.tmux import TmuxRuntime

METHOD = {"subreaper": BY_SUBREAPER, "cgroup": BY_CGROUP, "namespace": BY_NAMESPACE}
AVAILABLE = {"cgroup": can_make_cgroup(cgroup_of()), "namespace": can_make_namespace()}


@pytest.fixture(params=["cgroup", "namespace"])
def containment(request: pytest.FixtureRequest) -> str:
    if not AVAILABLE[request.param]:
        pytest.skip(f"this machine gives this user no {request.param}")
    return str(request.param)


@pytest.fixture(params=["plain", "tmux"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    place = Place((PlainRuntime if request.param == "plain" else TmuxRuntime)(str(tmp_path)), tmp_path)
    yield place
    place.clean_up()


def start(place: Place, shape: str, containment: str, ready: bool = True) -> Handle:
    words = (sys.executable, "-I", "-S", str(SHAPES), shape, place.token)
    handle = place.start(*words, containment=containment)
    if ready:
        wait_until(lambda: "ready" in place.runtime.capture(handle))
    return handle


@pytest.mark.parametrize("shape", ["stubborn", "scrubbed_daemon", "respawner", "chain", "threaded"])
def test_F19_every_shape_is_ended_and_proved_by_the_containment(
    place: Place, shape: str, containment: str
) -> None:
    handle = start(place, shape, containment)
    proof = place.runtime.stop(handle, grace_s=0.1)
    assert proof.empty
    assert (proof.method, proof.doubt) == (METHOD[containment], "")
    assert not place.survivors()
    assert not handle.record.cgroup or not os.path.exists(handle.record.cgroup)


def test_a_process_with_a_dead_main_thread_and_no_environment_is_ended_and_proved_by_subreapers_alone(
    place: Place,
) -> None:
    """/proc calls it a zombie. Below a keeper, and, when the keeper was killed, below the subreaper above."""
    for kill_keeper in (False, True):
        handle = start(place, "scrubbed_threaded", "subreaper")
        wait_until(lambda: (place.directory / "threaded.pid").exists())
        left = Path(f"/proc/{(place.directory / 'threaded.pid').read_text()}")
        wait_until(lambda: ") Z " in (left / "stat").read_text() and len(os.listdir(left / "task")) == 2)  # noqa: B023
        if kill_keeper:
            os.kill(handle.record.keeper.pid, signal.SIGKILL)
            wait_until(lambda: not is_alive(handle.record.keeper))  # noqa: B023
        proof = place.runtime.stop(handle, grace_s=0.1)
        assert (proof.empty, proof.method, proof.doubt) == (True, BY_SUBREAPER, "")
        assert not left.exists()
        (place.directory / "threaded.pid").unlink()


def test_F19_without_keeper_and_subreaper_the_containment_ends_all(place: Place, containment: str) -> None:
    """The daemon has no mark, no keeper above it, and no subreaper of ours. It could have left a cgroup, and
    then only a subreaper would know. It cannot leave a namespace."""
    handle = start(place, "scrubbed_daemon", containment)
    wait_until(lambda: len(place.survivors()) == 2)
    for who in (handle.record.above, handle.record.keeper):
        os.kill(who.pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(who))  # noqa: B023
    proof = place.runtime.stop(handle, grace_s=0.1)
    assert proof.empty
    assert proof.method == METHOD[containment]
    assert bool(proof.doubt) == (containment == "cgroup")
    assert not place.survivors()


def test_F19_an_engine_that_knows_only_the_files_finds_the_containment_again(
    place: Place, containment: str
) -> None:
    handle = start(place, "scrubbed_daemon", containment)
    runtime = place.reopen()
    again = runtime.adopt(handle.record.mark)
    assert again is not None
    assert (again.record.cgroup, again.record.init) == (handle.record.cgroup, handle.record.init)
    assert runtime.stop(again, grace_s=0.1).method == METHOD[containment]
    assert not place.survivors()


def test_F19_exit_code_output_and_files_are_as_without_a_containment(place: Place, containment: str) -> None:
    script = "echo out; touch made; id -u; exit 7"
    handle = place.start("sh", "-c", script, containment=containment)
    status = place.runtime.wait_exit(handle, 60)
    assert str(status) == "exited with code 7"
    assert place.runtime.wait_empty(handle, 60)
    assert place.runtime.prove_gone(handle).method == METHOD[containment]
    assert (place.directory / "made").stat().st_uid == os.getuid()
    assert str(os.getuid()) in place.runtime.capture(handle)


def test_F19_what_left_its_cgroup_is_still_found_below_the_keeper(plain: Place) -> None:
    if not AVAILABLE["cgroup"]:
        pytest.skip("this machine gives this user no cgroup")
    handle = start(plain, "scrubbed_daemon", "cgroup")
    wait_until(lambda: len(plain.survivors()) == 2)
    above = Path(handle.record.cgroup).parent / "cgroup.procs"
    for pid in plain.survivors():
        above.write_text(str(pid))
    assert not Cgroup(handle.record.cgroup).is_populated()
    assert not plain.runtime.prove_gone(handle).empty
    assert plain.runtime.stop(handle, grace_s=0.1).empty
    assert not plain.survivors()


def test_a_cgroup_that_is_removed_while_it_is_read_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    if not AVAILABLE["cgroup"]:
        pytest.skip("this machine gives this user no cgroup")
    cgroup = Cgroup(f"{cgroup_of()}/headcount-test-{os.getpid()}")
    cgroup.create()

    @contextmanager
    def remove_after_open(path: str) -> Iterator[TextIO]:
        with Path(path).open() as file:
            cgroup.remove()
            yield file

    monkeypatch.setattr(containment_module, "open", remove_after_open, raising=False)
    assert not cgroup.is_populated()


def test_D11_the_next_start_removes_empty_cgroups_of_starts_that_were_killed(plain: Place) -> None:
    """And of a trial whose process is gone; but none of another state directory, and none that is in use."""
    if not AVAILABLE["cgroup"]:
        pytest.skip("this machine gives this user no cgroup")
    base = cgroup_of()
    assert base is not None
    gone = subprocess.Popen(["true"])
    gone.wait()
    elsewhere = str(new_mark("0" * 16, "web", "alice", 1))
    called_off = plain.mark()
    plain.runtime.cancel(called_off)
    left = [Cgroup.of(base, plain.mark()), Cgroup.of(base, called_off)]
    left += [Cgroup(f"{base}/headcount.trial-{gone.pid}-{os.urandom(4).hex()}")]
    others = [Cgroup.of(base, elsewhere), Cgroup(f"{base}/headcount.trial-{os.getpid()}-{'0' * 8}")]
    for cgroup in (*left, *others):
        cgroup.create()
    try:
        handle = start(plain, "polite", "cgroup")
        assert [cgroup.path for cgroup in left if os.path.exists(cgroup.path)] == []
        assert all(os.path.exists(cgroup.path) for cgroup in others)
        left[0].create()
        assert plain.runtime.remove_left_cgroups() == [left[0].path]
        assert plain.runtime.alive(handle)
    finally:
        for cgroup in (*left, *others):
            cgroup.remove()


def test_D11_a_start_that_failed_leaves_no_cgroup(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    if not AVAILABLE["cgroup"]:
        pytest.skip("this machine gives this user no cgroup")
    base = cgroup_of()
    assert base is not None
    spec = place.spec("sleep", "300", containment="cgroup")

    def die(*_: object) -> None:
        assert os.path.exists(Cgroup.of(base, spec.mark).path)
        raise ConnectionResetError("the keeper died before it started anything")

    monkeypatch.setattr(process_runtime, "ask_keeper", die)
    with pytest.raises(ConnectionResetError):
        place.runtime.start(spec)
    assert not os.path.exists(Cgroup.of(base, spec.mark).path)


def test_F19_a_changed_record_cannot_name_another_cgroup(plain: Place) -> None:
    if not AVAILABLE["cgroup"]:
        pytest.skip("this machine gives this user no cgroup")
    handle = start(plain, "polite", "cgroup")
    other = start(plain, "polite", "cgroup")
    known = handle.as_dict() | {"cgroup": other.record.cgroup}
    again = plain.reopen().adopt(handle.record.mark, known)
    assert again is not None
    assert again.tree.kill(10).empty
    assert plain.runtime.alive(other)


def test_auto_takes_a_cgroup_and_a_namespace_only_for_tested_agents() -> None:
    scripted = ("python3", "-m", "headcount.agents.scripted", "ada.json")
    assert choose("auto", ("claude",), cgroup=True, namespace=True) == "cgroup"
    assert choose("auto", ("claude",), cgroup=False, namespace=True) == "subreaper"
    assert choose("auto", ("python3", "-m"), cgroup=False, namespace=True) == "subreaper"
    assert choose("auto", scripted, cgroup=False, namespace=True) == "namespace"
    assert choose("auto", scripted, cgroup=False, namespace=False) == "subreaper"
    assert choose("subreaper", scripted, cgroup=True, namespace=True) == "subreaper"


def test_starts_at_the_same_time_have_the_same_containment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits for the answer of the first, which tries what the machine can do."""
    shared, found = Shared(), []
    second = threading.Thread(target=lambda: found.append(shared.cgroup_base()))

    def can_make(base: str | None) -> bool:
        second.start()
        second.join(0.3)
        return True

    monkeypatch.setattr(containment_module, "can_make_cgroup", can_make)
    monkeypatch.setattr(containment_module, "cgroup_of", lambda pid: "/here")
    try:
        assert shared.cgroup_base() == "/here"
        second.join()
        assert found == ["/here"]
    finally:
        shared.server.close()


@pytest.mark.parametrize("wanted", ["cgroup", "namespace"])
def test_a_containment_that_is_demanded_and_missing_is_an_error_and_not_another_one(wanted: str) -> None:
    with pytest.raises(ProcessError) as error:
        choose(wanted, ("claude",), cgroup=False, namespace=False)
    assert error.value.code == "containment-unavailable"


def test_where_a_user_manager_runs_members_are_started_in_a_scope_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for systemd-run, which records its words and runs the command."""
    fake = tmp_path / "systemd-run"
    fake.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/words\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
    )
    fake.chmod(stat.S_IRWXU)
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd/private").touch()
    assert scope_command() == [] or os.environ.get("XDG_RUNTIME_DIR")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("headcount.runtime.reaper_client.can_make_cgroup", lambda _: False)
    place = Place(PlainRuntime(str(tmp_path)), tmp_path)
    try:
        handle = place.start("sleep", "300")
        assert "--user --scope" in (tmp_path / "words").read_text()
        assert "Delegate=yes" in (tmp_path / "words").read_text()
        assert place.runtime.stop(handle, grace_s=5).empty
    finally:
        place.clean_up()


def test_F57_the_means_of_the_machine_are_tried_without_a_fork_of_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fork of a process with threads can wait for ever, with the engine's lock file open."""

    def forks() -> int:
        raise AssertionError("this process was forked")

    can_make_namespace.cache_clear()
    monkeypatch.setattr(os, "fork", forks)
    assert {"cgroup": can_make_cgroup(cgroup_of()), "namespace": can_make_namespace()} == AVAILABLE
