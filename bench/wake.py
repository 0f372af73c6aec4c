"""From a commit in one process to `wait` returning in another that sleeps: milliseconds.

python bench/wake.py [--runs N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time

from scene import make_team

from headcount.ports import Mail
from headcount.store.sqlite import SqliteStore

WAITER = """
import sys, time
from headcount.store.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
store.listen("bench#1/alice#1")
for _ in range(int(sys.argv[2])):
    print("ready", flush=True)
    while True:
        with store.write() as tx:
            mail = tx.inbox("bench#1", ["alice#1"], unread=True)
            tx.mark_read("bench#1", [m.id for m in mail])
        if mail:
            break
        store.wait("bench#1/alice#1", 5)
    print(time.monotonic(), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as place:
        store = SqliteStore(place)
        with store.write() as tx:
            team = make_team(tx, "bench", "alice")
        waiter = subprocess.Popen(
            [sys.executable, "-c", WAITER, place, str(runs)], stdout=subprocess.PIPE, text=True
        )
        assert waiter.stdout is not None
        latencies = []
        for number in range(runs):
            waiter.stdout.readline()
            time.sleep(0.005)  # it must be asleep, or this measures no waking
            with store.write() as tx:
                tx.post(Mail("", team.id, "lead", "alice#1", str(number), "b"))
            committed = time.monotonic()
            store.ring([f"{team.id}/alice#1"])
            latencies.append((float(waiter.stdout.readline()) - committed) * 1e3)
        waiter.wait()
        store.close()
    latencies.sort()
    print(
        f"commit → read and marked by the other process: median {statistics.median(latencies):.2f} ms, "
        f"99 of 100 within {latencies[int(runs * 0.99) - 1]:.2f} ms ({runs} times)"
    )


if __name__ == "__main__":
    main()
