"""Transactions a second: PostgreSQL with a lock for each team, with one for all, and SQLite; as ratios.

python bench/store.py [--seconds N] [--writers N]

Each writer is a process on a team of its own. A transaction reads a member's card, and adds a journal entry
and mail, as a step of the engine does; `append` is a member's message. Both databases wait for the disk.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.postgres import Cluster

WRITER = """
import sys, time
from headcount.ports import Mail
url, team, how, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
if url.startswith("postgresql:"):
    from headcount.store.postgres import PostgresStore
    store = PostgresStore(url)
else:
    from headcount.store.sqlite import SqliteStore
    store = SqliteStore(url)
with store.write() as tx:
    id = tx.create_team(team, "", {}).id
print("ready", flush=True)
sys.stdin.readline()
taken, end = [], time.monotonic() + seconds
while (began := time.monotonic()) < end:
    opened = store.append(team="w0") if how == "append" else store.write(team=team if how == "team" else "")
    with opened as tx:
        if how == "append":
            tx.post(Mail("", "w0#1", "lead", "alice#1", "s", "b" * 200))
        else:
            tx.member_card(id, "alice")
            tx.add_entry(id, "bench", "", {"n": len(taken)})
            tx.post(Mail("", id, "lead", "alice#1", "s", "b" * 200))
    taken.append(time.monotonic() - began)
taken.sort()
print(len(taken), taken[int(len(taken) * 0.99)] * 1e3)
"""


def measure(url: str, how: str, writers: int, seconds: float) -> tuple[float, float]:
    """Transactions a second, and the slowest of 99 in 100 of the unluckiest writer, in ms."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, f"w{n}", how, str(seconds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for n in range(writers)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    found = [process.communicate()[0].split() for process in processes]
    return sum(int(n) for n, _ in found) / seconds, max(float(p99) for _, p99 in found)


def cpu_of(cluster: Cluster) -> float:
    """Seconds of CPU of the server and of the backends that have ended."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if entry.name == str(cluster.pid):
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == cluster.pid:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    found: dict[str, list[tuple[float, float, float]]] = {}
    for round_ in range(given.rounds):
        cluster = Cluster()
        cluster.stop()
        cluster.start("fsync=on", "full_page_writes=on", "shared_buffers=128MB")
        for how in ("team", "all", "append"):
            name = f"b{round_}{how}"
            cluster.execute(f"create database {name}")
            before = cpu_of(cluster)
            rate, p99 = measure(cluster.url(name), how, given.writers, given.seconds)
            cpu = (cpu_of(cluster) - before) / (rate * given.seconds) * 1e3
            found.setdefault(f"PostgreSQL, {how}", []).append((rate, p99, cpu))
        cluster.close()
        with tempfile.TemporaryDirectory() as place:
            found.setdefault("SQLite", []).append((*measure(place, "all", given.writers, given.seconds), 0.0))
    middle = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)]
        for name, rows in found.items()
    }
    base = middle["PostgreSQL, all"][0]
    print(f"{given.writers} writers, median of {given.rounds} rounds of {given.seconds:g} s")
    for name, (rate, p99, cpu) in middle.items():
        server = f", {cpu:.2f} ms CPU of the server each" if cpu else ""
        print(f"{name:20} {rate:7.0f}/s = {rate / base:4.2f} of one lock, p99 {p99:.0f} ms{server}")


if __name__ == "__main__":
    main()
