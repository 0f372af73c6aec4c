"""Watch definitions and everything they import, and return the sources to build again.

It polls time stamps five times a second. A stat takes about a microsecond, so a hundred definitions with
their imports take well under a millisecond. A change counts after one interval without another change. So a
save that writes several files, or one file in pieces, is one build.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headcount.app.builds import Built

INTERVAL_S: Final = 0.2

if TYPE_CHECKING:
    Stamp = tuple[int, int, int] | None


class Watcher:
    """Remembers the files that each source was built from, and their time stamps at the build."""

    def __init__(self) -> None:
        self._files: dict[str, frozenset[str]] = {}
        self._stamps: dict[str, Stamp] = {}

    def built(self, results: Iterable[Built]) -> None:
        """Take note of what was read. A source that failed may be waiting for a file that is not there
        yet, so the folders around it count too."""
        for result in results:
            files = set(result.files)
            if result.output is None:
                files |= {os.path.dirname(file) or "." for file in result.files}
            self._files[result.source] = frozenset(files)
            for file in files:
                self._stamps[file] = stamp(file)

    def forget(self, gone: Iterable[str]) -> None:
        for source in gone:
            self._files.pop(source, None)

    def changed(self, sources: Iterable[str]) -> set[str]:
        """The sources to build: new ones, and those with a file that looks different now."""
        now = {file: stamp(file) for files in self._files.values() for file in files}
        moved = {file for file, seen in now.items() if self._stamps.get(file) != seen}
        self._stamps.update(now)
        return {
            source
            for source in sources
            if source not in self._files or not moved.isdisjoint(self._files[source])
        }

    @property
    def sources(self) -> set[str]:
        return set(self._files)


def stamp(path: str) -> Stamp:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size, seen.st_ino


def changes(
    watcher: Watcher, find: Callable[[], list[str]], pause: Callable[[], None]
) -> Iterator[list[str]]:
    """Wait for changes, and give the sources to build each time; `find` expands the patterns again."""
    due: set[str] = set()
    while True:
        pause()
        sources = find()
        watcher.forget(watcher.sources - set(sources))
        changed = watcher.changed(sources)
        due |= changed
        if due and not changed:
            yield [source for source in sources if source in due]
            due = set()
