"""Teams, events and acts between their rows and the values of the rules.

Imported when one of them is first needed: a member's command needs none, and these imports cost five times as
much as the rest of it.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from headcount.domain.input_checks import check_text
from headcount.domain.names import check_team_name
from headcount.errors import Declined, UsageError
from headcount.protocol import codec
from headcount.protocol.team import Team
from headcount.store.statements import one

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.domain.policy import Limits
    from headcount.protocol.phase import Phase
    from headcount.store.statements import Connection, Statements

RUN = "phase"  # the fact that holds a team's run, named so since the first version

# The same text is the same value. An engine loads its team at every turn, of which one row has changed; so
# the rest is looked up, and nothing can be stale. About 2 KB each.
_member = lru_cache(maxsize=4096)(codec.load_member)
load_act = lru_cache(maxsize=4096)(codec.load_act)
dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@lru_cache(maxsize=64)
def _team(state: str) -> Team:
    return codec.load_team(state, {})


_TEAM_FIELDS = [field.name for field in fields(Team) if field.name not in ("members", "run")]


def create(
    db: Connection, sql: Statements, now: float, name: str, description: str, settings: Mapping[str, Any]
) -> Team:
    """The next generation of the name. An open team's name is refused (B8)."""
    check_team_name(name)
    limits, peer_mail = _read_limits(settings)
    check_text("description", description)
    last = load(db, sql, name)
    if last is not None and last.status != "shutdown":
        raise Declined(
            f"The team {name} exists already",
            "an open team's name cannot be used again",
            (f"Stand it down with `headcount down {name}`, or use another name",),
            code="team-exists",
        )
    # Generations are counted from the first team of this name, for its members too.
    team = Team(name, last.generation + 1, generations=dict(last.generations)) if last else Team(name)
    db.execute(
        sql["insert_team"],
        (
            team.id, name, team.generation, team.status, description, dumps(settings), codec.dump_team(team),
            now, peer_mail, limits.message_bytes, limits.description_bytes, limits.subject_characters,
            limits.tasks,
        ),
    )  # fmt: skip
    return team


def change_settings(db: Connection, sql: Statements, team_id: str, settings: Mapping[str, Any]) -> bool:
    """Replace them; False if there is no such team. The columns that are taken from them follow."""
    limits, peer_mail = _read_limits(settings)
    sizes = limits.message_bytes, limits.description_bytes, limits.subject_characters, limits.tasks
    db.execute(sql["change_settings"], (dumps(settings), peer_mail, *sizes, team_id))
    return db.changes() == 1


def _read_limits(settings: Mapping[str, Any]) -> tuple[Limits, bool]:
    """`limits` and `policy.peer_mail` of the settings, or their defaults."""
    from headcount.domain.policy import Limits, Policy

    given = settings.get("limits") or {}
    for name, value in given.items():
        if name not in {field.name for field in fields(Limits)}:
            raise UsageError(f"There is no limit {name!r}", code="unknown-setting")
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(
                f"limits.{name} is {value!r}",
                "a limit must be a whole number of 1 or more",
                code="bad-setting",
            )
    policy = settings.get("policy") or {}
    return Limits(**given), bool(policy.get("peer_mail", Policy().peer_mail))


def load(db: Connection, sql: Statements, name: str) -> Team | None:
    """A team by its name (the latest of that name) or its id."""
    row = one(db, sql["team_by_id" if "#" in name else "team_by_name"], name)
    if row is None:
        return None
    team_id, state = row
    members = [_member(body) for (body,) in db.execute(sql["members"], (team_id,))]
    return replace(_team(state), members={m.key: m for m in members}, run=_load_run(db, sql, team_id))


def _load_run(db: Connection, sql: Statements, team_id: str) -> Phase | None:
    """The run has a row of its own, because it is large and changes less often than the team."""
    row = one(db, sql["fact"], team_id, "", RUN)
    if row is None:
        return None
    raw = json.loads(row[0])
    if "crew" in raw:
        return codec.phase_from_json(raw, raw)
    roster = one(db, sql["fact"], team_id, "", "roster")
    return codec.phase_from_json(raw, json.loads(roster[0]) if roster is not None else {})


def save(db: Connection, sql: Statements, before: Team, after: Team) -> None:
    """Write only the rows that changed: a step changes one member or a few, however large the team is."""
    team_id = after.id
    for key, member in after.members.items():
        old = before.members.get(key)
        if old is not member and old != member:
            db.execute(
                sql["put_member"],
                (
                    team_id, key, member.name, member.generation, member.role, member.state, member.ask,
                    member.answer, codec.dump_member(member),
                ),
            )  # fmt: skip
    for key in before.members.keys() - after.members.keys():
        db.execute(sql["remove_member"], (team_id, key))
    if before.run is not after.run and after.run is not None:
        db.execute(sql["put_fact"], (team_id, "", RUN, dumps(codec.phase_as_json(after.run))))
    if any(getattr(before, name) != getattr(after, name) for name in _TEAM_FIELDS):
        db.execute(sql["update_team"], (after.status, codec.dump_team(after), team_id))
