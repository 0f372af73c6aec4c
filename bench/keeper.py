"""What the keepers cost, and how long it takes to end many members. Ratios from one run.

    python bench/keeper.py [--members 100] [--thousand]

Memory is the sum of Pss over the keepers (/proc/PID/smaps_rollup): a page that n processes share
counts 1/n in each, so the sum is what the machine really gives. Agents are `sleep`, and not counted.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from headcount.ports import SpawnSpec
from headcount.runtime import reaper
from headcount.runtime.mark import new_mark
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.process_runtime import Handle, ProcessRuntime
from headcount.runtime.tmux import TmuxRuntime

GRACE_S = 1.0
STUBBORN = (
    "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 5; done' & while :; do sleep 5; done"
)


class FreshRuntime(ProcessRuntime):
    """The alternative: an interpreter of its own for each keeper."""

    def connect(self, spec: SpawnSpec, home: str, timeout_s: float) -> socket.socket:
        ours, theirs = socket.socketpair()
        directory = os.path.dirname(os.path.abspath(reaper.__file__))
        code = (
            "import sys; sys.path[:0] = [sys.argv[1]]; import reaper;"
            "reaper.keep(reaper._socket.socket(fileno=int(sys.argv[2])), False)"
        )
        words = [sys.executable, "-I", "-S", "-c", code, directory, str(theirs.fileno())]
        with theirs:
            self.child = subprocess.Popen(words, env={}, pass_fds=[theirs.fileno()])
        return ours


def memory_kb(pid: int, what: str) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(what + ":"))


def start(runtime: ProcessRuntime, count: int, *argv: str) -> tuple[list[Handle], float]:
    env = {"PATH": os.environ["PATH"]}
    began = time.monotonic()
    handles = [
        runtime.start(
            SpawnSpec(
                str(new_mark(runtime.state_id, "bench", f"m{n}", 1)), argv or ("sleep", "100000"), "/", env
            )
        )
        for n in range(count)
    ]
    return handles, time.monotonic() - began


def stop(runtime: ProcessRuntime, handles: list[Handle], grace_s: float) -> float:
    began = time.monotonic()
    with ThreadPoolExecutor(max_workers=len(handles)) as pool:
        proofs = list(pool.map(lambda handle: runtime.stop(handle, grace_s, 60), handles))
    seconds = time.monotonic() - began
    assert all(proof.empty for proof in proofs), "something is left"
    for handle in handles:
        handle.close()
    return seconds


def measure_memory(name: str, kind: type[ProcessRuntime], count: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        runtime = kind(directory)
        handles, seconds = start(runtime, count)
        keepers = [handle.record.keeper.pid for handle in handles]
        pss = sum(memory_kb(pid, "Pss") for pid in keepers) / 1024
        rss = sum(memory_kb(pid, "Rss") for pid in keepers) / 1024
        ended = stop(runtime, handles, 10)
        if isinstance(runtime, TmuxRuntime):
            runtime._ask("kill-server")
        runtime.close()
    print(
        f"{name:26} {count:5} members: Pss {pss:8.1f} MB, {pss / count * 1024:6.0f} KB each"
        f" (Rss {rss / count * 1024:6.0f} KB each); started in {seconds:5.2f} s, ended in {ended:5.2f} s"
    )
    return pss / count


def measure_stop(name: str, kind: type[ProcessRuntime], count: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        runtime = kind(directory)
        polite, _ = start(runtime, count)
        polite_s = stop(runtime, polite, 30)
        stubborn, _ = start(runtime, count, "sh", "-c", STUBBORN)
        time.sleep(1)  # until each has its stray child
        cpu = time.process_time()
        stubborn_s = stop(runtime, stubborn, GRACE_S)
        cpu = time.process_time() - cpu
        if isinstance(runtime, TmuxRuntime):
            runtime._ask("kill-server")
        runtime.close()
    print(
        f"{name:26} {count:5} members at once: polite {polite_s:.2f} s of a grace of 30 s; "
        f"stubborn {stubborn_s:.2f} s, {stubborn_s / GRACE_S:.2f} of the grace, CPU {cpu:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--thousand", action="store_true", help="also measure 1,000 members, not extrapolate")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    fresh = measure_memory("an interpreter for each", FreshRuntime, options.members)
    tmux = measure_memory("the same, in tmux", TmuxRuntime, min(options.members, 50))
    forked = measure_memory("forked (what plain does)", PlainRuntime, options.members)
    print(
        f"at 1,000: {fresh * 1000:.0f} MB, in tmux {tmux * 1000:.0f} MB, forked {forked * 1000:.0f} MB;",
        end=" ",
    )
    print(f"ratio {fresh / forked:.1f}")
    if options.thousand:
        measure_memory("forked (what plain does)", PlainRuntime, 1000)
    measure_stop("plain", PlainRuntime, options.members)
    measure_stop("tmux", TmuxRuntime, min(options.members, 50))


if __name__ == "__main__":
    main()
