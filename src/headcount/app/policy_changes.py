"""Change the policy of an open team, and show it with where each number comes from."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from headcount.app.app import policy_of
from headcount.app.teams import ORIGINS, place_commands
from headcount.domain.policy import Policy
from headcount.domain.settings import parse_changes
from headcount.engine.apply import apply
from headcount.errors import Declined
from headcount.protocol import events as ev
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from headcount.app.app import App

    class Setting(TypedDict):
        key: str
        value: Any
        default: Any
        origin: str
        """`default`, `headcount.toml`, `the environment`, or who set it for this team."""

    class Change(TypedDict):
        key: str
        old: Any
        new: Any


def list_policy(app: App, name: str | None = None) -> tuple[str, list[Setting]]:
    """Return the team, and every key of its policy in the order of the reference page."""
    app.check("set")
    team_name = app.pick_team(name)
    with app.store.read() as tx:
        settings = tx.team_settings(app.load(tx, team_name).id)
    policy, standard = asdict(policy_of(settings)), asdict(Policy())
    origins = settings.get(ORIGINS, {})

    def origin(key: str) -> str:
        # A team of an earlier version has recorded no origins.
        return str(origins.get(key) or ("default" if policy[key] == standard[key] else "its start"))

    return team_name, [
        {"key": key, "value": policy[key], "default": standard[key], "origin": origin(key)}
        for key in (item.name for item in fields(Policy) if "doc" in item.metadata)
    ]


def change_policy(app: App, words: Sequence[str], name: str | None = None) -> tuple[str, list[Change]]:
    """Store new values and step, in one transaction. The engine follows them from its next turn on.

    Returns the team, and only what has changed.
    """
    app.check("set")
    wanted = parse_changes(words)
    team_name = app.pick_team(name)
    with app.turn(team_name) as (tx, team, policy):
        if team.status is Status.SHUTDOWN:
            raise Declined(
                f"Did not change the policy of {team_name}",
                "the team is closed",
                ("See the open teams with `headcount teams`",),
                code="team-closed",
            )
        new = place_commands(app, replace(policy, **wanted))
        changes = [
            (key, getattr(policy, key), getattr(new, key))
            for key in wanted
            if getattr(policy, key) != getattr(new, key)
        ]
        settings = dict(tx.team_settings(team.id))
        by = app.caller.who
        settings["policy"] = asdict(new)
        settings[ORIGINS] = {**settings.get(ORIGINS, {}), **{key: f"set by {by}" for key, *_ in changes}}
        tx.change_settings(team.id, settings)
        applied = apply(tx, team, [ev.PolicyChanged(tuple(changes), by)], new, app.make_start)
    app.ring(applied)
    return team_name, [{"key": key, "old": old, "new": now} for key, old, now in changes]
