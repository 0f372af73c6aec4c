"""Durable sends a second, beside a bare insert and commit of the same durability, and beside a JSON file.

    python bench/sends.py

The JSON file is the usual inbox of other systems: read all, append, write a new file, sync, rename. Runs are
interleaved, so that a busy machine slows all alike.
"""

from __future__ import annotations

import fcntl
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable

import apsw
from scene import make_team

from headcount.ports import Mail
from headcount.store.sqlite import SqliteStore

BODY = "x" * 200
ROUNDS, SENDS = 9, 200


def ours(place: str, already: int) -> Callable[[int], None]:
    store = SqliteStore(f"{place}/.headcount")
    with store.write() as tx:
        team = make_team(tx, "bench", "alice")
        for number in range(already):
            tx.post(Mail("", team.id, "lead", "alice#1", str(number), BODY))

    def send(number: int) -> None:
        with store.write() as tx:
            tx.post(Mail("", team.id, "lead", "alice#1", str(number), BODY))
        store.ring([f"{team.id}/alice#1"])

    return send


def bare(place: str, _: int) -> Callable[[int], None]:
    db = apsw.Connection(f"{place}/bare.db")
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "full")
    db.execute("create table mail (seq integer primary key, sender text, box text, subject text, body text)")

    def send(number: int) -> None:
        db.execute("begin immediate")
        db.execute(
            "insert into mail (sender, box, subject, body) values (?, ?, ?, ?)",
            ("lead", "alice#1", str(number), BODY),
        )
        db.execute("commit")

    return send


def json_file(place: str, already: int) -> Callable[[int], None]:
    path = f"{place}/inbox.json"
    message = {"from": "lead", "to": "alice#1", "subject": "s", "body": BODY, "read": False}
    with open(path, "w") as file:
        json.dump([message] * already, file)
    lock = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR)

    def send(number: int) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(path) as file:
            messages = json.load(file)
        messages.append({**message, "subject": str(number)})
        with open(f"{path}.new", "w") as file:
            json.dump(messages, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(f"{path}.new", path)
        fcntl.flock(lock, fcntl.LOCK_UN)

    return send


def rate(send: Callable[[int], None], count: int) -> float:
    before = time.perf_counter()
    for number in range(count):
        send(number)
    return count / (time.perf_counter() - before)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        senders = {"bare insert and commit": bare(place, 0), "headcount": ours(place, 0)}
        rates: dict[str, list[float]] = {name: [] for name in senders}
        for _ in range(ROUNDS):
            for name, send in senders.items():
                rates[name].append(rate(send, SENDS))
        base = statistics.median(rates["bare insert and commit"])
        for name, values in rates.items():
            middle = statistics.median(values)
            print(f"{name:24} {middle:8,.0f} durable sends a second  {middle / base:5.2f}x")
    print(f"\n{'messages in the inbox':24} {'headcount':>12} {'JSON file':>12}   a second")
    for already in (10, 1_000, 10_000):
        with tempfile.TemporaryDirectory() as place:
            ours_rate = rate(ours(place, already), 200)
            json_rate = rate(json_file(place, already), 10 if already > 1_000 else 30)
        print(f"{already:<24,} {ours_rate:12,.0f} {json_rate:12,.0f}   {ours_rate / json_rate:6.1f}x")


if __name__ == "__main__":
    main()
