"""A workspace in which nothing changed since its checkout is recognised by the kernel's times alone."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gitworld import World, git

from headcount.domain.findings import Workspace
from headcount.workspace import inspection
from headcount.workspace.contents import is_untouched, survey


@pytest.fixture
def fresh(world: World, tmp_path: Path) -> Workspace:
    (world.top / "deep/er").mkdir(parents=True)
    (world.top / "deep/er/kept.txt").write_text("kept\n")
    (world.top / "deep/er/link").symlink_to("kept.txt")
    git(world.top, "add", ".")
    git(world.top, "commit", "-qm", "deep")
    return make(world, "alice", tmp_path / "probe")


def make(world: World, name: str, probe: Path) -> Workspace:
    """A workspace whose checkout ended before this moment, by the clock of the file system."""
    made = world.member(name)
    assert made.checkout is not None
    if not made.checkout.ended_ns:
        pytest.skip("this file system misses writes through mapped memory")
    ended = time.time_ns()
    while not probe.exists() or probe.lstat().st_ctime_ns <= ended:
        probe.write_text("now\n")
    return replace(made, checkout=replace(made.checkout, ended_ns=ended))


def test_an_untouched_workspace_is_not_listed_in_python(
    world: World, fresh: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(*_: object) -> None:
        raise AssertionError("the workspace was listed")

    monkeypatch.setattr(inspection, "survey", listed)
    git(fresh.path, "status")  # which may write the index
    findings = world.findings(fresh)
    assert findings.spotless and (findings.head, findings.branch) == (fresh.base, fresh.branch)


def test_without_find_an_untouched_workspace_is_read_whole(
    world: World, fresh: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(shutil.which("git") or "git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert not is_untouched(fresh.path, fresh.checkout, 10)
    assert world.findings(fresh).spotless


def test_nothing_is_untouched_after_someone_has_set_the_clock(world: World, fresh: Workspace) -> None:
    """A write after the clock was set back has a time that looks like one of the checkout."""
    assert fresh.checkout is not None
    for change_ns in (-2_000_000_000, -10_000_000, 10_000_000):
        earlier = replace(fresh.checkout, clock_ns=fresh.checkout.clock_ns - change_ns)
        assert not is_untouched(fresh.path, earlier, 10)
        assert len(survey(fresh.path, earlier)[0].touched) == len(survey(fresh.path, None)[0].touched) > 0
    assert is_untouched(fresh.path, fresh.checkout, 10) and not survey(fresh.path, fresh.checkout)[0].touched


def rewrite(place: Path) -> None:
    """The same bytes, with the old times."""
    file = place / "deep/er/kept.txt"
    before = file.stat()
    with file.open("r+b") as opened:
        opened.write(b"kept\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def bind(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.path.relpath(place / "deep/s"))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file rewritten": rewrite,
    "a mode": lambda place: (place / "deep/er/kept.txt").chmod(0o600),
    "a directory's mode": lambda place: (place / "deep/er").chmod(0o700),
    "a new file": lambda place: (place / "deep/er/new").touch(),
    "a new directory": lambda place: (place / "deep/new").mkdir(),
    "a deleted file": lambda place: (place / "deep/er/kept.txt").unlink(),
    "a renamed file": lambda place: (place / "deep/er/kept.txt").rename(place / "deep/er/-print"),
    "a second name": lambda place: os.link(place / "deep/er/kept.txt", place / "deep/er/twin"),
    "a deleted link": lambda place: (place / "deep/er/link").unlink(),
    "a socket": bind,
    "a repository": lambda place: git(place / "deep/er", "init", "-q"),
}  # fmt: skip


def test_every_change_of_a_workspace_is_seen_in_the_times(
    world: World, fresh: Workspace, tmp_path: Path
) -> None:
    missed = []
    for number, (name, change) in enumerate(CHANGES.items()):
        own = make(world, f"m{number}", tmp_path / "probe")
        assert is_untouched(own.path, own.checkout, 10), name
        change(Path(own.path))
        missed += [name] if is_untouched(own.path, own.checkout, 10) else []
    assert missed == []


def test_a_workspace_that_find_cannot_read_whole_is_not_untouched(fresh: Workspace) -> None:
    assert fresh.checkout is not None
    assert not is_untouched(fresh.path, replace(fresh.checkout, ended_ns=0), 10)
    assert not is_untouched(fresh.path, fresh.checkout, 0)
