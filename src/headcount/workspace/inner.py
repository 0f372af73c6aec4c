"""Repositories inside a workspace: submodules, what they leave behind, and clones that a member made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from headcount.workspace.files import read_file

_LINK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Inner:
    """`path` is relative to the workspace, and None for a git directory that is checked out nowhere."""

    git_dir: str
    path: str | None

    @property
    def common_dir(self) -> str:
        """Where its refs are: its own git directory, unless it is a linked worktree of something."""
        try:
            return os.path.realpath(os.path.join(self.git_dir, _read(self.git_dir, "commondir").strip()))
        except FileNotFoundError:
            return os.path.realpath(self.git_dir)


def find_inner(root: str, git_dir: str) -> list[Inner]:
    """Every repository below `root`. They are looked for on disk: `git status` passes over most of them."""
    found = [Inner(git_dir_of(os.path.join(root, path)), path) for path in _directories_with_git(root)]
    seen = {os.path.realpath(inner.git_dir) for inner in found}
    modules = os.path.join(git_dir, "modules")
    return found + [Inner(path, None) for path in _git_dirs(modules) if os.path.realpath(path) not in seen]


def _directories_with_git(root: str) -> Iterator[str]:
    pending = [""]
    while pending:
        directory = pending.pop()
        with os.scandir(os.path.join(root, directory)) as entries:
            for entry in entries:
                if entry.name == ".git":
                    if directory:
                        yield directory
                elif entry.is_dir(follow_symlinks=False):
                    pending.append(os.path.join(directory, entry.name))


def git_dir_of(directory: str) -> str:
    """Where `.git` leads: itself, or what the link file in its place names."""
    path = os.path.join(directory, ".git")
    if os.path.isdir(path):
        return path
    return os.path.join(directory, _read(directory, ".git").removeprefix("gitdir:").strip())


def _read(directory: str, name: str) -> str:
    return os.fsdecode(read_file(os.path.join(directory, name), _LINK_BYTES))


def _git_dirs(modules: str) -> Iterator[str]:
    for directory, names, _ in os.walk(modules):
        if "objects" in names and "refs" in names:
            yield directory
            # A submodule's own submodules are in its `modules`; objects and refs hold no repository.
            names[:] = [name for name in names if name == "modules"]
