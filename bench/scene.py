"""What the measurements begin with: a state directory with one team, or a repository with nothing in it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import replace
from typing import Any

from headcount.app.app import App, open_app
from headcount.ports import Identity, Mail, Task, Tx
from headcount.protocol.member import Member, State
from headcount.protocol.team import Team
from headcount.store.sqlite import SqliteStore


def make_team(tx: Tx, team_name: str, *names: str) -> Team:
    """Create an open team with a running member for each name."""
    team = tx.create_team(team_name, "", {})
    members = [Member(name, 1, state=State.RUNNING) for name in names]
    after = replace(team, members={m.key: m for m in members}, generations=dict.fromkeys(names, 1))
    tx.save_team(team, after)
    return after


def make_team_with_mail(place: str) -> dict[str, str]:
    """Alice of the team `bench` has read mail, a task and an open request; her environment."""
    home = f"{place}/.headcount"
    store = SqliteStore(home)
    with store.write() as tx:
        team = make_team(tx, "bench", "alice", "bob")
        asked = replace(team.members["alice#1"], state=State.ASKED, ask="r1", request="r1")
        tx.save_team(team, replace(team, members={**team.members, "alice#1": asked}))
        tx.add_token(Identity(team.id, "alice#1", "worker"), "token")
        tx.add_task(Task("", team.id, "a task"))
        for number in range(5):
            posted = tx.post(Mail("", team.id, "lead", "alice#1", f"message {number}", "with a body"))
            tx.mark_read(team.id, [posted])
    store.close()
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("HEADCOUNT_")},
        "HEADCOUNT_HOME": home,
        "HEADCOUNT_TEAM": "bench",
        "HEADCOUNT_MEMBER": "alice",
        "HEADCOUNT_GENERATION": "1",
        "HEADCOUNT_TOKEN": "token",
    }


def open_empty(**policy: Any) -> App:
    """An app in a new repository, with these numbers; its `root` is the caller's to remove."""
    place = tempfile.mkdtemp(prefix="headcount-bench-")
    git = ["git", "-C", place, "-c", "user.name=b", "-c", "user.email=b@localhost"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "start"], check=True)
    app = open_app(place, {})
    app.settings = replace(app.settings, policy=replace(app.settings.policy, **policy))
    return app
