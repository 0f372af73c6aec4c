"""Reading the workspaces of those who have approved, while the others are still waited for.

What is found now does not count: everybody is inspected when all have answered. But what nobody has touched
since needs no git to be read again, and of a large team that is most of what its end would wait for.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headcount.domain.findings import Workspace
from headcount.engine.jobs import with_git_config
from headcount.errors import HeadcountError
from headcount.protocol.effects import Note
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headcount.domain.policy import Policy
    from headcount.engine.hear import Heard
    from headcount.engine.job import World
    from headcount.ports import Tx


def reads_ahead(tx: Tx, heard: Heard, policy: Policy, world: World) -> dict[str, Callable[[], None]]:
    """By incarnation: whoever has just approved, and waits for others now."""
    team = heard.team
    answered = {note.about for note in heard.effects if isinstance(note, Note) and note.kind == "answered"}
    waiting = [
        key for key in answered if (m := team.members[key]).state is State.ASKED and m.answer == "approved"
    ]
    places = {key: tx.fact(team.id, key, "workspace") for key in waiting}
    plan = with_git_config(tx, team.id, {})
    return {
        key: _read(Workspace.from_dict(place), policy, world, plan) for key, place in places.items() if place
    }


def _read(workspace: Workspace, policy: Policy, world: World, plan: Mapping[str, Any]) -> Callable[[], None]:
    def read() -> None:
        with suppress(HeadcountError, OSError):  # the inspection will meet it too, and says so
            world.workspaces.read_ahead(workspace, policy, plan)

    return read
