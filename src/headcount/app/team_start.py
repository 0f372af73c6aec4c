"""Starting a whole team, and waiting until everyone has started or failed to."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from headcount.app.adapters import find_repository
from headcount.app.home import find_repository_above
from headcount.app.member_start import check_clients
from headcount.app.resident import ensure_driven
from headcount.app.teams import create_team, spawn_all
from headcount.app.trust import read_trust
from headcount.domain.names import check_size
from headcount.errors import Declined, UsageError
from headcount.protocol.bound import start_s
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.app.app import App
    from headcount.app.definition import Definition
    from headcount.protocol.team import Team
    from headcount.workspace.git_settings import Risk


def check_repository(app: App, place: str) -> None:
    """Refuse a repository that git does not read, or that members would not see, before anything is made."""
    here = find_repository_above(place)
    if find_repository(app) is None and here is not None:
        raise UsageError(
            f"Members would not see {here}",
            f"the state directory {app.home} is in no repository, so they would work in empty directories",
            ("Unset HEADCOUNT_HOME, or name a directory in the repository",),
            code="home-elsewhere",
        )


def find_risks(app: App) -> list[Risk]:
    """Return the settings of remotes that would delete the refs of salvages."""
    repo = find_repository(app)
    if repo is None:
        return []
    from headcount.workspace.git_settings import find_risks as find_in

    return find_in(repo.record_config().entries)


def start_team(app: App, definition: Definition, look: Callable[[Team], None] = lambda _: None) -> Team:
    """Create it and write down who is to be started; the engine does the rest. `look` sees how it goes."""
    app.check("team_create")
    _check_fit(app, definition)
    check_clients(app, definition.members, read_trust(app, os.environ))
    create_team(app, definition.team, definition.description, environ=os.environ)
    ensure_driven(app)
    spawn_all(app, definition.team, definition.members)
    return wait_started(app, definition.team, None, start_limit(app, len(definition.members)), look)


def wait_started(
    app: App,
    name: str,
    key: str | None = None,
    limit_s: float | None = None,
    look: Callable[[Team], None] = lambda _: None,
) -> Team:
    """Wait until the member, or everyone, has started or failed to; see that an engine is there to do it."""

    def started(team: Team) -> bool:
        look(team)
        waits = any(m.state is State.STARTING for m in team.members.values() if key in (None, m.key))
        if waits:
            ensure_driven(app)  # the engine may have been killed after it was asked
        return not waits

    return wait_for(app, name, started, start_limit(app) if limit_s is None else limit_s)


def _check_fit(app: App, definition: Definition) -> None:
    """Whoever could not be started is said before half of the team is."""
    most = min(app.settings.policy.max_members, app.limits.members)
    if len(definition.members) > most:
        raise Declined(
            f"Did not start {definition.team}",
            f"it has {len(definition.members):,} members, and {most:,} may be alive at once",
            ("Raise max_members in headcount.toml",),
            code="too-many-members",
        )
    for plan in definition.members:
        check_size(f"prompt of {plan.name}", plan.prompt, app.limits.message_bytes)


def start_limit(app: App, members: int = 1) -> float:
    """Return the time in which so many members are started, or reported as failed."""
    return start_s(app.settings.policy, members) + 5


def wait_for(app: App, name: str, condition: Callable[[Team], bool], limit_s: float) -> Team:
    """The team as soon as `condition` holds, or as it is when the time is over. Sleeps in between."""
    deadline = time.monotonic() + limit_s
    while True:
        with app.store.read() as tx:
            team = app.load(tx, name)
        left = deadline - time.monotonic()
        if condition(team) or left <= 0:
            return team
        app.store.wait(f"team/{name}", min(left, 1.0))
