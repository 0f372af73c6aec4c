"""Members that attack the proof: nothing that they write counts, and the kernel finds what they hide."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import Place, wait_until, with_token

from headcount.runtime.commands import Commands
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.process_runtime import Handle
from headcount.runtime.processes import is_alive, read_children
from headcount.runtime.proof import BY_MARK_ONLY, BY_SUBREAPER
from headcount.runtime.reaper import EMPTY, EXIT, PROCESS, start_time


def beats(place: Place) -> bool:
    """Whether anything with the token runs within a moment: one look can miss a process that forks on."""
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        if place.survivors():
            return True
    return False


def start_hostile(place: Place, shape: str) -> Handle:
    """One that has killed or stopped its keeper, and left a daemon. Nobody reads what it prints any more."""
    before = len(place.survivors())
    handle = place.start_shape(shape, ready=False)
    wait_until(lambda: len(place.survivors()) == before + 2)
    if "killer" in shape:
        wait_until(lambda: not handle.tree.keeper_alive())
    return handle


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text())


def test_F10_a_chain_that_forks_on_is_ended_by_its_keeper(place: Place) -> None:
    handle = place.start_shape("chain")
    proof = place.runtime.stop(handle, grace_s=0.1)
    assert proof.empty
    assert (proof.method, proof.doubt) == (BY_SUBREAPER, "")
    assert not beats(place)


def test_F10_a_keeper_with_children_is_not_killed_and_nothing_is_called_gone(
    plain: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if every pass over /proc missed them: the kernel's lists name the children all the same."""
    handle = plain.start_shape("chain")
    monkeypatch.setattr(type(handle.tree), "_ours", lambda *_: {})
    monkeypatch.setattr("headcount.runtime.tree.read_below", lambda _: {})
    monkeypatch.setattr("headcount.runtime.tree._KEEPER_LIMIT_S", 0.1)
    proof = handle.tree.prove_gone()
    assert not proof.empty
    assert is_alive(handle.record.keeper)
    assert read_children(handle.record.keeper.pid)


def test_F10_without_its_keeper_a_chain_is_ended_below_the_subreaper_above(plain: Place) -> None:
    handle = plain.start_shape("killer_chain", ready=False)
    wait_until(lambda: not handle.tree.keeper_alive())
    wait_until(lambda: len(read_children(handle.record.above.pid)) == 2)  # the agent, and the chain
    proof = plain.runtime.kill(handle, 20)
    assert proof.empty
    assert (proof.method, proof.doubt) == (BY_SUBREAPER, "")
    assert not beats(plain)


def test_F11_a_record_that_the_member_wrote_is_no_proof(plain: Place) -> None:
    handle = start_hostile(plain, "killer")
    kill(handle.record.above.pid)
    forged = {"at": 1.0, "count": 0, "reaped": [], "seal": "00" * 16}
    Path(handle.directory.file(EMPTY)).write_text(json.dumps(forged))

    proof = plain.runtime.stop(handle, grace_s=0.1)

    assert proof.method == BY_MARK_ONLY
    assert "may be alive" in proof.doubt


def test_F11_the_seal_is_written_only_when_nothing_is_left(plain: Place) -> None:
    handle = plain.start_shape("leaver", ready=False)
    assert plain.runtime.wait_exit(handle, 60)
    run = Path(handle.directory.path)
    assert not (run / EMPTY).exists()
    proof = plain.runtime.stop(handle, grace_s=0.1)
    assert proof.empty
    kept = json.loads((run / EMPTY).read_text())
    later = plain.reopen().adopt(handle.record.mark, {**handle.as_dict(), "above": [0, 0]})
    assert later is not None
    assert plain.runtime.prove_gone(later).method == BY_SUBREAPER
    assert kept["seal"] not in json.dumps(handle.as_dict())


