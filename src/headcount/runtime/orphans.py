"""Whose a process is that came to the subreaper above the keepers, because its own keeper was killed.

The children of that subreaper are the keepers, the tmux server of headcount, and orphans of keepers that were
killed. An orphan that carries the mark of one of those members belongs to it. Any other could be each one's:

- it is ended only when every member that could own it is being ended, so that no unsaved work is cut short;
- until it has ended, no member that could own it is fully proved gone.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from headcount.runtime.processes import Process, is_alive, read_children, read_process
from headcount.runtime.reaper import KEEPER
from headcount.runtime.spawn import NOBODY, Identity, Record


class Orphans(NamedTuple):
    ours: list[Process]
    doubtful: list[Process]
    """Perhaps ours, and not ours to end."""


class Members:
    """The members that one engine knows and that are not proved gone yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[str, Record] = {}
        self._ending: set[str] = set()

    def add(self, record: Record) -> None:
        with self._lock:
            self._records[record.mark] = record

    def set_ending(self, mark: str) -> None:
        """From now on what could be its own may be ended, as far as this member is concerned."""
        with self._lock:
            self._ending.add(mark)

    def is_ending(self, mark: str) -> bool:
        with self._lock:
            return mark in self._ending

    def set_gone(self, mark: str) -> None:
        """Nothing can be its own any more."""
        with self._lock:
            self._records.pop(mark, None)
            self._ending.discard(mark)

    def find_orphans(self, record: Record) -> Orphans:
        """What a killed keeper of this member may have left to the subreaper above it."""
        if record.above == NOBODY or not is_alive(record.above):
            return Orphans([], [])
        with self._lock:
            known = {**self._records, record.mark: record}
            ending = set(self._ending)
        siblings = {mark: r for mark, r in known.items() if r.above == record.above and r.boot == record.boot}
        owners = {mark for mark, r in siblings.items() if not is_alive(r.keeper)} | {record.mark}
        of_ours = {who for r in siblings.values() for who in (r.keeper, r.terminal, r.init)}
        found = Orphans([], [])
        for process in _other_children(record.above, of_ours):
            could_own = {process.mark} if process.mark in owners else owners
            if record.mark not in could_own:
                continue
            # A keeper of a start that is under way, or a process that only calls itself one.
            claims_to_keep = process.name == KEEPER
            alone = could_own - ending <= {record.mark}
            (found.ours if alone and not claims_to_keep else found.doubtful).append(process)
        return found


def _other_children(above: Identity, of_ours: set[Identity]) -> list[Process]:
    found = []
    for pid in read_children(above.pid):
        process = read_process(pid, with_mark=False)
        if process is None or process.ppid != above.pid or process.dead or process.identity in of_ours:
            continue
        if (orphan := read_process(pid)) is not None and orphan.identity == process.identity:
            found.append(orphan)
    return found
