"""Reading how a team stands when its journal is long: it must not read the journal whole.

python bench/status.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable

from scene import make_team

from headcount.protocol.effects import Note
from headcount.store.sqlite import SqliteStore


def milliseconds(read: Callable[[], object], times: int = 50) -> float:
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        read()
        taken.append((time.perf_counter() - before) * 1e3)
    return statistics.median(taken)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        store = SqliteStore(place)
        with store.write() as tx:
            team = make_team(tx, "bench", *(f"m{n}" for n in range(16)))

        def status() -> None:
            with store.read() as tx:
                tx.load_team("bench")
                tx.tasks(team.id)
                tx.count_unread(team.id)
                tx.recent(team.id, 20)

        def everything() -> None:
            with store.read() as tx:
                tx.journal(team.id)

        short = milliseconds(status)
        for start in range(0, 100_000, 10_000):
            with store.write() as tx:
                tx.note(team.id, [Note("moved", "m1#1", {"n": n}) for n in range(start, start + 10_000)])
        long = milliseconds(status)
        whole = milliseconds(everything, 3)
        store.close()
    print(f"status of 16 members, empty journal:          {short:8.2f} ms")
    print(f"status of 16 members, 100,000 journal events: {long:8.2f} ms  ({long / short:.2f}x)")
    print(f"reading the whole journal, for comparison:    {whole:8.2f} ms")


if __name__ == "__main__":
    main()
