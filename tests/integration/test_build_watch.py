"""`headcount build --watch`: what is built again, and when."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headcount.app.build_watch import Watcher, changes
from headcount.app.builds import Options, build
from headcount.compiler.dialects import TEAMMATE

MAIN = "import { Command } from 'headcount';\nimport { Note } from './note';\n"
ROOT = 'export default <Command name="x" description="d"><Note /></Command>;\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.tsx").write_text(MAIN + ROOT)
    (tmp_path / "note.tsx").write_text("export const Note = () => <p>one</p>;\n")
    return tmp_path


def touch(path: Path, text: str) -> None:
    """Write, and make sure that the time stamp differs even on a coarse clock."""
    path.write_text(text)
    later = path.stat().st_mtime_ns + 5_000_000_000
    os.utime(path, ns=(later, later))


def watched(sources: list[str]) -> Watcher:
    watcher = Watcher()
    watcher.built(build(sources, Options(TEAMMATE)))
    return watcher


def test_imported_file_is_followed(folder: Path) -> None:
    source = str(folder / "a.tsx")
    watcher = watched([source])
    assert watcher.changed([source]) == set()
    touch(folder / "note.tsx", "export const Note = () => <p>two</p>;\n")
    assert watcher.changed([source]) == {source}
    assert watcher.changed([source]) == set()


def test_only_what_reads_the_file_is_built(folder: Path) -> None:
    (folder / "b.tsx").write_text(MAIN.partition("\n")[0] + ROOT.replace("<Note />", "b"))
    a, b = str(folder / "a.tsx"), str(folder / "b.tsx")
    watcher = watched([a, b])
    touch(folder / "note.tsx", "export const Note = () => <p>two</p>;\n")
    assert watcher.changed([a, b]) == {a}


def test_new_source_is_picked_up_and_a_removed_one_forgotten(folder: Path) -> None:
    a, b = str(folder / "a.tsx"), str(folder / "b.tsx")
    watcher = watched([a])
    assert watcher.changed([a, b]) == {b}
    watcher.forget([a])
    assert watcher.sources == set()


def test_source_that_waits_for_a_missing_file_is_built_when_it_comes(folder: Path) -> None:
    note = folder / "note.tsx"
    text = note.read_text()
    note.unlink()
    source = str(folder / "a.tsx")
    watcher = watched([source])
    touch(note, text)
    os.utime(folder, ns=(note.stat().st_mtime_ns, note.stat().st_mtime_ns))
    assert watcher.changed([source]) == {source}


def test_changes_that_follow_each_other_are_one_build(folder: Path) -> None:
    source = str(folder / "a.tsx")
    watcher = watched([source])
    pauses = 0

    def pause() -> None:
        nonlocal pauses
        pauses += 1
        if pauses <= 3:
            touch(folder / "note.tsx", f"export const Note = () => <p>{'x' * pauses}</p>;\n")

    due = next(changes(watcher, lambda: [source], pause))
    assert (due, pauses) == ([source], 4)


def test_watch_builds_again_when_an_import_changes(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "headcount", "build", "--watch", "a.tsx"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        assert process.stdout
        wait_line(process, b"Watching 1 definition")
        touch(folder / "note.tsx", "export const Note = () => <p>two</p>;\n")
        wait_line(process, b"Wrote a.md")
        assert (folder / "a.md").read_text().endswith("\ntwo\n")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def wait_line(process: subprocess.Popen[bytes], wanted: bytes, seconds: float = 60) -> None:
    assert process.stdout
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        seen = b""
        while wanted not in seen:
            assert selector.select(max(deadline - time.monotonic(), 0)), f"only saw {seen!r}"
            piece = os.read(process.stdout.fileno(), 4096)
            assert piece, f"ended after {seen!r}"
            seen += piece
