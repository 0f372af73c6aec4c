"""What each shape of process ends with under each containment, for docs/explanation/what-is-believed.md.

    python bench/containment.py

Every shape is started as a member, then stopped with a grace of 0.2 s. Then the bench itself counts what is
left, by a token in the command line. A cell says how many processes were left, and what the proof said.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from headcount.ports import SpawnSpec
from headcount.runtime.containment import can_make_cgroup, can_make_namespace, cgroup_of
from headcount.runtime.mark import new_mark
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.process_runtime import Handle
from headcount.runtime.processes import is_alive

AGENT = Path(__file__).with_name("containment_agent.py")
KINDS = ("subreaper", "cgroup", "namespace")


def left(token: str) -> list[int]:
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            # By its threads: of a process whose main thread has ended, only they have a command line.
            threads = Path(f"/proc/{name}/task").iterdir()
            if any(token.encode() in (thread / "cmdline").read_bytes() for thread in threads):
                found.append(int(name))
        except OSError:
            continue
    return found


def nothing(handle: Handle) -> None: ...


def stop_keeper(handle: Handle) -> None:
    os.kill(handle.record.keeper.pid, signal.SIGSTOP)


def kill_keeper(handle: Handle) -> None:
    end(handle.record.keeper)


def kill_both(handle: Handle) -> None:
    end(handle.record.above)
    end(handle.record.keeper)


def end(who: object) -> None:
    os.kill(who.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    while is_alive(who):  # type: ignore[arg-type]
        time.sleep(0.005)


SHAPES: dict[str, Callable[[Handle], None]] = {
    "plain child": nothing,
    "setsid": nothing,
    "double fork": nothing,
    "scrubbed daemon": nothing,
    "fork chain": nothing,
    "zombie leader": nothing,
    "zombie leader, keeper killed": kill_keeper,
    "keeper stopped": stop_keeper,
    "keeper killed later": kill_keeper,
    "keeper killed, scrubbed daemon": nothing,
    "keeper killed, fork chain": nothing,
    "keeper and subreaper killed": kill_both,
    "engine killed": nothing,
    "left its cgroup": nothing,
    "left its cgroup, keeper and subreaper killed": kill_both,
    "own tmux server": nothing,
}


def play(shape: str, kind: str) -> str:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        runtime, token = PlainRuntime(directory), f"token-{secrets.token_hex(8)}"
        words = (sys.executable, "-I", "-S", str(AGENT), shape, token)
        env = {"PATH": os.environ["PATH"]}
        mark = str(new_mark(runtime.state_id, "bench", "m", 1))
        handle = runtime.start(SpawnSpec(mark, words, directory, env, containment=kind))
        while not Path(directory, "ready").exists():
            time.sleep(0.01)
        while len(left(token)) < 2:
            time.sleep(0.01)
        SHAPES[shape](handle)
        if shape == "engine killed":  # all that is left of it is what the store has
            runtime.close()
            runtime = PlainRuntime(directory)
            adopted = runtime.adopt(mark, handle.as_dict())
            assert adopted is not None
            handle = adopted
        proof = runtime.stop(handle, 0.2, 15)
        seen: set[int] = set()
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            seen |= set(left(token))
        for pid in left(token):
            os.kill(pid, signal.SIGKILL)
        handle.close()
        runtime.close()
    said = f"{proof.method}{', in doubt' if proof.doubt else ''}" if proof.empty else "stuck"
    return f"{len(seen)} left · {said}"


def main() -> None:
    can = {"subreaper": True, "cgroup": can_make_cgroup(cgroup_of()), "namespace": can_make_namespace()}
    print("| shape | " + " | ".join(KINDS) + " |\n|---|" + "---|" * len(KINDS))
    for shape in SHAPES:
        cells = [play(shape, kind) if can[kind] else "not available" for kind in KINDS]
        print(f"| {shape} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
