"""Which programs our own git may run, and as whom they were configured.

git runs programs that its configuration names: filters, merge drivers, external diffs, file system monitors,
hooks, transports. The configuration of a repository is shared by all of its worktrees, so every member can
change it. Two rules keep members' programs away from git commands that headcount runs:

1. A plumbing command that reads objects, refs or the index runs no program, given the settings in `git.py`.
   `is_plain` lists them; they run directly.
2. Every other command gets a private configuration, a file that headcount has just written. It holds the
   shape of the repository as it is now (`core.*`, `extensions.*`, …) and everything else as it was recorded
   when the team began. git reads no other file: neither the repository's, nor the worktree's, the user's or
   the system's. So a member that changes them at the same moment changes nothing (docs/decisions/0034).

If the private configuration names a program, the command runs below a reaper, which ends what it leaves.

git finds the private file by GIT_COMMON_DIR: a directory of symbolic links to everything in the common git
directory but `config`.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from headcount.errors import GitError
from headcount.tree_removal import remove_tree

Entry = tuple[str, str | None]  # a key, and its value; None for a key without "="

_PLAIN = frozenset((
    "cat-file", "check-attr", "check-ignore", "commit-tree", "config", "count-objects", "for-each-ref",
    "fsck", "index-pack", "log", "ls-files", "ls-tree", "merge-base", "mktree", "name-rev", "pack-objects",
    "pack-refs", "prune-packed", "read-tree", "rev-list", "rev-parse", "show-index", "show-ref",
    "symbolic-ref", "unpack-objects", "update-index", "update-ref", "var", "verify-pack", "version",
    "write-tree",
))  # fmt: skip
# Of these, the ones that read or write files of a work tree, and with them run filters.
_WITH_FILES = {
    "cat-file": ("--filters", "--textconv"),
    "log": ("-p", "-u", "--patch", "--stat", "--ext-diff", "--textconv", "--show-signature"),
    "ls-files": ("-m", "--modified"),
    "read-tree": ("-u",),
    "update-index": ("--refresh", "--really-refresh", "--add", "--again", "-g", "--renormalize"),
}

# From the repository as it is now: what says how its files are laid out. Nothing of it is a program.
_LIVE = frozenset(
    ("checkout", "core", "extensions", "feature", "i18n", "index", "pack", "status", "submodule")
)
_PROGRAMS_OF_CORE = frozenset((
    "core.alternaterefscommand", "core.askpass", "core.editor", "core.fsmonitor", "core.gitproxy",
    "core.hookspath", "core.pager", "core.sshcommand",
))  # fmt: skip
# Would lead git to another configuration, or to another work tree than the one that it is given.
_DROPPED = frozenset(("core.worktree", "extensions.worktreeconfig"))
# What git may run while it reads or writes files, or merges; with a partial clone, also what fetches.
_RUNS = re.compile(
    r"filter\..*\.(clean|smudge|process)|merge\..*\.driver|diff\..*\.(textconv|command)|diff\.external"
    r"|extensions\.partialclone|remote\..*\.(promisor|partialclonefilter)",
    re.DOTALL,
)
_FILTER = re.compile(r"filter\.(.*)\.([^.]*)", re.DOTALL)
_ALWAYS_LINKED = ("objects", "packed-refs", "refs", "shallow")  # though they may be made a moment later
_NOT_LINKED = ("config", "config.worktree")
# On a disk, a dozen links take longer to make than git takes to read a small repository.
_PREFIX = "headcount-git-"
_LEFT_S = 86_400.0
_MEMORY = "/dev/shm"  # noqa: S108 - only for directories with a random name, mode 0700


class Recorded(NamedTuple):
    """The whole configuration at one moment, in git's order, with all includes resolved."""

    entries: tuple[Entry, ...]

    @classmethod
    def from_fact(cls, fact: Mapping[str, object] | None) -> Recorded | None:
        """None for a team of which nothing was recorded: then the configuration is as it is now."""
        entries = (fact or {}).get("entries")
        if not isinstance(entries, Sequence):
            return None
        return cls(tuple((str(key), None if value is None else str(value)) for key, value in entries))

    def as_fact(self) -> dict[str, object]:
        return {"entries": [list(entry) for entry in self.entries]}


