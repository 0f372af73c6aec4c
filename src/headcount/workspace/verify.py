"""Is what was saved still there, is it safe to restore, and is it what stands in the workspace?

A salvage may come from elsewhere, by `git fetch`, so it is read as an archive from a stranger: names and
manifest are checked before anything of it is used.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from headcount.domain.findings import Archive, Salvage, Skipped, Workspace
from headcount.errors import GitError, UsageError
from headcount.value_classes import dataclass
from headcount.workspace.archive import ARCHIVE, PRIVATE, check_private, compare, find_private
from headcount.workspace.disk_scan import CHUNK
from headcount.workspace.git import Git
from headcount.workspace.objects import Leaf, find_broken, open_answer, read_blobs, read_tree, read_types
from headcount.workspace.packing import check_pack, find_pack
from headcount.workspace.ref_names import SALVAGE, from_tree, parse_salvage_ref, shown, to_tree
from headcount.workspace.repository import Repository
from headcount.workspace.safe_files import find_fault
from headcount.workspace.saving_rules import SavingRules
from headcount.workspace.snapshot import FILES, PLACE, STATE, Limits, Snapshot, take_snapshot

MANIFEST = b"manifest.json"
_LARGEST_MANIFEST = 64 << 20  # bytes; one path for each of 500,000 files fits
_MOST_ENTRIES = 5_000_000
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Saved:
    """A salvage, read from its ref. `message` is what was found when it was taken.

    `faults` are names and values that no salvage of ours has. One with faults is neither restored nor
    continued from.
    """

    ref: str
    commit: str
    message: str
    manifest: dict[str, Any]
    leaves: dict[bytes, Leaf]
    faults: tuple[str, ...] = ()

    @property
    def workspace(self) -> Workspace:
        return Workspace.from_dict(self.manifest["workspace"])

    @property
    def content(self) -> dict[bytes, Leaf]:
        """The leaves that were files of the workspace and of its git directory."""
        return {path: leaf for path, leaf in self.leaves.items() if path.startswith((FILES, STATE))}

    def require_safe(self) -> None:
        if self.faults:
            raise GitError(
                f"Did not use {shown(self.ref)}",
                self.faults[0],
                ("headcount did not write it in this form; find out where it came from",),
                code="salvage-unsafe",
            )


@dataclass(frozen=True, slots=True)
class Verification:
    """`problems` is empty when every byte is there. Each names a path or an object."""

    ref: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def read_saved(repo: Repository, ref: str, commit: str | None = None) -> Saved:
    """Read a salvage from its ref, or, if the ref is gone, from the `commit` that a receipt names."""
    commit = repo.commit(ref) or (repo.commit(commit) if commit and _OID.fullmatch(commit) else None)
    if commit is None or not parse_salvage_ref(ref):
        raise UsageError(
            f"There is no salvage {shown(ref)}",
            "",
            ("List them with `headcount salvage list`",),
            "no-salvage",
        )
    git = repo.git.offline()
    # A few trees that hold each other many times can stand for more paths than there is memory.
    entries = 0
    with open_answer(git, None, "ls-tree", "-r", "-z", "--full-tree", commit) as answer:
        while chunk := answer.read(CHUNK):
            entries += chunk.count(b"\0")
            if entries > _MOST_ENTRIES:
                raise GitError(
                    f"Did not read {shown(ref)}",
                    f"it has more than {_MOST_ENTRIES:,} files",
                    code="salvage-unsafe",
                )
    leaves = read_tree(git, commit)
    manifest = _read_manifest(git, ref, leaves)
    faults = (*_unsafe_names(leaves), *_unsafe_values(manifest))
    return Saved(ref, commit, git.text("log", "-1", "--format=%B", commit), manifest, leaves, faults)


def _read_manifest(git: Git, ref: str, leaves: dict[bytes, Leaf]) -> dict[str, Any]:
    if MANIFEST not in leaves:
        raise GitError(f"{shown(ref)} is not a salvage", "it holds no manifest", code="salvage-differs")
    for blob in read_blobs(git, [leaves[MANIFEST].oid]):
        if blob.size > _LARGEST_MANIFEST:
            raise GitError(
                f"Did not read {shown(ref)}", f"its manifest has {blob.size:,} bytes", code="salvage-unsafe"
            )
        try:
            manifest = json.loads(b"".join(blob.chunks))
        except (ValueError, RecursionError) as error:
            raise GitError(
                f"{shown(ref)} is not a salvage", f"manifest: {error}", code="salvage-differs"
            ) from error
        if isinstance(manifest, dict):
            return manifest
    raise GitError(f"{shown(ref)} is not a salvage", "its manifest is not an object", code="salvage-differs")


def _unsafe_names(leaves: dict[bytes, Leaf]) -> Iterable[str]:
    """Names that would lead out of a restored workspace, or take the place of what git needs to know it."""
    content = {path for path in leaves if path.startswith((FILES, STATE))}
    directories = {parent for path in content for parent in _parents(path)}
    for path in sorted(content):
        top, _, name = path.partition(b"/")
        decoded = from_tree(name)
        if fault := find_fault(decoded):
            yield fault
        elif to_tree(decoded) != name or path in directories:
            yield f"{shown(os.fsdecode(path))} is not a name that a salvage has"
        elif top + b"/" == STATE and decoded.split(b"/")[0].lower() in PLACE:
            yield f"{shown(os.fsdecode(path))} says where a worktree is, and is never saved"


def _parents(path: bytes) -> Iterable[bytes]:
    while path := os.path.dirname(path):
        yield path


def _unsafe_values(manifest: dict[str, Any]) -> Iterable[str]:
    present = {key: is_valid for key, is_valid in _VALID_IF_THERE.items() if key in manifest}
    for key, is_valid in {**_VALID, **present}.items():
        try:
            fine = key in manifest and is_valid(manifest[key])
        except (TypeError, ValueError, AttributeError, LookupError):
            fine = False
        if not fine:
            yield f"the manifest's {key} is not what a salvage has"


def _is_workspace(value: Any) -> bool:
    place = Workspace.from_dict(value)
    texts = (place.team, place.member, place.path)
    others = (place.git_dir, place.branch, place.base)
    named = all(isinstance(text, str) for text in texts) and type(place.generation) is int
    return named and all(text is None or isinstance(text, str) for text in others)


def _is_path(value: Any) -> bool:
    path = os.fsencode(value)
    top, _, name = path.partition(b"/")
    return top + b"/" in (FILES, STATE) and not find_fault(name)


def _is_mode(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 0o7777


def _is_oid(value: Any) -> bool:
    return isinstance(value, str) and _OID.fullmatch(value) is not None


def _is_ref(value: Any) -> bool:
    """A name that git takes for a ref (git-check-ref-format), below `refs/`."""
    odd = re.search(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|/\.|\.(?:lock)?(?:/|$)|\.lock/", value)
    return value.startswith("refs/") and not value.endswith(("/", ".", ".lock")) and not odd


def _all(values: Iterable[Any], is_valid: Callable[[Any], bool]) -> bool:
    return all(is_valid(value) for value in values)


# What restoring relies on. Further keys may come with later versions.
_VALID: dict[str, Callable[[Any], bool]] = {
    "version": lambda value: value == 1,
    "workspace": _is_workspace,
    "limits": lambda value: len(value) == 2 and _all(value, lambda one: type(one) is int),
    "head": lambda value: value is None or _is_oid(value),
    "head_ref": lambda value: value is None or _is_ref(value),
    "branches": lambda value: (
        _all(value, lambda name: _is_ref(f"refs/heads/{name}")) and _all(value.values(), _is_oid)
    ),
    "stashes": lambda value: _all(value, lambda one: _is_oid(one[0]) and isinstance(one[1], str)),
    "modes": lambda value: _all(value.values(), _is_mode),
    "odd_modes": lambda value: _all(value, _is_path) and _all(value.values(), _is_mode),
    "empty_directories": lambda value: _all(value, _is_path),
    "special": lambda value: _all(value, _is_path),
    "left_out": lambda value: _all(value, lambda one: len(one) == 3),
}
# What salvages of older versions do not have.
_VALID_IF_THERE: dict[str, Callable[[Any], bool]] = {
    "rules": lambda value: SavingRules.from_dict(value).as_dict() == value,
    "skipped": lambda value: _all(value, lambda one: isinstance(Skipped.from_dict(one).path, str)),
    PRIVATE: lambda value: _all(value, lambda one: not find_fault(os.fsencode(one))),
    ARCHIVE: lambda value: not find_fault(os.fsencode(value)) and value.endswith(".tar"),
}


def list_salvage(repo: Repository, team: str | None = None) -> list[tuple[str, str]]:
    """(ref, commit) of every salvage, of one team if named; by team, member, generation and number."""
    lines = repo.git.run("for-each-ref", "--format=%(refname) %(objectname)", SALVAGE).text.split("\n")
    found = []
    for ref, commit in (line.split(" ") for line in lines if line):
        key = parse_salvage_ref(ref)
        if key and team in (None, key[0]):
            found.append((key, ref, commit))
    return [(ref, commit) for _, ref, commit in sorted(found)]


def verify(
    repo: Repository,
    ref: str,
    workspace: Workspace | None = None,
    *,
    receipt: Salvage | None = None,
    timeout_s: float = 300.0,
    archive_directory: str = "",
) -> Verification:
    """Read every object back and hash it, and the archive of its private files.

    With a workspace, compare it with what is on disk just now. With a receipt, the ref must be there and name
    what the receipt names, in the kept pack that it names.
    """
    repo = repo.until(timeout_s).offline()
    git = repo.git
    problems = _lost(repo, ref, receipt) if receipt else []
    if problems and repo.commit(ref) is None and repo.commit(receipt.commit if receipt else "") is None:
        return Verification(ref, tuple(problems))
    saved = read_saved(repo, ref, receipt.commit if receipt else None)
    problems += saved.faults
    broken = set(find_broken(git, repo.hash_name, saved.leaves.values()))
    broken -= _promised(git, saved.commit) if broken else set()
    problems += [f"object {oid} is missing or broken" for oid in sorted(broken)]
    if git.run("rev-list", *_EVERYTHING, "--quiet", saved.commit, ok=range(256)).code:
        problems.append(f"not everything that {saved.commit} needs is there")
    pack = receipt.pack if receipt else find_pack(repo, saved.commit)
    problems += check_pack(repo, pack) if pack else []
    private = find_private(archive_directory, ref, saved.manifest, receipt)
    problems += check_private(saved.manifest, private)
    if workspace is not None:
        problems += find_differences(repo, saved, workspace, private, timeout_s)
    return Verification(ref, tuple(problems))


# In a partial clone, what the remote has promised may be missing. It is not fetched.
_EVERYTHING = ("--objects", "--missing=allow-promisor")


def check(repo: Repository, receipt: Salvage) -> list[str]:
    """Problems with what a receipt names: its ref, its kept pack byte by byte, and that all files are there.

    Faster than `verify`, which also reads what the repository had before.
    """
    repo = repo.offline()
    git = repo.git
    problems = _lost(repo, receipt.ref, receipt)
    if receipt.commit not in read_types(git, [receipt.commit]):
        return problems
    leaves = {leaf.oid for leaf in read_tree(git, receipt.commit).values() if leaf.mode != "160000"}
    missing = leaves - read_types(git, leaves).keys()
    missing -= _promised(git, receipt.commit) if missing else set()
    problems += [f"{receipt.ref}: object {oid} is missing" for oid in sorted(missing)]
    return problems + [
        f"{receipt.ref}: {problem}" for problem in (check_pack(repo, receipt.pack) if receipt.pack else ())
    ]


def _lost(repo: Repository, ref: str, receipt: Salvage) -> list[str]:
    now = repo.commit(ref)
    if now is None:
        there = receipt.commit in read_types(repo.git, [receipt.commit])
        return [f"{ref} is gone; its commit {receipt.commit} is " + ("still there" if there else "gone, too")]
    return [] if now == receipt.commit else [f"{ref} is at {now}, and the receipt names {receipt.commit}"]


def _promised(git: Git, commit: str) -> set[str]:
    """Objects of this commit's tree that are not here and that the remote of a partial clone has."""
    args = ("rev-list", "--objects", "--no-walk", "--no-object-names")
    if git.run(*args, "--missing=allow-promisor", "--quiet", commit, ok=range(256)).code:
        return set()
    listed = git.run(*args, "--missing=print", commit, ok=range(256)).text.split("\n")
    return {line.removeprefix("?") for line in listed if line.startswith("?")}


