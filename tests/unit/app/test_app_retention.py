"""Old mail is deleted only if it was read, its team is closed, and the archive has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.app import closed_teams
from headcount.app.app import App
from headcount.app.caller import OPERATOR
from headcount.app.closed_teams import forget_old_mail
from headcount.domain.settings import Settings
from headcount.store.sqlite import InMemoryStore
from tests.support.store_stage import close_team, mail, make_team


def test_only_read_mail_that_the_archive_of_a_closed_team_has_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = InMemoryStore(str(tmp_path))
    (tmp_path / "mail.jsonl").touch()
    with store.write() as tx:
        for name in ("open", "archived", "lost"):
            team = make_team(tx, name, "alice")
            tx.mark_read(team.id, [tx.post(mail(team, "alice#1", "read"))])
            tx.post(mail(team, "alice#1", "unread"))
            tx.put_fact(team.id, "", "archive", {"path": str(tmp_path / ("none" if name == "lost" else ""))})
            if name != "open":
                close_team(tx, team)
    app = App(str(tmp_path), store, Settings(), OPERATOR)
    assert forget_old_mail(app) == 0  # it was read just now
    monkeypatch.setattr(closed_teams, "KEEP_READ_MAIL_S", -1.0)
    assert forget_old_mail(app) == 1
    with store.read() as tx:
        left = {
            name: [m.subject for m in tx.inbox(f"{name}#1", None)] for name in ("open", "archived", "lost")
        }
    assert left == {"open": ["read", "unread"], "archived": ["unread"], "lost": ["read", "unread"]}