@pytest.fixture
def editor() -> Iterator[int]:
    """A process of the user, which no record may ever make ours."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process.pid
    assert process.poll() is None, "the user's process was signalled"
    process.kill()
    process.wait()


@pytest.mark.parametrize("named", ["agent", "keeper", "both"])
@pytest.mark.parametrize("store", [True, False], ids=["in the store", "not yet in the store"])
def test_F12_a_rewritten_record_makes_no_foreign_process_ours(
    plain: Place, editor: int, named: str, store: bool
) -> None:
    handle = plain.start_shape("stubborn")
    path = Path(handle.directory.file(PROCESS))
    fields = json.loads(path.read_text())
    if named != "keeper":
        fields |= {"pid": editor, "start": start_time(editor)}
    if named != "agent":
        fields |= {"keeper": editor, "keeper_start": start_time(editor)}
    path.unlink()
    path.write_text(json.dumps(fields))

    runtime = plain.reopen()
    again = runtime.adopt(handle.record.mark, handle.as_dict() if store else None)
    assert again is not None
    assert again.record.agent == handle.record.agent
    assert again.record.keeper == handle.record.keeper
    assert runtime.request_exit(again)
    proof = runtime.stop(again, grace_s=0.1)

    assert proof.empty
    assert editor not in {process.pid for process in proof.processes}
    assert not plain.survivors()


def test_F12_not_even_what_the_store_says_makes_a_foreign_process_ours(plain: Place, editor: int) -> None:
    handle = plain.start_shape("stubborn")
    known = handle.as_dict() | {"pid": editor, "start": start_time(editor)}
    known |= {"keeper": editor, "keeper_start": start_time(editor)}
    again = plain.reopen().adopt(handle.record.mark, known)
    assert again is not None
    assert not plain.runtime.request_exit(again)
    assert again.tree.kill(1.0).empty
    assert not plain.survivors()


def test_F14_a_keeper_that_was_stopped_is_continued_and_seen_to_end(place: Place) -> None:
    handle = start_hostile(place, "stopper")
    proof = place.runtime.stop(handle, grace_s=0.1)
    assert proof.empty
    assert (proof.method, proof.doubt) == (BY_SUBREAPER, "")
    assert not place.survivors()


def two_without_keepers(plain: Place) -> tuple[Handle, Handle]:
    """Each has left a daemon without environment, and nobody can tell which is whose."""
    return start_hostile(plain, "killer"), start_hostile(plain, "killer")


def test_F15_an_orphan_that_may_be_anothers_is_not_ended_while_that_one_is_not(plain: Place) -> None:
    first, second = two_without_keepers(plain)
    proof = plain.runtime.kill(first, 0.5)

    assert proof.empty
    assert proof.method == BY_MARK_ONLY and "may be a process that it left" in proof.doubt
    assert len(plain.survivors()) == 3  # the second agent, and both daemons
    assert plain.runtime.alive(second)

    last = plain.runtime.kill(second, 5)
    assert (last.empty, last.doubt) == (True, "")
    assert not plain.survivors()


def test_F15_both_are_ended_and_proved_when_both_are_being_ended(plain: Place) -> None:
    from concurrent.futures import ThreadPoolExecutor

    handles = two_without_keepers(plain)
    with ThreadPoolExecutor(2) as pool:
        proofs = list(pool.map(lambda handle: plain.runtime.kill(handle, 20), handles))
    assert [proof.empty for proof in proofs] == [True, True]
    assert [proof.doubt for proof in proofs] == ["", ""]
    assert not plain.survivors()


def test_F15_until_somebody_tried_to_end_it_such_an_orphan_counts_as_alive(plain: Place) -> None:
    first, _ = two_without_keepers(plain)
    os.kill(first.record.agent.pid, signal.SIGKILL)
    wait_until(lambda: not plain.runtime.alive(first))
    assert not plain.runtime.prove_gone(first).empty


def test_F13_an_engine_that_comes_later_finds_and_ends_the_orphans(plain: Place) -> None:
    handle = start_hostile(plain, "killer")
    plain.runtime.close()
    runtime = plain.reopen()
    again = runtime.adopt(handle.record.mark, handle.as_dict())
    assert again is not None
    proof = runtime.stop(again, grace_s=0.1)
    assert (proof.empty, proof.method, proof.doubt) == (True, BY_SUBREAPER, "")
    assert not plain.survivors()


def test_F16_what_a_command_leaves_is_ended_although_it_killed_its_reaper(tmp_path: Path) -> None:
    """It reads its parent's number, kills it, and leaves a daemon in a session of its own."""
    token = f"left-{os.getpid()}-{time.monotonic_ns()}"
    leave = f"kill -9 $PPID; env -i setsid sh -c 'sleep 600; : {token}' >/dev/null 2>&1 </dev/null &"
    done = Commands(256).run(leave, cwd=str(tmp_path), timeout_s=30)
    assert done.returncode == -signal.SIGKILL
    wait_until(lambda: not with_token(token), 20)


