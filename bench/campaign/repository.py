"""git, asked from outside: what a repository can still reach. No filter, hook or replacement takes part."""

from __future__ import annotations

import os
import re
import subprocess

_HEX = re.compile(rb"\b[0-9a-f]{40}\b")
_NULL = "0" * 40
# Files of a git directory that name commits: HEAD, pseudo-refs, operations in progress. Hooks, settings and
# the object store do not.
_NAMES = re.compile(r"^(HEAD|[A-Z_]+_HEAD|ORIG_HEAD|BISECT_.*|AUTO_MERGE|rebase-.*|sequencer|logs|refs)$")


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "HEADCOUNT_"))}
    return {
        **kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1",
        "GIT_CONFIG_COUNT": "3", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "false",
        "GIT_CONFIG_KEY_1": "core.bare", "GIT_CONFIG_VALUE_1": "false",
        "GIT_CONFIG_KEY_2": "core.hooksPath", "GIT_CONFIG_VALUE_2": os.devnull,
    }  # fmt: skip


def git(
    git_dir: str, *words: str, given: bytes = b"", check: bool = True, more: dict[str, str] | None = None
) -> bytes:
    command = ["git", f"--git-dir={git_dir}", *words]
    done = subprocess.run(
        command, input=given, capture_output=True, env={**environment(), **(more or {})}, timeout=120
    )
    if check and done.returncode:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace')[:500]}")
    return done.stdout


def existing(git_dir: str, oids: set[str]) -> dict[str, str]:
    """Return the type of each object that is really in the store."""
    answer = git(git_dir, "cat-file", "--batch-check", given="\n".join(sorted(oids)).encode() + b"\n")
    lines = (line.split() for line in answer.decode().splitlines())
    return {words[0]: words[1] for words in lines if len(words) == 3}


def named(git_dir: str) -> set[str]:
    """Return every object id that a ref, a reflog, HEAD, a pseudo-ref or an operation in progress names."""
    found = {
        oid.decode()
        for oid in _HEX.findall(git(git_dir, "for-each-ref", "--format=%(objectname)", check=False))
    }
    for directory in (git_dir, *_worktrees(git_dir)):
        for name in os.listdir(directory):
            if _NAMES.match(name) and (name != "refs" or directory != git_dir):  # `for-each-ref` read those
                found |= _named_below(f"{directory}/{name}")
    return found - {_NULL}


def prunable(git_dir: str) -> set[str]:
    """Return the objects that git calls unreachable, and so deletes in a `git gc --prune=now`."""
    listed = git(git_dir, "prune", "-n", "--expire=now", check=False).decode()
    return {line.split()[0] for line in listed.splitlines() if line}


def _worktrees(git_dir: str) -> list[str]:
    place = f"{git_dir}/worktrees"
    return [f"{place}/{name}" for name in os.listdir(place)] if os.path.isdir(place) else []


def _named_below(path: str) -> set[str]:
    if os.path.isdir(path):
        return set().union(*(_named_below(f"{path}/{name}") for name in os.listdir(path)))
    try:
        with open(path, "rb") as file:
            return {oid.decode() for oid in _HEX.findall(file.read())}
    except OSError:
        return set()


def staged(git_dir: str, common: str) -> list[tuple[str, str, bytes]]:
    """Return (mode, object id, path) of every entry of a worktree's index, conflict stages included."""
    words = ("ls-files", "--stage", "-z")
    listed = git(git_dir, *words, check=False)
    if not listed:  # a worktree whose HEAD is broken may still have an index
        listed = git(common, *words, check=False, more={"GIT_INDEX_FILE": f"{git_dir}/index"})
    entries = []
    for record in listed.split(b"\0"):
        if record:
            head, path = record.split(b"\t", 1)
            mode, oid, _ = head.decode().split()
            entries.append((mode, oid, path))
    return entries


def closure(git_dir: str, roots: set[str]) -> dict[str, str]:
    """Return the type of every object that these roots lead to and that is really there."""
    there = existing(git_dir, roots)
    listed = git(
        git_dir, "rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--ignore-missing",
        "--stdin", given="\n".join(sorted(there)).encode() + b"\n", check=False,
    )  # fmt: skip
    return there | existing(git_dir, set(listed.decode().split()))


def kept_in_packs(git_dir: str) -> set[str]:
    """Return the objects of packs that a `.keep` file protects from every prune."""
    place = f"{git_dir}/objects/pack"
    found: set[str] = set()
    for name in os.listdir(place) if os.path.isdir(place) else ():
        if name.endswith(".idx") and os.path.exists(f"{place}/{name[:-4]}.keep"):
            with open(f"{place}/{name}", "rb") as file:
                answer = subprocess.run(
                    ["git", "show-index"], stdin=file, capture_output=True, timeout=60
                ).stdout
            found |= {line.split()[1].decode() for line in answer.splitlines()}
    return found


def reachable(git_dir: str) -> dict[str, str]:
    """Return every object of a repository that something names, indexes of its worktrees included."""
    roots = named(git_dir)
    for directory in (git_dir, *_worktrees(git_dir)):
        roots |= {oid for mode, oid, _ in staged(directory, git_dir) if mode != "160000"}
    return closure(git_dir, roots)
