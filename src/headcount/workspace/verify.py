"""Is what was saved still there, and is it what stands in the workspace?"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headcount.domain.findings import Workspace
from headcount.errors import GitError, UsageError
from headcount.workspace.disk import hash_blob
from headcount.workspace.git import Git
from headcount.workspace.names import SALVAGE, parse_salvage_ref, shown
from headcount.workspace.objects import Blob, Leaf, read_blobs, read_tree, try_blobs
from headcount.workspace.picture import FILES, STATE, Limits, Picture, take_picture
from headcount.workspace.repository import Repository

MANIFEST = b"manifest.json"


@dataclass(frozen=True, slots=True)
class Saved:
    """A salvage, read from its ref. `message` is what was found when it was taken."""

    ref: str
    commit: str
    message: str
    manifest: dict[str, Any]
    leaves: dict[bytes, Leaf]

    @property
    def workspace(self) -> Workspace:
        return Workspace.from_dict(self.manifest["workspace"])

    @property
    def content(self) -> dict[bytes, Leaf]:
        """The leaves that were files of the workspace and of its git directory."""
        return {path: leaf for path, leaf in self.leaves.items() if path.startswith((FILES, STATE))}


@dataclass(frozen=True, slots=True)
class Verification:
    """`problems` is empty when every byte is there. Each names a path or an object."""

    ref: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def read_saved(repo: Repository, ref: str) -> Saved:
    commit = repo.commit(ref)
    if commit is None or not parse_salvage_ref(ref):
        raise UsageError(
            f"There is no salvage {shown(ref)}",
            "",
            ("List them with `headcount salvage list`",),
            "no-salvage",
        )
    leaves = read_tree(repo.git, commit)
    if MANIFEST not in leaves:
        raise GitError(f"{ref} is not a salvage", "it holds no manifest", code="salvage-differs")
    blobs = read_blobs(repo.git, [leaves[MANIFEST].oid])
    manifest = json.loads(b"".join(chunk for blob in blobs for chunk in blob.chunks))
    return Saved(ref, commit, repo.git.text("log", "-1", "--format=%B", commit), manifest, leaves)


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
    repo: Repository, ref: str, workspace: Workspace | None = None, *, timeout_s: float = 300.0
) -> Verification:
    """Read every object back and hash it; with a workspace, compare it with what is on disk just now."""
    git = repo.git.until(timeout_s)
    saved = read_saved(repo, ref)
    problems = [
        f"object {oid} is missing or broken"
        for oid in find_broken(git, repo.hash_name, saved.leaves.values())
    ]
    if git.run("rev-list", "--objects", "--quiet", saved.commit, ok=range(256)).code:
        problems.append(f"not everything that {saved.commit} needs is there")
    if workspace is not None:
        problems += differences(saved, retake(repo, saved, workspace, timeout_s))
    return Verification(ref, tuple(problems))


def retake(repo: Repository, saved: Saved, workspace: Workspace, timeout_s: float) -> Picture:
    """The workspace as it is now, under the limits that the salvage was taken with."""
    return take_picture(repo, workspace, Limits(*saved.manifest["limits"]), timeout_s)


def differences(saved: Saved, picture: Picture) -> list[str]:
    """What is not the same in both: contents, links, modes, HEAD, branches, stashes."""
    content = saved.content
    paths = sorted(
        path
        for path in content.keys() | picture.leaves.keys()
        if content.get(path) != picture.leaves.get(path)
    )
    told = [f"{shown(os.fsdecode(path))} differs" for path in paths]
    now = json.loads(json.dumps(picture.manifest))
    return told + [f"{key} differs" for key in sorted(now) if now[key] != saved.manifest.get(key)]


def find_broken(git: Git, algorithm: str, leaves: Iterable[Leaf]) -> list[str]:
    """Blobs whose bytes, read out of the object database and hashed by us, are not what their name says."""
    oids = sorted({leaf.oid for leaf in leaves if leaf.mode != "160000"})
    return [oid for oid, blob in try_blobs(git, oids) if not _is_whole(blob, algorithm)]


def _is_whole(blob: Blob | None, algorithm: str) -> bool:
    return blob is not None and hash_blob(algorithm, blob.size, blob.chunks) == blob.oid
