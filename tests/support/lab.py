"""What every laboratory of the tests is made of: an environment, a repository, an end.

A laboratory is a repository with a state directory in which a test plays the operator. Its members are real
processes. What differs (a terminal, a page, a run, an MCP client) is added beside the tests that need it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from headcount.app.adapters import make_runtimes
from headcount.app.app import App
from headcount.app.lock import is_driven
from headcount.domain.asks import Ask

IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "T"), ("EMAIL", "t@localhost"))
}


def set_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this process a home and a git identity of its own: nothing of the user's is read."""
    for name, value in {**IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(home)}.items():
        monkeypatch.setenv(name, value)


def make_repository(place: str | Path) -> None:
    """A repository on `main` with one commit of one file, copied from a template."""
    shutil.copytree(_template(), place, symlinks=True, dirs_exist_ok=True)


@cache
def _template() -> str:
    place = tempfile.mkdtemp(prefix="headcount-template-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    env = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    Path(place, "README").write_text("hello\n")
    for words in ("init --quiet -b main", "add README", "commit --quiet -m first"):
        subprocess.run(["git", "-C", place, *words.split()], check=True, env=env)
    return place


def end_everything(app: App) -> None:
    """End what a test left: only what carries a mark of this very state directory.

    All are adopted first: a keeper that the runtime does not know would put the others' end in doubt.
    """
    runtime = make_runtimes(app)["plain"]
    handles = [runtime.adopt(mark) or runtime.adopt_by_mark(mark) for mark in runtime.list_marked()]
    for handle in handles:
        runtime.kill(handle, 5)


def engine_pid(home: str | Path) -> int:
    """The process that drives. It holds the lock for a moment before it has written who it is."""
    deadline = time.monotonic() + 60
    while True:
        pid = Path(home, "engine.lock").read_text().strip()
        if pid and is_driven(str(home)):
            return int(pid)
        assert time.monotonic() < deadline, f"nobody drives {home}; the lock file has {pid!r}"
        time.sleep(0.01)


def end_engine(home: str | Path) -> None:
    """End the engine that a command started in the background: the holder of this very lock file."""
    if is_driven(str(home)):
        with suppress(ProcessLookupError, ValueError):  # it has just ended by itself, or just begun
            os.kill(int(Path(home, "engine.lock").read_text()), signal.SIGTERM)


def add_ask(app: App, team: str, key: str, command: str = "make test") -> str:
    """An open permission request, as a client of the member would make it; its id."""
    now = time.time()
    ask = Ask("", f"{team}#1", key, "command", f"Run: {command}", "", command, "/work", now, now + 600)
    with app.store.write(team=team) as tx:
        ask = tx.add_ask(ask)
        tx.add_entry(ask.team, "ask", key, {"ask": ask.id, "kind": ask.kind, "title": ask.title})
    app.store.ring([f"team/{team}"])
    return ask.id
