"""`git status --porcelain=v2`, read into values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from headcount.workspace.git import Git

# Config of the repository, or of a member, must not hide anything: everything is asked for by name.
COMMAND = (
    "status",
    "--porcelain=v2",
    "-z",
    "--branch",
    "--untracked-files=all",
    "--ignored=matching",
    # A git that looked into a submodule would read its configuration. What is in there is read on its own.
    "--ignore-submodules=dirty",
    "--find-renames",
)


@dataclass(frozen=True, slots=True)
class Changed:
    """A tracked path that differs: `staged` from HEAD, `unstaged` from the index, in git's letters."""

    path: str
    staged: str
    unstaged: str
    submodule: str
    old_path: str | None = None

    @property
    def submodule_commit_changed(self) -> bool:
        return self.submodule.startswith("S") and "C" in self.submodule


@dataclass(slots=True)
class Status:
    head: str | None = None
    branch: str | None = None
    changed: list[Changed] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    untracked: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def read_status(git: Git) -> Status:
    return parse_status(git.run(*COMMAND).records())


def parse_status(records: list[bytes]) -> Status:
    """An untracked or ignored path that ends in `/` is a nested repository, or an ignored directory."""
    status = Status()
    rest = iter(records)
    for record in rest:
        _take(status, os.fsdecode(record), rest)
    return status


def _take(status: Status, line: str, rest: Iterator[bytes]) -> None:
    match line[0]:
        case "#":
            _take_header(status, line)
        case "1":
            _, letters, submodule, *_, path = line.split(" ", 8)
            status.changed.append(Changed(path, letters[0], letters[1], submodule))
        case "2":
            _, letters, submodule, *_, path = line.split(" ", 9)
            old_path = os.fsdecode(next(rest))
            status.changed.append(Changed(path, letters[0], letters[1], submodule, old_path))
        case "u":
            status.conflicts.append(line.split(" ", 10)[10])
        case "?":
            status.untracked.append(line[2:])
        case "!":
            status.ignored.append(line[2:])


def _take_header(status: Status, line: str) -> None:
    _, name, value = line.split(" ", 2)
    if name == "branch.oid" and value != "(initial)":
        status.head = value
    if name == "branch.head" and value != "(detached)":
        status.branch = value
