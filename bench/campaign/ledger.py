"""The ledger: what a scripted agent has written, recorded outside the repository after each write returned.

One JSON line for each entry, appended with a single `write`. A `did` entry says that the content with this
object id is in the slot. A `will` entry before it says that the agent is about to replace the slot. After a
kill the slot holds the last `did`, or one of the `will` entries after it.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import Any, NamedTuple


def blob_id(content: bytes) -> str:
    """Return the id that git gives to these bytes when no filter is applied."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


_EMPTY = blob_id(b"")


class Ledger:
    """The agent's side: append only."""

    def __init__(self, path: str) -> None:
        self.path = path

    def add(self, kind: str, **entry: Any) -> None:
        line = json.dumps({"kind": kind, "at": time.time(), **entry}) + "\n"
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)

    def write(self, path: str, content: bytes, slot: str = "") -> None:
        """Write a file and record it: nothing is promised before the write has returned."""
        slot = slot or path
        self.add("will", slot=slot, oid=blob_id(content))
        with open(path, "wb") as file:
            file.write(content)
        self.add("did", slot=slot, oid=blob_id(content))


class Slot(NamedTuple):
    """A place that must hold one of these contents."""

    name: str
    accepted: tuple[str, ...]


def read(path: str) -> list[dict[str, Any]]:
    """Return all whole lines; a line that a kill cut short is left out."""
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return []
    entries = []
    for line in lines:
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def slots(entries: list[dict[str, Any]]) -> list[Slot]:
    """Return what must be found: for each slot the last `did`, or any `will` that came after it."""
    accepted: dict[str, list[str]] = {}
    for entry in entries:
        if entry["kind"] == "did":
            accepted[entry["slot"]] = [entry["oid"]]
        elif entry["kind"] == "will" and entry["slot"] in accepted:
            accepted[entry["slot"]] += [entry["oid"], _EMPTY]  # opening the file has emptied it
    return [Slot(name, tuple(oids)) for name, oids in accepted.items()]
