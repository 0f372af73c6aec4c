"""Retention: the files that closed teams leave on disk, and when headcount removes them.

headcount never removes receipts, tombstones (the rows of the store), salvages or unread mail. It removes the
rest by age (`keep_days`) and size (`keep_mb`, oldest first): logs, files of the team, checkpoints, and copies
of what the store has. Only names that are listed here are removed from an archive, so anything else in it
stays.

The engine does this when a team closes, in a thread of its own. A failure is only logged, and whatever is
left is removed the next time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from headcount.app.adapters import find_repository, make_runtimes
from headcount.app.closed_teams import closed_ids
from headcount.domain.findings import Kind, Workspace
from headcount.engine.state_files import archive_path, log_path
from headcount.errors import HeadcountError
from headcount.runtime.mark import parse_mark
from headcount.tree_removal import remove_tree
from headcount.workspace.checkpoints import DIRECTORY as CHECKPOINTS
from headcount.workspace.checkpoints import disk_size, list_stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headcount.app.app import App
    from headcount.domain.policy import Policy
    from headcount.ports import Tx

_LOG = logging.getLogger(__name__)

Place = tuple[str, str, int]

DAY_S = 86_400.0
MB = 1 << 20
RECEIPT = "receipt.json"
_MAIL = "mail.jsonl"
_LOGS = "logs"
# Of an archive. The journal and the tasks are in the store, too.
_REMOVABLE = (_LOGS, "team", "journal.jsonl", _MAIL, "tasks.json")
_LEAVE_S = 1.0  # an engine that ends does not wait longer for its retention


class Kept(NamedTuple):
    """Something of a closed team that may be removed. `why` is set if that can be done at once."""

    kind: str
    name: str
    bytes: int
    since: float
    remove: Callable[[], None]
    why: str = ""


# --- what there is ---------------------------------------------------------------------------------------


def find_kept(app: App) -> list[Kept]:
    """Everything of closed teams that retention decides about. Further kinds belong into this list."""
    return [*_archives(app), *_records(app), *_checkpoints(app)]


def _archives(app: App) -> Iterator[Kept]:
    """The removable part of the archive of each closed team."""
    with app.store.read() as tx:
        found = [(team_id, _removable(tx, app.home, team_id)) for team_id in closed_ids(tx)]
    for team_id, paths in found:
        if paths:
            place = _archive_path(app.home, team_id)
            since, size = os.path.getmtime(f"{place}/{RECEIPT}"), sum(map(size_of, paths))
            yield Kept("archive", os.path.basename(place), size, since, partial(_delete, paths))


def _removable(tx: Tx, home: str, team_id: str) -> list[str]:
    place = _archive_path(home, team_id)
    if not os.path.isfile(f"{place}/{RECEIPT}"):
        return []
    there = [f"{place}/{entry}" for entry in _REMOVABLE if os.path.lexists(f"{place}/{entry}")]
    keeps_mail = f"{place}/{_MAIL}" in there and any(tx.count_unread(team_id).values())
    return [path for path in there if not keeps_mail or not path.endswith(f"/{_MAIL}")]


def _records(app: App) -> Iterator[Kept]:
    """Records of starts that the closing of their team has left, with the output of the member.

    Listed first, compared second: a start that is written down in between is in no list.
    """
    place = f"{app.home}/run"
    marks = [name for name in _list_directory(place) if parse_mark(name) is not None]
    if not marks:
        return
    with app.store.read() as tx:
        open_ids = [card.id for name in tx.team_names() if (card := tx.team_card(name)) is not None]
        known = {fact["mark"] for team_id in open_ids for fact in tx.facts(team_id, "start").values()}
        owners = {
            fact["mark"]: (team_id, key)
            for team_id in closed_ids(tx)
            for key, fact in tx.facts(team_id, "start").items()
        }
    runtime = make_runtimes(app)["plain"]
    alive = runtime.list_marked()
    for mark in (mark for mark in marks if mark not in known and mark not in alive):
        archive = _archive_of(app.home, *owners[mark]) if mark in owners else ""
        discard = partial(runtime.discard, mark, archive)
        why = "its team is closed" if archive else ""
        with suppress(FileNotFoundError):
            path = f"{place}/{mark}"
            yield Kept("record", mark, size_of(path), os.path.getmtime(path), discard, why)


def _checkpoints(app: App) -> Iterator[Kept]:
    """The checkpoints of workspaces that headcount has removed. Those of a workspace that was kept stay with
    it. Those of one that its member or a user deleted stay, too: they are the only copy."""
    repo = find_repository(app)
    if repo is None:
        return
    with app.store.read() as tx:
        open_teams = set(tx.team_names())
        lost = {path for team_id in closed_ids(tx) for path in _find_lost(tx, team_id)}
    for store in list_stores(repo, f"{app.home}/{CHECKPOINTS}"):
        at = store.workspace
        if at.team not in open_teams and not os.path.lexists(at.path) and _place(at) not in lost:
            name = f"{at.team}/{at.member}/{at.generation}"
            yield Kept("checkpoints", name, store.size(), os.path.getmtime(store.path), store.remove)


def _find_lost(tx: Tx, team_id: str) -> Iterator[Place]:
    """The workspaces that were not in their place when headcount last read them."""
    places = tx.facts(team_id, "workspace")
    for key, found in tx.facts(team_id, "findings").items():
        if key in places and any(item["kind"] == Kind.MISSING for item in found.get("items", ())):
            yield _place(Workspace.from_dict(places[key]))


def _place(at: Workspace) -> Place:
    return at.team, at.member, at.generation


def _archive_of(home: str, team_id: str, key: str) -> str:
    """Where the archive of a closed team has what an incarnation printed; "" if there is no archive."""
    place = _archive_path(home, team_id)
    return log_path(place, key) if os.path.isfile(f"{place}/{RECEIPT}") else ""


def _archive_path(home: str, team_id: str) -> str:
    name, _, generation = team_id.rpartition("#")
    return archive_path(home, name, int(generation))


def size_of(path: str) -> int:
    """The bytes of a file, or of all files below a directory. Links are not followed."""
    if os.path.isdir(path):
        return disk_size(path)
    with suppress(FileNotFoundError):
        return os.lstat(path).st_size
    return 0


def _list_directory(path: str) -> list[str]:
    return sorted(os.listdir(path)) if os.path.isdir(path) else []


def _delete(paths: list[str]) -> None:
    for path in paths:
        with suppress(FileNotFoundError):  # an engine may remove it at the same time
            if os.path.isdir(path) and not os.path.islink(path):
                remove_tree(path)
                if os.path.isdir(path):
                    raise OSError(f"{path} could not be removed")
            else:
                os.unlink(path)


# --- what goes -------------------------------------------------------------------------------------------


def choose(kept: list[Kept], policy: Policy, now: float) -> list[Kept]:
    """What is too old, and then the oldest of the rest until it fits; each with its reason."""
    chosen, used = [], 0
    for one in sorted(kept, key=lambda one: one.since, reverse=True):
        if one.why:
            chosen.append(one)
        elif one.since < now - policy.keep_days * DAY_S:
            chosen.append(one._replace(why=f"older than {policy.keep_days} days"))
        elif used + one.bytes > policy.keep_mb * MB:
            chosen.append(one._replace(why=f"above {policy.keep_mb} MB in all"))
        else:
            used += one.bytes
    return chosen[::-1]


def forget_mail(app: App, now: float, *, dry_run: bool = False) -> int:
    """Delete the read mail of teams that were closed, and archived, `keep_days` ago; how many.

    Their permission requests go, too: the journal has what was asked and answered.
    """
    before = now - app.settings.policy.keep_days * DAY_S
    with app.store.read() as tx:
        old = [team_id for team_id in closed_ids(tx) if _is_older(_archive_path(app.home, team_id), before)]
        read = {team_id: _count_read(tx, team_id, before) for team_id in old}
        asked = {team_id for team_id in old if tx.asks(team_id)}
    if dry_run:
        return sum(read.values())
    count = 0
    for team_id in (team_id for team_id in old if read[team_id] or team_id in asked):
        with app.store.write(team=team_id.partition("#")[0]) as tx:
            count += tx.forget_mail(team_id, before)
            tx.forget_asks(team_id)
    return count


def _is_older(archive: str, than: float) -> bool:
    receipt = f"{archive}/{RECEIPT}"
    return os.path.isfile(receipt) and os.path.getmtime(receipt) < than


def _count_read(tx: Tx, team_id: str, before: float) -> int:
    return sum(mail.read_at is not None and mail.read_at < before for mail in tx.inbox(team_id, None))


# --- by itself -------------------------------------------------------------------------------------------


class Retention:
    """A thread beside the engine that removes what is due, at its start and when a team has closed."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._due = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="retention", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._due.set()

    def close(self) -> None:
        self._stopping = True
        self._due.set()
        self._thread.join(_LEAVE_S)

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._retain()
            except (HeadcountError, OSError):
                _LOG.warning("old records could not be removed", exc_info=True)
            self._due.wait()
            self._due.clear()

    def _retain(self) -> None:
        now = time.time()
        forget_mail(self._app, now)
        for one in choose(find_kept(self._app), self._app.settings.policy, now):
            if self._stopping:
                return
            try:
                one.remove()
            except (HeadcountError, OSError):  # the next one may be removable all the same
                _LOG.warning("%s %s could not be removed", one.kind, one.name, exc_info=True)
