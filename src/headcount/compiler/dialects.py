"""The three ways to say the same to a client, as data. Which client speaks which: docs/reference/build.md."""

from __future__ import annotations

from typing import Final, NamedTuple


class Dialect(NamedTuple):
    """Calls are `%` templates for values that are JavaScript literals already; an empty one is not made.

    `spawn` is the tool that starts a member, `names_team` whether it is told the team; `tasks` says whether
    there are task tools to rely on. `models` and `modes` are the values that the client's schema lists for a
    member; None where no client lists the call.
    """

    name: str
    create: str
    create_described: str
    spawn: str
    names_team: bool
    tasks: bool
    request: str
    wait: str
    delete: str
    models: tuple[str, ...] | None = None
    modes: tuple[str, ...] | None = None


_BETWEEN_TURNS: Final = "// End your turn: they are delivered between turns. Go on only when you have:"
_SEND_REQUEST: Final = 'SendMessage({ to: %s, message: { type: "shutdown_request", reason: %s } })'

_MODELS: Final = ("sonnet", "opus", "haiku", "fable")
_MODES: Final = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")

TEAMMATE: Final = Dialect(
    name="teammate",
    create='Teammate({ operation: "spawnTeam", team_name: %s })',
    create_described='Teammate({ operation: "spawnTeam", team_name: %s, description: %s })',
    spawn="Task",
    names_team=True,
    tasks=True,
    request='Teammate({ operation: "requestShutdown", target_agent_id: %s, reason: %s })',
    wait="// Check ~/.claude/teams/%s/inboxes/team-lead.json for:",
    delete='Teammate({ operation: "cleanup" })',
)
TEAM_TOOLS: Final = Dialect(
    name="team-tools",
    create="TeamCreate({ team_name: %s })",
    create_described="TeamCreate({ team_name: %s, description: %s })",
    spawn="Agent",
    names_team=True,
    tasks=True,
    request=_SEND_REQUEST,
    wait=_BETWEEN_TURNS,
    delete="TeamDelete({})",
    models=_MODELS,
    modes=_MODES,
)
AGENT: Final = Dialect(
    name="agent",
    create="",
    create_described="",
    spawn="Agent",
    names_team=False,
    tasks=False,
    request=_SEND_REQUEST,
    wait=_BETWEEN_TURNS,
    delete="",
    models=_MODELS,
    modes=_MODES,
)

DIALECTS: Final = {dialect.name: dialect for dialect in (TEAMMATE, TEAM_TOOLS, AGENT)}


def dialect_for_version(version: tuple[int, ...]) -> Dialect:
    """What a Claude Code of this version understands; its team tools came and went within 2.1."""
    if version >= (2, 1, 178):
        return AGENT
    # Between 2.1.33 and the first `Agent` tool a client knows TeamCreate and TeamDelete, but messages its
    # members in an older form; nothing that we write is closer.
    return TEAM_TOOLS if version >= (2, 1, 33) else TEAMMATE