def find_differences(
    repo: Repository, saved: Saved, workspace: Workspace, private: Archive | None, timeout_s: float
) -> list[str]:
    """What is not the same in the workspace now, under the limits and rules that the salvage was taken with:
    contents, links, modes, HEAD, branches, stashes, what was skipped, and the private files."""
    rules = saved.manifest.get("rules")
    limits = Limits(*saved.manifest["limits"])
    snapshot = take_snapshot(
        repo, workspace, limits, timeout_s, SavingRules.from_dict(rules) if rules else SavingRules()
    )
    told = differences(saved, snapshot)
    if snapshot.private and not told:
        told = check_private(saved.manifest, private)
        told += compare(private.path, workspace.path, snapshot.private) if private and not told else []
    return told


def differences(saved: Saved, snapshot: Snapshot) -> list[str]:
    content = saved.content
    paths = sorted(
        path
        for path in content.keys() | snapshot.leaves.keys()
        if content.get(path) != snapshot.leaves.get(path)
    )
    told = [f"{shown(os.fsdecode(path))} differs" for path in paths]
    now = json.loads(json.dumps(snapshot.manifest))
    keys = sorted((now.keys() | saved.manifest.keys()) - {ARCHIVE})
    return told + [f"{key} differs" for key in keys if now.get(key) != saved.manifest.get(key)]