@pytest.mark.parametrize("name", [PROCESS, EXIT, EMPTY])
@pytest.mark.parametrize("damage", ["deep", "large", "link", "device", "numbers", "list"])
def test_F17_a_record_that_a_member_damaged_never_raises_and_never_waits(
    plain: Place, name: str, damage: str
) -> None:
    handle = plain.start_shape("polite")
    path = Path(handle.directory.file(name))
    path.unlink(missing_ok=True)
    texts = {
        "deep": "[" * 200_000,
        "large": "[" + "1," * 1_000_000 + "1]",
        "numbers": json.dumps({"pid": 10**40, "start": -1, "keeper": "x", "code": 10**400, "at": "1"}),
        "list": "[1, 2]",
    }
    if damage == "link":
        path.symlink_to("/dev/zero")
    elif damage == "device":
        os.mkfifo(path)
    else:
        path.write_text(texts[damage])
    runtime = plain.reopen()
    again = runtime.adopt(handle.record.mark)
    assert again is not None
    proof = runtime.stop(again, grace_s=5)
    assert proof.empty
    assert runtime.exit_status(again) is not None
    assert not plain.survivors()


# Starts a member and an engine, and prints what another process of the same user can read of both.
_READS = """
import os, sys
from headcount.app.app import open_app
from headcount.app.resident import driving
from headcount.ports import SpawnSpec
from headcount.runtime.mark import new_mark
from headcount.runtime.plain import PlainRuntime

def readable(pid):
    child = os.fork()
    if child:
        return os.waitpid(child, 0)
    for what in ("environ", "mem", "maps", "fd/0", "cwd"):
        path = f"/proc/{pid}/{what}"
        try:
            os.readlink(path) if what in ("fd/0", "cwd") else open(path, "rb").read(1)
        except (PermissionError, OSError) as error:
            if isinstance(error, PermissionError):
                continue
        print(pid == os.getppid() and "engine" or "keeper", what, flush=True)
    os._exit(0)

home = sys.argv[1]
runtime = PlainRuntime(home)
handle = runtime.start(SpawnSpec(str(new_mark(runtime.state_id, "web", "a", 1)), ("sleep", "600"), home, {}))
readable(handle.record.keeper.pid)
runtime.kill(handle)
runtime.close()
os.mkdir(f"{home}/repo")
app = open_app(f"{home}/repo", {})
with driving(app):
    readable(os.getpid())
app.close()
print("end")
"""


def test_F11_another_process_of_the_user_reads_nothing_of_keeper_and_engine(tmp_path: Path) -> None:
    """Not even as root without capabilities, which is what the kernel checks: both are undumpable."""
    as_user = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
    told = subprocess.run(
        [*as_user, sys.executable, "-c", _READS, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert (told.stdout, told.returncode) == ("end\n", 0), told.stdout + told.stderr


def test_a_runtime_of_the_previous_version_is_adopted_and_proved_by_mark(plain: Place) -> None:
    """Its keeper has no secret, and nothing above it."""
    handle = plain.start_shape("polite")
    record: dict[str, Any] = json.loads(Path(handle.directory.file(PROCESS)).read_text())
    assert set(record) == {"mark", "pid", "start", "keeper", "keeper_start", "boot", "at", "place"}
    os.kill(handle.record.above.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(handle.record.above))
    again = PlainRuntime(str(plain.directory)).adopt(handle.record.mark)
    assert again is not None
    proof = plain.runtime.stop(again, grace_s=5)
    assert proof.empty
    assert proof.method == BY_MARK_ONLY