def is_plain(args: Sequence[str | bytes]) -> bool:
    """Whether this command runs no program. A command that is not known here is taken for one that does."""
    words = [os.fsdecode(word) for word in args]
    command, options = words[0], words[1:]
    if command == "hash-object":
        return "--no-filters" in options or ("--stdin" in options and not any("--path" in o for o in options))
    if command == "diff-index":
        return options[:2] == ["--cached", "--quiet"]  # compares names of objects, and shows nothing
    if command == "remote":
        return options == ["--verbose"]  # lists them; each repository inside a workspace has its own
    if command == "worktree":
        return options[0] != "add" or "--no-checkout" in options
    return command in _PLAIN and not any(option in options for option in _WITH_FILES.get(command, ()))


class Config(NamedTuple):
    """A configuration as it was read, and the state of the files that it was read from."""

    entries: tuple[Entry, ...]
    files: tuple[tuple[str, tuple[int, ...] | None], ...]

    def is_current(self) -> bool:
        return all(_state(path) == state for path, state in self.files)

    @property
    def is_everywhere_the_same(self) -> bool:
        """Whether every worktree of the repository has it."""
        return not any(
            k.startswith("includeif.") or k == "extensions.worktreeconfig" for k, _ in self.entries
        )


QUESTION = ("config", "--list", "-z", "--show-scope", "--show-origin")


def read_config(common_dir: str, environ: Mapping[str, str], ask: Callable[[], list[bytes]]) -> Config:
    """`ask` gives git's answer to QUESTION. The files are looked at first, so no change is missed."""
    likely = {path: _state(path) for path in _likely_files(common_dir, environ)}
    records = ask()
    entries: list[Entry] = []
    for scope, origin, record in zip(records[::3], records[1::3], records[2::3], strict=True):
        if scope == b"command":
            continue  # what we gave it ourselves
        key, equals, value = os.fsdecode(record).partition("\n")
        entries.append((key, value if equals else None))
        file = os.path.join(common_dir, os.fsdecode(origin).removeprefix("file:"))
        if file not in likely:
            likely[file] = _state(file)
    return Config(tuple(entries), tuple(likely.items()))


def _likely_files(common_dir: str, environ: Mapping[str, str]) -> Iterator[str]:
    home = environ.get("HOME", "")
    yield os.path.join(common_dir, "config")
    yield environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig"
    yield environ.get("GIT_CONFIG_GLOBAL") or os.path.join(home, ".gitconfig")
    yield os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git/config")


