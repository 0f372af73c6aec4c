"""Whether anything in a workspace was touched since nothing was found in it.

A stand-down asks three times what stands in a workspace: when its member answers, when nobody works in it any
more, and before it goes. Mostly nothing happened in between, and asking git means a process each time. So
every entry of the workspace and of its git directory is remembered as git remembers those of its index, and
with the time of change, which no program can set. Only "nothing to save" is remembered, by one engine, for
a few minutes. Whatever is not exactly as it was is asked of git again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from headcount.workspace.findings import utc_now
from headcount.workspace.repository import first_line

if TYPE_CHECKING:
    from headcount.domain.findings import Findings, Workspace
    from headcount.workspace.repository import Repository

_MANY = 2000  # entries: git looks at more than these faster than we do
_BELIEVED_S = 300.0  # what is nowhere near the workspace may matter too: a tag that held an old commit of it
_SETTLED_S = 1.0  # what was written a moment ago may be written again without a trace in its times


@dataclass(frozen=True, slots=True)
class _Sight:
    print: bytes
    at: float


class Sights:
    """What one engine has seen."""

    def __init__(self, repo: Repository | None, settled_s: float = _SETTLED_S) -> None:
        self._repo = repo
        self._settled_s = settled_s
        self._spotless: dict[str, tuple[_Sight, Findings]] = {}

    def read(self, workspace: Workspace, ask: Callable[[], Findings]) -> Findings:
        """What `ask` finds; or what it found before, where that was nothing, and nothing was touched."""
        now = self._look(workspace)
        before, findings = self._spotless.get(workspace.path, (None, None))
        if now and before and findings and now.print == before.print and now.at - before.at < _BELIEVED_S:
            return replace(findings, when=utc_now())
        return self._remember(workspace, now, ask())

    def _remember(self, workspace: Workspace, seen: _Sight | None, findings: Findings) -> Findings:
        """`seen` before it was asked: what was touched during the asking does not look like it any more."""
        if seen is not None and findings.spotless:
            self._spotless[workspace.path] = (seen, findings)
        else:
            self._spotless.pop(workspace.path, None)
        return findings

    def _look(self, workspace: Workspace) -> _Sight | None:
        """None where there is no telling: without git, of too much, or just after it was touched."""
        if self._repo is None or workspace.git_dir is None:
            return None
        at, latest_ns = time.monotonic(), time.time_ns() - int(self._settled_s * 1e9)
        digest = blake2b(digest_size=16)
        try:
            for count, (path, seen) in enumerate(_entries(self._repo, workspace, workspace.git_dir)):
                if count > _MANY or (seen and max(seen.st_mtime_ns, seen.st_ctime_ns) > latest_ns):
                    return None
                digest.update(f"{path!r} {_traits(seen)}\n".encode("utf-8", "surrogateescape"))
        except OSError:
            return None
        return _Sight(digest.digest(), at)


def _entries(
    repo: Repository, workspace: Workspace, git_dir: str
) -> Iterator[tuple[str, os.stat_result | None]]:
    yield from _below(workspace.path)
    yield from _below(git_dir)
    head = (first_line(os.path.join(git_dir, "HEAD")) or "").removeprefix("ref: ")
    for ref in sorted({head, f"refs/heads/{workspace.branch}", "refs/stash"}):
        for path in (ref, f"logs/{ref}"):
            yield path, _stat(os.path.join(repo.common_dir, path))
    yield "packed-refs", _stat(os.path.join(repo.common_dir, "packed-refs"))


def _below(root: str) -> Iterator[tuple[str, os.stat_result]]:
    yield root, os.lstat(root)
    pending = [root]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                yield entry.path, entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _traits(seen: os.stat_result | None) -> tuple[int, ...]:
    if seen is None:
        return ()
    return (seen.st_mode, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
