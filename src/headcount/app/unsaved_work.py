"""Count commits and unsaved files of the members at work, at little cost for the machine."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from headcount.app.adapters import make_workspaces
from headcount.app.app import policy_of
from headcount.domain.findings import Workspace
from headcount.engine.pending_acts import with_git_config
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from headcount.app.app import App
    from headcount.domain.policy import Policy


class Work(NamedTuple):
    """The commits of a member since its base, and the findings that it must act on, mostly files."""

    commits_ahead: int | None
    files_changed: int | None


NOT_KNOWN = Work(None, None)
_PAUSE_S = 0.25
_AT_ONCE, _WAIT_S = 4, 1.0
_SHARE = 5  # of the time at most one part in this many is spent reading, so that nobody's work is slowed


def count_work(app: App, places: Mapping[str, Mapping[str, Any]]) -> dict[str, Work]:
    """Count now, for one `status`, with a deadline for all together. `places` are facts by incarnation."""
    from concurrent.futures import ThreadPoolExecutor

    workspaces, until = make_workspaces(app), time.monotonic() + _WAIT_S

    def count(place: Mapping[str, Any]) -> Work:
        try:
            found = workspaces.count(Workspace.from_dict(place), {}, max(until - time.monotonic(), 0.01))
        except (HeadcountError, OSError, ValueError):
            return NOT_KNOWN
        return Work(*found) if found else NOT_KNOWN

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(places, pool.map(count, places.values()), strict=True))


@contextmanager
def looking(app: App, team_name: str, seen: dict[str, Work]) -> Iterator[None]:
    """Read in a thread of its own, for as long as the block lasts."""
    over = threading.Event()
    thread = threading.Thread(target=keep_looking, args=(app, team_name, seen, over.wait), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def keep_looking(app: App, team_name: str, seen: dict[str, Work], wait: Callable[[float], bool]) -> None:
    """Count into `seen`, member by member, until `wait` returns that it is over."""
    workspaces = make_workspaces(app)
    while True:
        policy, places = _live(app, team_name)
        for key, (workspace, start) in places.items():
            began = time.monotonic()
            try:
                found = workspaces.read(workspace, policy, start)
                seen[key] = Work(found.commits_ahead, len(found.dirty))
            except (HeadcountError, OSError):
                seen.pop(key, None)  # it is being removed, or cannot be read: then nothing is claimed
            if wait(max(_PAUSE_S, _SHARE * (time.monotonic() - began))):
                return
        if wait(1.0):
            return


def _live(app: App, team_name: str) -> tuple[Policy, dict[str, tuple[Workspace, Mapping[str, Any]]]]:
    with app.store.read() as tx:
        team = app.load(tx, team_name)
        policy = policy_of(tx.team_settings(team.id))
        places, starts = tx.facts(team.id, "workspace"), tx.facts(team.id, "start")
        plans = {key: with_git_config(tx, team.id, start) for key, start in starts.items()}
    there = {m.key: places[m.key] for m in team.live() if m.key in places}
    return policy, {
        key: (Workspace.from_dict(place), plans.get(key, {}))
        for key, place in there.items()
        if os.path.isdir(place["path"])
    }
