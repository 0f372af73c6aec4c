"""The adapters that an engine works with."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, TypedDict, cast

from headcount.app.judge import judge
from headcount.engine.job import World
from headcount.runtime.base import Shared
from headcount.runtime.commands import Commands
from headcount.runtime.limits import members_file_limit
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.tmux import TmuxRuntime
from headcount.workspace.port import EngineWorkspaces
from headcount.workspace.repository import Repository

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.ports import Runtime


def make_world(app: App) -> World:
    runtimes = cast("dict[str, Runtime]", make_runtimes(app))
    commands = Commands(members_file_limit())
    judging = partial(judge, partial(commands.run, cwd=app.root))
    return World(app.home, runtimes, make_workspaces(app), judging, app.make_start, commands)


def make_workspaces(app: App) -> EngineWorkspaces:
    return EngineWorkspaces(find_repository(app), f"{app.home}/worktrees", f"{app.home}/archive")


class Runtimes(TypedDict):
    plain: PlainRuntime
    tmux: TmuxRuntime


def make_runtimes(app: App) -> Runtimes:
    shared = Shared()
    return {"plain": PlainRuntime(app.home, shared), "tmux": TmuxRuntime(app.home, shared)}


def find_repository(app: App) -> Repository | None:
    """None where there is no git: then workspaces are plain directories."""
    return Repository.find(app.root) if os.path.isdir(app.root) else None
