"""The adapters that an engine works with. They are imported when they are made: most commands make none."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, TypedDict, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headcount.app.app import App
    from headcount.engine.job import World
    from headcount.ports import Executor, Runtime
    from headcount.runtime.commands import Commands
    from headcount.runtime.plain import PlainRuntime
    from headcount.runtime.tmux import TmuxRuntime
    from headcount.workspace.engine_checkpoints import EngineCheckpoints
    from headcount.workspace.git_workspaces import EngineWorkspaces
    from headcount.workspace.hub import RemoteHub
    from headcount.workspace.repository import Repository


def make_world(app: App, executor: Executor) -> World:
    from headcount.app.judge import judge
    from headcount.engine.job import World

    runtimes = cast("dict[str, Runtime]", make_runtimes(app))
    commands = make_commands()
    judging = partial(judge, partial(commands.run, cwd=app.root))
    workspaces = make_workspaces(app, commands)
    repository = find_repository(app, commands)
    return World(
        app.home, runtimes, workspaces, judging, commands, LocalFiles(), executor,
        make_checkpoints(repository, app.home), cache(partial(make_hub, repository)) if repository else None,
    )  # fmt: skip


def make_commands() -> Commands:
    from headcount.runtime.commands import Commands
    from headcount.runtime.reaper_client import members_file_limit

    return Commands(members_file_limit())


def make_workspaces(app: App, commands: Commands | None = None) -> EngineWorkspaces:
    from headcount.app.member_start import own_name
    from headcount.workspace.git_workspaces import EngineWorkspaces

    repository = find_repository(app, commands)
    name = own_name(app.home) if os.path.isdir(app.home) else ""
    return EngineWorkspaces(repository, f"{app.home}/worktrees", archive_directory(app), name)


def archive_directory(app: App) -> str:
    """Where the archives of closed teams are, and what is saved outside of git."""
    return f"{app.home}/archive"


def make_checkpoints(repository: Repository | None, home: str) -> EngineCheckpoints | None:
    """None where there is no git."""
    from headcount.workspace.engine_checkpoints import EngineCheckpoints

    return EngineCheckpoints(repository, home) if repository is not None else None


def make_hub(repository: Repository, url: str) -> RemoteHub:
    from headcount.workspace.hub import RemoteHub

    return RemoteHub(repository, url)


def find_hub_url(app: App) -> str:
    """The hub of new teams, as git takes it from everywhere; "" without one, and where there is no git."""
    url = app.settings.fleet.hub
    if not url or find_repository(app) is None:
        return ""
    from headcount.workspace.hub import locate

    return locate(url, app.root)


def read_checked_out(app: App, repo: Repository, name: str = "HEAD") -> str | None:
    """The commit that is checked out where the command was called, or that `name` stands for there; None if
    there is none."""
    git_dir = checkout_git_dir(app, repo)
    return repo.commit(name) if git_dir is None else repo.commit_of(git_dir, name)


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


class LocalFiles:
    """Files of the state directory on the local disk."""

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def write(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Write, sync, rename: a reader sees the old file or the new one (C8)."""
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        making = f"{path}.{os.getpid()}"
        _write(making, data, "wb", sync)
        os.replace(making, path)

    def append(self, path: str, data: bytes) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _write(path, data, "ab", sync=False)

    def write_directory(self, path: str, files: Mapping[str, bytes]) -> None:
        making = f"{path}.making"
        import shutil

        shutil.rmtree(making, ignore_errors=True)
        os.makedirs(making, mode=0o700)
        for name, data in files.items():
            _write(f"{making}/{name}", data, "wb", sync=True)
        _sync_directory(making)
        os.rename(making, path)
        _sync_directory(os.path.dirname(path))

    def move_directory(self, source: str, target: str) -> None:
        if os.path.isdir(source) and not os.path.isdir(target):
            os.rename(source, target)
        _sync_directory(os.path.dirname(target))

    def keep_only(self, directory: str, kept: Sequence[str]) -> None:
        """A member may have taken its own rights to a directory away, so they are restored first."""
        from headcount.tree_removal import remove_tree

        if os.path.islink(directory) or not os.path.isdir(directory):
            return
        os.chmod(directory, 0o700)
        for name in os.listdir(directory):
            path = f"{directory}/{name}"
            below = [one.partition("/")[2] for one in kept if one.partition("/")[0] == name]
            is_directory = os.path.isdir(path) and not os.path.islink(path)
            if is_directory and not below:
                remove_tree(path)
            elif is_directory and "" not in below:
                self.keep_only(path, below)
                with suppress(OSError):  # something of it is kept
                    os.rmdir(path)
            elif os.path.islink(path) or "" not in below:
                os.unlink(path)


def _write(path: str, data: bytes, mode: str, sync: bool) -> None:
    with open(path, mode) as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
