"""List the teams of one repository, open and past, or those of all repositories of this user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.known_repositories import list_homes
from headcount.app.team_status import outcome_words
from headcount.domain.display import utc
from headcount.errors import HeadcountError
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from typing import TypedDict

    from headcount.app.app import App
    from headcount.ports import Tx
    from headcount.protocol.team import Team

    class TeamRow(TypedDict):
        """One team of `headcount teams --json`."""

        repository: str
        team: str
        generation: int
        state: str
        members: int
        alive: int
        startedAt: str | None
        endedAt: str | None
        result: str

    class Repository(TypedDict):
        repository: str
        home: str
        teams: list[TeamRow]
        error: str | None
        """Why its state could not be read; None if it could."""


_WRITTEN = ("team_created", "shutdown")


def list_teams(app: App) -> list[TeamRow]:
    """Return the teams of this repository: the open ones, then the past ones, the newest first."""
    app.check("status")
    with app.store.read() as tx:
        names = tx.team_names(closed=True)
        teams = [team for name in names for team in _generations(tx, name)]
        rows = [_row(app, tx, team) for team in teams]
    return sorted(
        rows, key=lambda row: (row["state"] != Status.SHUTDOWN, row["startedAt"] or ""), reverse=True
    )


def list_repositories(app: App) -> list[Repository]:
    """Return every repository that this user has used, with its teams. One that cannot be read says why."""
    app.check("all_teams")
    homes = list_homes()
    here = os.path.realpath(app.home)
    if os.path.isdir(here) and here not in homes:
        homes.insert(0, here)
    return [_read_repository(home) for home in homes]


def _read_repository(home: str) -> Repository:
    root = os.path.dirname(home)
    environ = {**os.environ, "HEADCOUNT_HOME": home}
    teams: list[TeamRow] = []
    error = None
    try:
        app = open_app(root, environ, make=False)
        try:
            teams = list_teams(app)
        finally:
            app.close()
    except (HeadcountError, OSError) as failed:
        error = failed.what if isinstance(failed, HeadcountError) else str(failed)
    return {"repository": root, "home": home, "teams": teams, "error": error}


def _generations(tx: Tx, name: str) -> list[Team]:
    last = tx.load_team(name)
    if last is None:
        return []
    earlier = [tx.load_team(f"{name}#{generation}") for generation in range(1, last.generation)]
    return [*(team for team in earlier if team is not None), last]


def _row(app: App, tx: Tx, team: Team) -> TeamRow:
    times = {entry.kind: utc(entry.at) for entry in tx.journal(team.id, kinds=_WRITTEN)}
    return {
        "repository": app.root, "team": team.name, "generation": team.generation, "state": str(team.status),
        "members": len(team.members), "alive": len(team.live()), "startedAt": times.get("team_created"),
        "endedAt": times.get("shutdown"), "result": _result(team),
    }  # fmt: skip


def _result(team: Team) -> str:
    """Return the result of the run, or how the members ended, counted."""
    if team.run is not None:
        done = sum(str(task.state) == "complete" for task in team.run.tasks.values())
        return f"{team.run.state}, {done} of {len(team.run.tasks)} tasks"
    counts: dict[str, int] = {}
    for member in team.members.values():
        if member.settled:
            words = "never started" if member.failure else outcome_words(member.outcome, "")
            counts[words] = counts.get(words, 0) + 1
    return ", ".join(f"{count} {words}" for words, count in counts.items())


def show_row(row: TeamRow) -> tuple[str, ...]:
    """Return the cells of a team for people: team, state, alive, started, ended, result."""
    name = f"{row['team']}#{row['generation']}" if row["generation"] > 1 else row["team"]
    times = [time[:16].replace("T", " ") if time else "-" for time in (row["startedAt"], row["endedAt"])]
    return name, row["state"].replace("_", " "), f"{row['alive']} of {row['members']}", *times, row["result"]
