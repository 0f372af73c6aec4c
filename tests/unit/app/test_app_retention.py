"""Files of closed teams are removed by age and size. Receipts, salvages and unread mail stay."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from headcount.app.app import App
from headcount.app.caller import OPERATOR
from headcount.app.retention import DAY_S, MB, Kept, choose, find_kept, forget_mail
from headcount.domain.display import show_bytes
from headcount.domain.policy import Policy
from headcount.domain.settings import Settings
from headcount.ports import Tx
from headcount.store.sqlite import InMemoryStore
from headcount.tree_removal import remove_tree
from tests.support.store_stage import close_team, mail, make_team

LOGGED = ("logs/alice#1/log.0", "team/status.json", "journal.jsonl", "mail.jsonl", "tasks.json")


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(str(tmp_path), InMemoryStore(str(tmp_path)), Settings(), OPERATOR)


def archive(
    app: App, tx: Tx, name: str, *, days: float = 0, closed: bool = True, unread: bool = False
) -> Path:
    """A team with read mail, closed so many days ago."""
    team = make_team(tx, name, "alice")
    tx.mark_read(team.id, [tx.post(mail(team, "alice#1", "read"))])
    if unread:
        tx.post(mail(team, "alice#1", "unread"))
    if closed:
        close_team(tx, team)
    place = Path(app.home, "archive", f"{name}-1")
    for file in (*LOGGED, "receipt.json", "alice-1.tar", "private/env"):
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_bytes(b"x" * 100)
    at = time.time() - days * DAY_S
    os.utime(place / "receipt.json", (at, at))
    return place


def left(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


def remove_due(app: App, now: float) -> list[str]:
    chosen = choose(find_kept(app), app.settings.policy, now)
    for one in chosen:
        one.remove()
    return [f"{one.name}: {one.why}" for one in chosen]


def test_F76_an_old_archive_keeps_its_receipt_and_whatever_is_not_known_to_be_a_copy(app: App) -> None:
    with app.store.write() as tx:
        old = archive(app, tx, "old", days=31)
        new = archive(app, tx, "new", days=29)
        still = archive(app, tx, "open", days=31, closed=False)
    assert remove_due(app, time.time()) == ["old-1: older than 30 days"]
    assert left(old) == ["alice-1.tar", "private/env", "receipt.json"]
    assert len(left(new)) == len(left(still)) == len(LOGGED) + 3
    assert remove_due(app, time.time()) == []


def test_the_copy_of_unread_mail_stays(app: App) -> None:
    with app.store.write() as tx:
        place = archive(app, tx, "old", days=31, unread=True)
    remove_due(app, time.time())
    assert left(place) == ["alice-1.tar", "mail.jsonl", "private/env", "receipt.json"]


def test_only_read_mail_of_teams_that_were_closed_long_ago_is_deleted(app: App) -> None:
    with app.store.write() as tx:
        for name, days, closed in (("open", 50, False), ("old", 50, True), ("new", 1, True)):
            archive(app, tx, name, days=days, closed=closed, unread=True)
    assert forget_mail(app, time.time()) == 0  # it was read just now
    later = time.time() + 31 * DAY_S
    os.utime(Path(app.home, "archive/new-1/receipt.json"), (later, later))
    assert forget_mail(app, later, dry_run=True) == 1
    assert forget_mail(app, later) == 1
    with app.store.read() as tx:
        found = {name: [m.subject for m in tx.inbox(f"{name}#1", None)] for name in ("open", "old", "new")}
    assert found == {"open": ["read", "unread"], "old": ["unread"], "new": ["read", "unread"]}


def test_the_oldest_go_until_the_rest_fits() -> None:
    policy, now = replace(Policy(), keep_mb=10), 100 * DAY_S
    kept = [Kept("archive", f"t-{n}", 4 * MB, now - n * DAY_S, lambda: None) for n in (3, 1, 4, 2, 40)]
    kept.append(Kept("record", "mark", 4 * MB, now, lambda: None, "its team is closed"))
    chosen = [(one.name, one.why) for one in choose(kept, policy, now)]
    assert chosen == [
        ("t-40", "older than 30 days"),
        ("t-4", "above 10 MB in all"),
        ("t-3", "above 10 MB in all"),
        ("mark", "its team is closed"),
    ]


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (812, "812 bytes"),
        (1_400, "1.4 kB"),
        (999_960, "1.0 MB"),
        (67_000_000, "67.0 MB"),
        (5 * 10**9, "5.0 GB"),
    ],
)
def test_a_size_is_shown_in_the_unit_that_fits(count: int, shown: str) -> None:
    assert show_bytes(count) == shown


def test_F146_files_of_a_client_that_are_nested_too_deeply_for_python_are_measured_and_removed(
    app: App,
) -> None:
    with app.store.write() as tx:
        place = archive(app, tx, "crew", days=400)
    above = os.open(place / "team", os.O_RDONLY)
    for _ in range(1300):
        os.mkdir("d", dir_fd=above)
        inner = os.open("d", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = inner
    os.close(above)
    try:
        assert remove_due(app, time.time()) == ["crew-1: older than 30 days"]
        assert left(place) == ["alice-1.tar", "private/env", "receipt.json"]
    finally:
        remove_tree(str(place / "team"))  # pytest could not