def _state(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def compose(now: Sequence[Entry], recorded: Recorded | None) -> list[Entry]:
    """The shape of the repository as it is now, and everything else as it was recorded."""
    then = now if recorded is None else recorded.entries
    kept = [entry for entry in then if not _is_live(entry[0])] + [
        entry for entry in now if _is_live(entry[0])
    ]
    return [(key, value) for key, value in kept if key not in _DROPPED]


def find_changed_filters(now: Sequence[Entry], recorded: Recorded | None) -> frozenset[str]:
    """Names of the filters that are configured otherwise than when the team began."""
    if recorded is None:
        return frozenset()
    here, then = _read_filters(now), _read_filters(recorded.entries)
    return frozenset(name for name in here.keys() | then.keys() if here.get(name) != then.get(name))


def _read_filters(entries: Sequence[Entry]) -> dict[str, dict[str, str | None]]:
    """The settings of each filter by its name; of a setting that is given twice, the last one."""
    filters: dict[str, dict[str, str | None]] = {}
    for key, value in entries:
        if found := _FILTER.fullmatch(key):
            filters.setdefault(found[1], {})[found[2]] = value
    return filters


def runs_programs(entries: Sequence[Entry]) -> bool:
    return any(_RUNS.fullmatch(key) and value != "" for key, value in entries)


def _is_live(key: str) -> bool:
    return key.partition(".")[0] in _LIVE and key not in _PROGRAMS_OF_CORE


@contextmanager
def private_directory(git_dir: str, entries: Sequence[Entry]) -> Iterator[dict[str, str]]:
    """The variables that make git read these entries, and no other configuration."""
    common = find_common_dir(git_dir)
    try:
        names = {*os.listdir(common), *_ALWAYS_LINKED}.difference(_NOT_LINKED)
    except OSError as error:
        raise GitError(f"{git_dir} is not a git directory", str(error), code="git-failed") from error
    place = tempfile.mkdtemp(prefix=_PREFIX, dir=_private_place())
    try:
        for name in names:
            os.symlink(os.path.join(common, name), os.path.join(place, name))
        with open(os.path.join(place, "config"), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("".join(map(_as_text, entries)))
        yield {"GIT_COMMON_DIR": place, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    finally:
        _remove(place)


def remove_left_directories() -> None:
    """Remove private directories that a killed process left a day ago: the configuration may hold keys. No
    command of git runs that long."""
    top = _private_place()
    for name in filter(re.compile(f"{_PREFIX}\\w+").fullmatch, os.listdir(top)):
        with suppress(OSError):
            path = os.path.join(top, name)
            seen = os.lstat(path)
            is_ours = stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid()
            if is_ours and seen.st_mtime < time.time() - _LEFT_S:
                _remove(path)


def _private_place() -> str:
    return _MEMORY if os.access(_MEMORY, os.W_OK) else tempfile.gettempdir()


def _remove(place: str) -> None:
    """Links and one file; and whatever a program took the directory for its repository and put there."""
    for name in os.listdir(place):
        path = os.path.join(place, name)
        if os.path.isdir(path) and not os.path.islink(path):
            remove_tree(path)
        else:
            os.remove(path)
    os.rmdir(place)


def find_common_dir(git_dir: str) -> str:
    try:
        with open(os.path.join(git_dir, "commondir"), encoding="utf-8", errors="surrogateescape") as file:
            return os.path.normpath(os.path.join(git_dir, file.readline().rstrip("\n")))
    except (FileNotFoundError, NotADirectoryError):
        return git_dir


def _as_text(entry: Entry) -> str:
    key, value = entry
    section, _, rest = key.partition(".")
    inside, _, name = rest.rpartition(".")
    head = f'[{section} "{_escape(inside)}"]' if inside else f"[{section}]"
    return f"{head}\n\t{name}\n" if value is None else f'{head}\n\t{name} = "{_escape(value)}"\n'


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


# --- refspecs --------------------------------------------------------------------------------------------
#
# Settings of remotes by which a plain `git fetch` or `git push` deletes refs of headcount.


_OURS = "refs/headcount/"
_YES = ("true", "yes", "on", "1")


class Risk(NamedTuple):
    """What a remote's settings would delete, and the command that keeps it from doing so."""

    what: str
    do: str


def find_risks(entries: Iterable[Entry]) -> list[Risk]:
    """Find fetch refspecs with prune, and mirror pushes, that cover `refs/headcount/*`."""
    values: dict[str, list[str]] = {}
    for key, value in entries:
        values.setdefault(key, []).append("true" if value is None else value)
    risks = []
    for name in dict.fromkeys(_remote(key) for key in values if _remote(key)):
        own = f"remote.{name}"
        if _is_on(values, f"{own}.prune", "fetch.prune"):
            risks += [
                Risk(
                    f"`git fetch {name}` deletes salvages: it prunes, and {refspec} covers {_OURS}*",
                    f"git config {own}.prune false",
                )
                for refspec in values.get(f"{own}.fetch", ())
                if _covers(_target(refspec))
            ]
        pushed = values.get(f"{own}.push", ())
        withheld = any(refspec.startswith("^") and _withholds(refspec[1:]) for refspec in pushed)
        if _is_on(values, f"{own}.mirror") or (not withheld and any(map(_covers, map(_pushed, pushed)))):
            risks.append(
                Risk(
                    f"`git push {name}` publishes {_OURS}*, which holds unfinished work of members",
                    f"git config --unset {own}.mirror; git config {own}.push 'refs/heads/*:refs/heads/*'",
                )
            )
    return risks


def _remote(key: str) -> str:
    section, _, rest = key.partition(".")
    return rest.rpartition(".")[0] if section == "remote" else ""


def _is_on(values: dict[str, list[str]], *keys: str) -> bool:
    """The first of these settings that is set decides; its last value counts."""
    found = next((values[key][-1] for key in keys if key in values), "")
    return found.lower() in _YES


def _target(refspec: str) -> str:
    """Where it writes. A negative refspec, and one without a target, writes nowhere."""
    source, colon, target = refspec.removeprefix("+").partition(":")
    return "" if source.startswith("^") else target if colon else ""


def _pushed(refspec: str) -> str:
    """What it sends; a negative refspec sends nothing."""
    source = refspec.removeprefix("+").partition(":")[0]
    return "" if source.startswith("^") else source


def _covers(pattern: str) -> bool:
    """Whether it means any ref of ours, or one of them by its name."""
    before, star, _ = pattern.partition("*")
    return before.startswith(_OURS) or (bool(star) and _OURS.startswith(before))


def _withholds(pattern: str) -> bool:
    """Whether it means all refs of ours."""
    return pattern.endswith("*") and _OURS.startswith(pattern[:-1])
