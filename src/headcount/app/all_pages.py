"""Show one page over all repositories of this user, and serve the live page of each that has an open team.

The page lists the teams of all repositories, and is written again every few seconds. It links to the live
pages: each is a `headcount serve` of its own, with its own token. The page is a file of mode 0600, because
the links hold the tokens. It is removed at the end. The servers end with this process, also if it is killed.
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

from headcount.app.all_teams import list_repositories, show_row
from headcount.app.known_repositories import find_directory
from headcount.domain.environment import build_environment
from headcount.errors import Declined
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    from headcount.app.all_teams import Repository, TeamRow
    from headcount.app.app import App

    class Served(TypedDict):
        repository: str
        url: str | None
        error: str | None
        teams: list[str]


_START_S = 30.0
_END_S = 5.0
_LOOK_S = 3  # between two looks at all repositories
_PAST = 5  # teams of a repository that are shown although they have ended
_PR_SET_PDEATHSIG = 1
_STYLE = (
    "body{font:16px/1.5 system-ui;margin:3rem auto;max-width:60rem;padding:0 1rem;color-scheme:light dark}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.2rem 1rem .2rem 0}"
    "h2{font-size:1.1rem;margin:2rem 0 .5rem;overflow-wrap:anywhere}.past{opacity:.75}"
)


class Pages:
    def __init__(
        self, app: App, path: str, served: list[Served], processes: list[subprocess.Popen[str]]
    ) -> None:
        self.path = path
        self.served = served
        self._app = app
        self._processes = processes

    def as_dict(self) -> dict[str, Any]:
        return {"page": self.path, "repositories": self.served}

    def write(self) -> None:
        links = {one["repository"]: one for one in self.served}
        sections = "".join(
            _section(one, links.get(one["repository"])) for one in list_repositories(self._app)
        )
        _replace(
            self.path,
            "<!doctype html><html lang=en><meta charset=utf-8><title>headcount: all teams</title>"
            f"<meta http-equiv=refresh content={_LOOK_S}><style>{_STYLE}</style>"
            f"<h1>All teams</h1>{sections}",
        )

    def wait(self) -> None:
        """Keep the page up to date until the last server has ended."""
        for process in self._processes:
            while True:
                try:
                    process.wait(_LOOK_S)
                    break
                except subprocess.TimeoutExpired:
                    self.write()


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
        pages = Pages(app, path, served, processes)
        pages.write()
        yield pages
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


def _section(one: Repository, served: Served | None) -> str:
    """A repository with its open teams, and the last ones that ended."""
    name = html.escape(one["repository"])
    url = served["url"] if served is not None else None
    title = f'<a href="{html.escape(url)}">{name}</a>' if url else name
    problem = one["error"] or (served["error"] if served is not None else None)
    open_ = [row for row in one["teams"] if row["state"] != Status.SHUTDOWN]
    past = [row for row in one["teams"] if row["state"] == Status.SHUTDOWN][:_PAST]
    rows = "".join(map(_row, [*open_, *past]))
    head = "<tr><th>Team<th>State<th>Alive<th>Started<th>Ended<th>Result"
    told = f"<p>{html.escape(problem)}" if problem else ""
    return f"<h2>{title}</h2>{told}<table>{head}{rows}</table>"


def _row(row: TeamRow) -> str:
    kind = " class=past" if row["state"] == Status.SHUTDOWN else ""
    return f"<tr{kind}>" + "".join(f"<td>{html.escape(cell)}" for cell in show_row(row))


def _replace(path: str, text: str) -> None:
    """Write a file that only this user can read. A reader sees the old one or the new one."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    new = f"{path}.new"
    with suppress(FileNotFoundError):
        os.unlink(new)
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    os.replace(new, path)
