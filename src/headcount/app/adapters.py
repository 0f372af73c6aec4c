"""The adapters that an engine works with. They are imported when they are made: most commands make none."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, TypedDict, cast

from headcount.app.judge import judge
from headcount.app.local_files import LocalFiles
from headcount.engine.job import World

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.ports import Executor, Runtime
    from headcount.runtime.commands import Commands
    from headcount.runtime.plain import PlainRuntime
    from headcount.runtime.tmux import TmuxRuntime
    from headcount.workspace.engine_checkpoints import EngineCheckpoints
    from headcount.workspace.git_workspaces import EngineWorkspaces
    from headcount.workspace.repository import Repository


def make_world(app: App, executor: Executor) -> World:
    runtimes = cast("dict[str, Runtime]", make_runtimes(app))
    commands = make_commands()
    judging = partial(judge, partial(commands.run, cwd=app.root))
    workspaces = make_workspaces(app, commands)
    return World(
        app.home, runtimes, workspaces, judging, commands, LocalFiles(), executor,
        make_checkpoints(app, commands),
    )  # fmt: skip


def make_commands() -> Commands:
    from headcount.runtime.commands import Commands
    from headcount.runtime.reaper_client import members_file_limit

    return Commands(members_file_limit())


def make_workspaces(app: App, commands: Commands | None = None) -> EngineWorkspaces:
    from headcount.workspace.git_workspaces import EngineWorkspaces

    repository = find_repository(app, commands)
    return EngineWorkspaces(repository, f"{app.home}/worktrees", archive_directory(app))


def archive_directory(app: App) -> str:
    """Where the archives of closed teams are, and what is saved outside of git."""
    return f"{app.home}/archive"


def make_checkpoints(app: App, commands: Commands) -> EngineCheckpoints | None:
    """None where there is no git."""
    from headcount.workspace.engine_checkpoints import EngineCheckpoints

    repository = find_repository(app, commands)
    return EngineCheckpoints(repository, app.home) if repository is not None else None


def read_checked_out(app: App, repo: Repository) -> str | None:
    """The commit that is checked out where the command was called; None before the first commit."""
    git_dir = checkout_git_dir(app, repo)
    return repo.commit("HEAD") if git_dir is None else repo.commit_of(git_dir)


def checkout_git_dir(app: App, repo: Repository) -> str | None:
    """git's directory of the linked worktree where the command was called; None in the main checkout."""
    return repo.find_git_dir(app.checkout) if app.checkout != app.root else None


class Runtimes(TypedDict):
    plain: PlainRuntime
    tmux: TmuxRuntime


def make_runtimes(app: App) -> Runtimes:
    from headcount.runtime.plain import PlainRuntime
    from headcount.runtime.process_runtime import Shared
    from headcount.runtime.tmux import TmuxRuntime

    shared = Shared()
    return {"plain": PlainRuntime(app.home, shared), "tmux": TmuxRuntime(app.home, shared)}


def find_repository(app: App, commands: Commands | None = None) -> Repository | None:
    """None where there is no git: then workspaces are plain directories.

    `commands` run the programs that git runs, so that none of them is left.
    """
    if not os.path.isdir(app.root):
        return None
    from headcount.workspace.repository import Repository

    return Repository.find(app.root, reaper=(commands or make_commands()).execute)
