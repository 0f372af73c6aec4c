"""How a member is to be started, from a plan to all that the engine needs for it."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.agents.launch import ACP, Order, check_agent, plan_launch, resolve_via, trusting_client
from headcount.agents.registry import CLIENTS, check_login, find_account
from headcount.app.trust import check_trust
from headcount.domain.settings import Agent
from headcount.errors import UsageError
from headcount.runtime.mark import new_mark, state_id
from headcount.runtime.worker_pool import side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.app.app import App
    from headcount.domain.settings import Settings
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team


class Plan(NamedTuple):
    """How one member is to be started, as a definition or a caller says it."""

    name: str
    agent: str | None = None
    command: tuple[str, ...] | None = None
    model: str | None = None
    prompt: str = ""
    role: str = "worker"
    task: str | None = None
    awaits_review: bool = False
    base: str | None = None  # the commit that its workspace begins at
    detached: bool = False
    workspace: str | None = None  # a name that several members share
    finalizers: tuple[tuple[str, ...], ...] = ()
    directory: str = ""  # what relative paths in its command are relative to
    runtime: str | None = None
    integration: str | None = None  # the branch that its commits are compared with
    require_merged: bool = False
    setup: str | None = None  # instead of the settings'
    copy: tuple[str, ...] | None = None
    checkout: str = ""  # the user's, which files are copied from
    trusted: str = ""  # the repository's root, once the user was found to trust it in this client


def check_clients(app: App, plans: Iterable[Plan], trusted: Iterable[str]) -> None:
    """Refuses what cannot be started here, before anything is: a client that is missing, too old, not logged
    in, or not told to trust the repository. All clients are asked at once."""
    agents = list(dict.fromkeys(_what_is_run(app.settings, plan) for plan in plans))
    if not agents:
        return
    side_by_side(lambda each: check_agent(*each, installed=True), agents, len(agents))
    clients = list(dict.fromkeys(trusting_client(*each) for each in agents))
    check_trust(app, trusted, clients)  # first: until then a client is asked for its version only
    known = [name for name in clients if name in CLIENTS]
    if known:
        side_by_side(partial(check_login, environ=os.environ), known, len(known))


def read_account(app: App, plan: Plan) -> str:
    """Return the client and account whose usage limit the member will share."""
    agent, command = _what_is_run(app.settings, plan)
    client = trusting_client(agent, command)
    if client == ACP:
        return f"{ACP}:{os.path.basename(command[0])}" if command else ""
    mine = app.settings.agents.workers.get(plan.name) or Agent()
    return find_account(client, os.environ, plan.model or mine.model)


def _in_terminal(settings: Settings, plan: Plan) -> bool:
    mine = settings.agents.workers.get(plan.name) or Agent()
    return plan.runtime == "tmux" or (not plan.runtime and (mine.terminal or settings.agents.terminal))


def make_start(
    home: str, settings: Settings, team: Team, member: Member, planned: Mapping[str, Any]
) -> dict[str, Any]:
    """All that a start needs, so that any engine can do it, or do it again. `planned` is a Plan, as JSON."""
    plan = Plan(**planned)
    agent, _ = _who_is_it(settings, plan)
    run, command = _what_is_run(settings, plan)
    prompt_file = f"{home}/teams/{team.name}/prompts/{member.name}-{member.generation}.md"
    mine = settings.agents.workers.get(plan.name) or Agent()
    order = Order(
        home, team.name, member.name, plan.prompt, prompt_file, plan.model or mine.model, command,
        plan.directory or os.path.dirname(home), mine.permissions or settings.agents.permissions,
        _in_terminal(settings, plan), plan.trusted,
    )  # fmt: skip
    launch = plan_launch(run, order)
    return {
        "mark": str(new_mark(state_id(home), team.name, member.name, member.generation)),
        "agent": agent,
        "prompt_file": prompt_file,
        "argv": list(launch.argv),
        "env": dict(launch.env),
        "stdin": launch.stdin,
        "exit_text": launch.exit_text,
        "runtime": plan.runtime or launch.runtime,
        "ready": launch.ready,
        "dialog": launch.dialog,
        "hold": launch.hold,
        "conversations": list(launch.conversations),
        "prompt": plan.prompt,
        "model": order.model,
        "base": plan.base,
        "detached": plan.detached,
        "workspace": plan.workspace,
        "finalizers": [list(argv) for argv in plan.finalizers],
        "integration": plan.integration,
        "require_merged": plan.require_merged,
        "sync": settings.integration.sync,
        "salvage_private": list(mine.salvage_private),
        "salvage_skip": list(mine.salvage_skip),
        **_set_up(home, settings, plan),
    }


def _set_up(home: str, settings: Settings, plan: Plan) -> dict[str, Any]:
    """How its workspace is set up, and where it is: the definition says, else `[agents.NAME]`, else
    `[workspace]`."""
    mine, common = settings.agents.workers.get(plan.name) or Agent(), settings.workspace
    return {
        "setup": (mine.setup or common.setup) if plan.setup is None else plan.setup,
        "copy": list((mine.copy or common.copy) if plan.copy is None else plan.copy),
        "submodules": common.submodules,
        "checkout": plan.checkout or os.path.dirname(home),
        "worktrees": find_worktrees(home, common.directory),
    }


def find_worktrees(home: str, directory: str) -> str:
    """The directory that holds the workspaces of this state directory. One that the user has named may be for
    many repositories, so each has a directory of its own in it."""
    if not directory:
        return f"{home}/worktrees"
    root = os.path.dirname(home)
    place = os.path.realpath(os.path.join(root, os.path.expanduser(directory)))
    if f"{place}/".startswith(f"{os.path.realpath(root)}/"):
        raise UsageError(
            "workspace.directory cannot be in the repository",
            f"{place} is in {root}",
            ("Name a directory outside of it, or leave it empty for .headcount/worktrees",),
            code="wrong-setting",
        )
    return f"{place}/{own_name(home)}"


def own_name(home: str) -> str:
    """A name that no other state directory has, for directories that are shared by several."""
    return f"{os.path.basename(os.path.dirname(home))}-{state_id(home)}"


def _who_is_it(settings: Settings, plan: Plan) -> tuple[str, tuple[str, ...]]:
    """The definition says; else `[agents.NAME]`, else `[agents] default`."""
    if plan.command:
        return plan.agent or "command", tuple(plan.command)
    if plan.agent:
        return plan.agent, ()
    agents = settings.agents
    mine = agents.workers.get(plan.name)
    if mine is None:
        return agents.default, ()
    return mine.agent or ("command" if mine.command else agents.default), mine.command


def _what_is_run(settings: Settings, plan: Plan) -> tuple[str, tuple[str, ...]]:
    """The same, but a client that is run over ACP is the adapter that speaks it."""
    mine = settings.agents.workers.get(plan.name) or Agent()
    return resolve_via(*_who_is_it(settings, plan), mine.via or settings.agents.via)
