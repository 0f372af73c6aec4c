"""Decide which files of a workspace need not be saved, and which no ref may hold.

A file is *skipped* only if all of this is true:

- git ignores it and does not track it
- it is in a well-known directory that a marker proves to be rebuildable, or `salvage_skip` matches it
- `salvage_private` does not match it, or a tool put it there, as it puts a `cacert.pem` into every Python
  environment: it is in a well-known directory, or in one that a pattern with a final `/` names
- it is not part of a repository inside the workspace

Everything skipped is listed with count and size. The removal gate compares the list with the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Any, Self

from headcount.domain.findings import Skipped
from headcount.domain.policy import Policy
from headcount.value_classes import dataclass
from headcount.workspace.contents import directories_of
from headcount.workspace.disk_scan import open_path
from headcount.workspace.path_patterns import NOTHING, PathPatterns
from headcount.workspace.ref_names import shown

# Names of directories, and a file that stands beside them where they are build output.
_WEB = (b"package.json",)
_BESIDE: dict[bytes, tuple[bytes, ...]] = {
    b"node_modules": _WEB, b".next": _WEB, b".nuxt": _WEB, b".svelte-kit": _WEB, b".parcel-cache": _WEB,
    b".turbo": _WEB, b"target": (b"Cargo.toml", b"pom.xml"),
    b".gradle": (b"build.gradle", b"build.gradle.kts", b"settings.gradle", b"settings.gradle.kts"),
}  # fmt: skip
# Files that only a tool writes, into a directory of any name that it can make again.
_INSIDE = (b"pyvenv.cfg", b"CMakeCache.txt")
_TAG, _SIGNATURE = b"CACHEDIR.TAG", b"Signature: 8a477f597d28d172789f06886806bc55"  # bford.info/cachedir
_COMPILED, _COMPILED_ENDINGS = b"__pycache__", (b".pyc", b".pyo")


@dataclass(frozen=True, slots=True)
class SavingRules:
    """`known`: skip well-known rebuildable directories too."""

    private: PathPatterns = NOTHING
    skip: PathPatterns = NOTHING
    known: bool = False

    @classmethod
    def of(cls, policy: Policy, plan: Mapping[str, Any]) -> Self:
        """Those of a team, and after them those of the worker itself."""
        private = (*policy.salvage_private, *plan.get("salvage_private", ()))
        skip = (*policy.salvage_skip, *plan.get("salvage_skip", ()))
        return cls(PathPatterns(private), PathPatterns(skip), policy.salvage_skip_known)

    def as_dict(self) -> dict[str, Any]:
        patterns = {"private": list(self.private.patterns), "skip": list(self.skip.patterns)}
        return {**patterns, "known": self.known}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(PathPatterns(tuple(data["private"])), PathPatterns(tuple(data["skip"])), data["known"])


@dataclass(slots=True)
class Skipping:
    """The files that are skipped, and the directories whose whole content is build output, by why."""

    files: set[bytes] = field(default_factory=set)
    listed: tuple[Skipped, ...] = ()
    _roots: dict[bytes, str] = field(default_factory=dict)
    _needed: set[bytes] = field(default_factory=set)

    def drops(self, path: bytes) -> bool:
        """Whether a directory, a pipe or the like goes with the skipped files around it."""
        if not self._roots or path in self._needed:
            return False
        return any(above in self._roots for above in (path, *directories_of(path)))


def find_skipped(
    rules: SavingRules,
    files: Mapping[bytes, int],
    ignored: Iterable[bytes],
    tracked: Iterable[bytes],
    nested: Iterable[bytes],
    root: bytes,
) -> Skipping:
    """Sort out what need not be saved of the workspace at `root`.

    `files` are the files and links with their sizes, without those of the repositories at `nested`. `ignored`
    are the files and directories (with a final `/`) that git calls so.
    """
    entries = set(ignored)
    if not entries or not (rules.known or rules.skip):
        return Skipping()
    unsaved = _find_within(files, entries).difference(tracked)
    known = _Known(files, find_holders(files.keys() - unsaved), root) if rules.known else None
    named = PathPatterns(tuple(pattern for pattern in rules.skip.patterns if pattern.endswith("/")))
    roots: dict[bytes, str] = {}
    members: dict[bytes, list[bytes]] = {}
    for path in unsaved:
        found = known.find(path) if known else None
        is_built = found is not None
        if found is None and (match := rules.skip.find(path)) is not None:
            found = match, "salvage_skip matches it"
            is_built = named.find(path) == match
        if found is not None and (is_built or not rules.private.match(path)):
            roots[found[0]] = found[1]
            members.setdefault(found[0], []).append(path)
    skipped = {path for below in members.values() for path in below}
    kept: dict[bytes, list[bytes]] = {root: [] for root in roots}
    others = [path for path in files if path not in skipped] + [path + b"/" for path in nested]
    for path in others if roots else ():
        for above in directories_of(path):
            if above in kept:
                kept[above].append(path)
                break
    listed = tuple(
        Skipped(
            _name(root if root in files else root + b"/"),
            len(members[root]),
            sum(files[path] for path in members[root]),
            roots[root],
            tuple(_name(path) for path in sorted(kept[root])),
        )
        for root in sorted(roots)
    )
    directories = {root: why for root, why in roots.items() if root not in files}
    return Skipping(
        skipped, listed, directories, find_holders(path for paths in kept.values() for path in paths)
    )


class _Known:
    """The outermost well-known directory above a path, if there is one. Each directory is judged once."""

    def __init__(self, files: Mapping[bytes, int], mixed: set[bytes], root: bytes) -> None:
        self._files, self._mixed, self._root = files, mixed, root
        self._found: dict[bytes, tuple[bytes, str] | None] = {b"": None}

    def find(self, path: bytes) -> tuple[bytes, str] | None:
        parent, _, name = path.rpartition(b"/")
        found = self._above(parent)
        if found is None and parent.rpartition(b"/")[2] == _COMPILED and name.endswith(_COMPILED_ENDINGS):
            return parent, "Python writes it"
        return found

    def _above(self, directory: bytes) -> tuple[bytes, str] | None:
        if directory not in self._found:
            parent = directory.rpartition(b"/")[0]
            why = "" if (found := self._above(parent)) else self._judge(directory, parent)
            self._found[directory] = (directory, why) if why else found
        return self._found[directory]

    def _judge(self, directory: bytes, parent: bytes) -> str:
        """Why it can be built again, or nothing."""
        before = parent + b"/" if parent else b""
        for marker in _BESIDE.get(directory.rpartition(b"/")[2], ()):
            if before + marker in self._files:
                return f"{marker.decode()} is beside it"
        if directory in self._mixed:
            return ""  # a marker inside is no proof where git also tracks files, or sees some as work
        for marker in _INSIDE:
            if directory + b"/" + marker in self._files:
                return f"{marker.decode()} is in it"
        tag = directory + b"/" + _TAG
        return f"{_TAG.decode()} is in it" if tag in self._files and self._is_signed(tag) else ""

    def _is_signed(self, tag: bytes) -> bool:
        with suppress(OSError), open(open_path(self._root, tag), "rb") as file:
            return file.read(len(_SIGNATURE)) == _SIGNATURE
        return False


def _name(path: bytes) -> str:
    return shown(os.fsdecode(path))


def _find_within(paths: Iterable[bytes], entries: set[bytes]) -> set[bytes]:
    """Those of these paths that are entries, or below one. Each directory is judged once."""
    known: dict[bytes, bool] = {b"": False}

    def is_below(directory: bytes) -> bool:
        if directory not in known:
            known[directory] = any(
                above + b"/" in entries for above in (directory, *directories_of(directory))
            )
        return known[directory]

    return {path for path in paths if path in entries or is_below(path.rpartition(b"/")[0])}


def find_holders(paths: Iterable[bytes]) -> set[bytes]:
    """The directories that hold any of these paths, at any depth."""
    found: set[bytes] = set()
    for path in paths:
        while (path := path.rpartition(b"/")[0]) and path not in found:
            found.add(path)
    return found
