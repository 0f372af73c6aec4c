"""Serve the live page of every repository of this user that has an open team, with one page of links.

Each page is a `headcount serve` of its own, with its own token. The page of links is a file of mode 0600,
because the links hold the tokens; it is removed at the end. The servers end with this process, also if it is
killed.
"""

from __future__ import annotations

import ctypes
import html
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from headcount.app.all_teams import list_repositories
from headcount.app.known_repositories import find_directory
from headcount.domain.environment import build_environment
from headcount.errors import Declined
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    from headcount.app.all_teams import Repository
    from headcount.app.app import App

    class Served(TypedDict):
        repository: str
        url: str | None
        error: str | None
        teams: list[str]


_START_S = 30.0
_END_S = 5.0
_PR_SET_PDEATHSIG = 1
_STYLE = (
    "body{font:16px/1.5 system-ui;margin:3rem auto;max-width:50rem;color-scheme:light dark}li{margin:1rem 0}"
)


class Pages:
    def __init__(self, path: str, served: list[Served], processes: list[subprocess.Popen[str]]) -> None:
        self.path = path
        self.served = served
        self._processes = processes

    def as_dict(self) -> dict[str, Any]:
        return {"page": self.path, "repositories": self.served}

    def wait(self) -> None:
        """Return when the last server has ended."""
        for process in self._processes:
            process.wait()


@contextmanager
def open_pages(app: App) -> Iterator[Pages]:
    found = [one for one in list_repositories(app) if _open_teams(one)]
    if not found:
        raise Declined(
            "There is no page to open", "none of your repositories has an open team",
            ("See the past ones with `headcount teams --all`",), code="no-open-team",
        )  # fmt: skip
    processes: list[subprocess.Popen[str]] = []
    path = os.path.join(find_directory(os.environ), f"open-{os.getpid()}.html")
    try:
        processes.extend(map(_start, found))
        until = time.monotonic() + _START_S
        served = [_describe(one, process, until) for one, process in zip(found, processes, strict=True)]
        _write(path, served)
        yield Pages(path, served, processes)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        with suppress(FileNotFoundError):
            os.unlink(path)


def _open_teams(one: Repository) -> list[str]:
    return [row["team"] for row in one["teams"] if row["state"] != Status.SHUTDOWN]


def _start(one: Repository) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "headcount", "serve", "--json"],
        cwd=one["repository"], env={**build_environment(os.environ), "HEADCOUNT_HOME": one["home"]},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        preexec_fn=_end_with_parent, start_new_session=True,
    )  # fmt: skip


def _end_with_parent() -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _describe(one: Repository, process: subprocess.Popen[str], until: float) -> Served:
    """Wait for the address that the server prints; an error of it is shown instead."""
    assert process.stdout is not None
    said: dict[str, Any] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if selector.select(max(0.0, until - time.monotonic())):
            with suppress(ValueError):
                said = json.loads(process.stdout.readline())
    error = None if said.get("url") else str(said.get("error", {}).get("what") or "it did not start in time")
    return {
        "repository": one["repository"],
        "url": said.get("url"),
        "error": error,
        "teams": _open_teams(one),
    }


def _write(path: str, served: list[Served]) -> None:
    rows = "".join(map(_item, served))
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>headcount</title><style>{_STYLE}</style>"
        f"<h1>headcount</h1><ul>{rows}</ul>"
    )
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as file:
        file.write(page)


def _item(one: Served) -> str:
    name, teams = html.escape(one["repository"]), html.escape(", ".join(one["teams"]))
    problem = html.escape(one["error"] or "")
    link = f'<a href="{html.escape(one["url"])}">{name}</a>' if one["url"] else name
    return f"<li>{link}<br>{teams}{f' ({problem})' if problem else ''}"
