"""Save everything that stands in a workspace to a ref, without touching the workspace.

The snapshot is a commit. Its tree:

    manifest.json   what stood where: HEAD, branches, stashes, modes, empty directories, what was left out
    files/          the workspace, every byte as on disk: tracked, untracked, ignored, nested repositories
    gitdir/         its private git directory: the index itself, operations in progress, HEAD's reflog
    index/0 … 3     what is staged, by conflict stage
    objects/        trees and blobs that the state names and no commit holds

Private files (`salvage_private`) are in an archive beside the state instead, and build output is only listed.
The parents are the commits: HEAD, its branches, stashes, autostashes, what a rebase has still to do.
All of it that is not safe elsewhere is in one pack that git never deletes (`packing`). The ref is made last,
after everything was read back from the store; a failure before that never leaves half a salvage.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from datetime import datetime
from itertools import count

from headcount.domain.findings import Archive, Findings, Salvage, Workspace
from headcount.errors import GitError, WorldError
from headcount.value_classes import dataclass
from headcount.workspace.archive import ARCHIVE, keep_private, name_in
from headcount.workspace.disk_scan import copy_node
from headcount.workspace.git import Git
from headcount.workspace.inspection import utc_now
from headcount.workspace.objects import (
    FAST,
    Leaf,
    find_broken,
    read_tree,
    read_types,
    write_blobs,
    write_tree,
)
from headcount.workspace.packing import Quarantine, find_pack, list_loose, list_unsafe, open_quarantine
from headcount.workspace.ref_names import SALVAGE, parse_salvage_ref, salvage_ref, shown
from headcount.workspace.repository import Repository
from headcount.workspace.safe_files import is_long
from headcount.workspace.saving_rules import SavingRules
from headcount.workspace.snapshot import FILES, STATE, Limits, Snapshot, take_snapshot
from headcount.workspace.verify import MANIFEST

_TRIES = 3  # a `git gc` that runs at the same time may take a loose object between two of our commands
_WORTH_A_TRY = frozenset({"git-failed", "object-missing"})


def salvage(
    repo: Repository,
    workspace: Workspace,
    *,
    generation: int | None = None,
    findings: Findings | None = None,
    max_mb: int = 2048,
    ignored_max_mb: int = 256,
    timeout_s: float = 300.0,
    when: str = "",
    rules: SavingRules | None = None,
    archive_directory: str = "",
) -> Salvage:
    """Save and read back within `timeout_s`. Repeated on an unchanged workspace, return the existing salvage.

    `generation` is the incarnation it is saved for, if that is a later one than the workspace was made for.
    `findings` only go into the commit's message; what is saved is decided by looking. Without `rules`
    everything is saved in git. Private files go to `archive_directory`.
    """
    repo = repo.until(timeout_s).offline()
    saver = _Saver(
        repo, workspace, generation or workspace.generation, _message(findings), when or utc_now(),
        rules or SavingRules(), archive_directory,
    )  # fmt: skip
    try:
        return saver.save_in_time(Limits.mb(max_mb, ignored_max_mb))
    except OSError as error:
        raise WorldError(
            f"Could not save {workspace.path}",
            str(error),
            ("Nothing was changed there",),
            code="salvage-failed",
        ) from error


@dataclass(frozen=True, slots=True)
class _Saver:
    repo: Repository
    workspace: Workspace
    generation: int
    message: str
    when: str
    rules: SavingRules
    archive_directory: str

    def save_in_time(self, limits: Limits) -> Salvage:
        for _ in range(_TRIES - 1):
            try:
                return self.save(limits)
            except GitError as error:
                if error.code not in _WORTH_A_TRY:
                    raise
        return self.save(limits)

    def save(self, limits: Limits) -> Salvage:
        repo, workspace = self.repo, self.workspace
        snapshot = take_snapshot(repo, workspace, limits, repo.git.time_left(), self.rules)
        # On disk and read back before the ref, which names it: a crash in between leaves only the archive.
        private = self._keep_private(snapshot)
        with open_quarantine(repo) as quarantine:
            types = read_types(quarantine.git, snapshot.named)
            tree = _Writer(repo, quarantine, workspace, snapshot).write(types)
            parents = _parents(repo.git, snapshot.head, types)
            earlier = self._list_earlier()
            there = next((one[:2] for one in earlier if one[2] == [tree, *parents]), None)
            commit = there[1] if there else self._write_commit(quarantine.git, tree, parents)
            pack = find_pack(repo, commit) if there else ""
            if not pack:
                # One that an older version wrote as loose objects gets its pack here, too.
                own = snapshot.manifest["branches"]
                pack = quarantine.pack(list_unsafe(quarantine, commit, workspace.base, own))
                quarantine.publish(pack, commit)
            _read_back(repo, tree, snapshot)
            # A salvage that took longer than its limit has failed: the member is escalated, not stopped.
            deadline = self.repo.git.deadline
            if deadline is not None and time.monotonic() > deadline:
                raise WorldError(
                    f"Could not save {self.workspace.path}", "it took longer than its limit",
                    ("Raise `salvage_timeout_s`",), code="salvage-failed",
                )  # fmt: skip
            ref = there[0] if there else self._claim(quarantine, commit, len(earlier) + 1)
        return Salvage(
            ref=ref,
            commit=commit,
            team=workspace.team,
            member=workspace.member,
            generation=self.generation,
            files=len(snapshot.leaves),
            bytes=sum(source.node.size for source in snapshot.sources.values()),
            left_out=tuple(snapshot.left_out),
            created=there is None,
            pack=pack,
            private=private,
            skipped=snapshot.skipped,
        )

    def _keep_private(self, snapshot: Snapshot) -> Archive | None:
        if not snapshot.private:
            return None
        kept = keep_private(self.workspace, self.generation, snapshot.private, self.archive_directory)
        snapshot.manifest[ARCHIVE] = name_in(self.archive_directory, kept)
        return kept

    def _claim(self, quarantine: Quarantine, commit: str, first: int) -> str:
        """The next free ref of this incarnation. One that another git has locked is not free."""
        at = self.workspace
        for n in count(first):
            ref = salvage_ref(at.team, at.member, self.generation, n)
            if quarantine.claim(ref, commit):
                return ref
        raise AssertionError("unreachable")

    def _list_earlier(self) -> list[tuple[str, str, list[str]]]:
        """The salvages of this incarnation: ref, commit, and its tree and parents."""
        mine = (self.workspace.team, self.workspace.member, self.generation)
        form = "--format=%(refname)%00%(objectname)%00%(tree) %(parent)"
        lines = self.repo.git.run("for-each-ref", form, SALVAGE, ok=range(256)).text.split("\n")
        rows = (line.split("\0") for line in lines if line)
        return [
            (ref, commit, rest.split())
            for ref, commit, rest in rows
            if (parse_salvage_ref(ref) or ())[:3] == mine
        ]

    def _write_commit(self, git: Git, tree: str, parents: list[str]) -> str:
        who = f"headcount <headcount@localhost> {int(datetime.fromisoformat(self.when).timestamp())} +0000"
        at = self.workspace
        title = f"headcount: salvage of {at.team}/{at.member}, generation {self.generation}"
        lines = [f"tree {tree}", *(f"parent {oid}" for oid in parents), f"author {who}", f"committer {who}"]
        text = f"{title}\n\n{self.message}".strip()
        content = "\n".join([*lines, "", text, ""]).encode("utf-8", "replace")
        return git.run(*FAST, "hash-object", "-t", "commit", "-w", "--stdin", stdin=content).text


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes all objects but the commit, by the main repository: the workspace's own may be gone."""

    repo: Repository
    quarantine: Quarantine
    workspace: Workspace
    snapshot: Snapshot

    def write(self, types: Mapping[str, str]) -> str:
        """The tree. `types` are those of the objects that the state names."""
        git = self.quarantine.git
        leaves = {**self.snapshot.leaves, MANIFEST: self._write_blobs(), **self._staged()}
        return self._add_named(write_tree(git, self._tree_index, leaves), types)

    @property
    def _tree_index(self) -> str:
        return self.quarantine.scratch("tree.index")

    def _write_blobs(self) -> Leaf:
        """Write what git does not have for sure, and the manifest, whose leaf is returned.

        git reads the files itself, and must come to the same names. A `git prune` that began before a loose
        object was made may delete it at any moment, so loose objects count only if the base has them.
        """
        leaves = self.snapshot.leaves
        known = self.snapshot.known
        loose = known & list_loose(self.repo)
        if loose and self.workspace.base:
            loose -= {leaf.oid for leaf in read_tree(self.repo.git, self.workspace.base).values()}
        safe = known - loose
        files = {leaf.oid: self._as_file(path) for path, leaf in leaves.items() if leaf.oid not in safe}
        manifest = os.fsencode(self.quarantine.scratch("manifest"))
        with open(manifest, "wb") as file:
            file.write(_encode(self.snapshot.manifest))
        *written, last = write_blobs(self.quarantine.alone, [*files.values(), manifest])
        if written != list(files):
            raise _changed_meanwhile()
        return Leaf("100644", last)

    def _as_file(self, path: bytes) -> bytes:
        """Where git can read its bytes: for a link, or a file with a long path, that is a copy."""
        source, node = self.snapshot.sources[path], self.snapshot.sources[path].node
        if not node.is_link and not is_long(source.root, node.path):
            return source.root + b"/" + node.path
        copy = os.fsencode(self.quarantine.scratch(f"copy-{self.snapshot.leaves[path].oid}"))
        if not os.path.lexists(copy):
            copy_node(source.root, node, copy)
        return copy

    def _staged(self) -> dict[bytes, Leaf]:
        """What is staged, by conflict stage.

        git reads a copy of the index in a git directory of its own. So neither a lock nor a damaged HEAD of
        the workspace is in the way. A broken index names nothing; its bytes are in gitdir/index all the same.
        """
        store, git_dir = self.quarantine.git, self.workspace.git_dir or ""
        if not os.path.isfile(os.path.join(git_dir, "index")):
            return {}
        copy = self.quarantine.scratch("index")
        os.mkdir(copy)
        for name in os.listdir(git_dir):
            if name == "index" or name.startswith("sharedindex."):
                shutil.copyfile(os.path.join(git_dir, name), os.path.join(copy, name))
        for name, text in (("HEAD", "ref: refs/heads/none"), ("commondir", self.repo.common_dir)):
            with open(os.path.join(copy, name), "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text + "\n")
        listed = store.on(copy, None).run("ls-files", "--stage", "-z", ok=(0, 128))
        leaves = {}
        for record in listed.records() if listed.code == 0 else []:
            meta, _, path = record.partition(b"\t")
            mode, oid, stage = meta.decode().split(" ")
            leaves[b"index/" + stage.encode() + b"/" + path] = Leaf(mode, oid)
        # Most are blobs of files as well, which are there: git had them, or they were just written.
        there = {leaf.oid for leaf in self.snapshot.leaves.values()}
        there |= read_types(store, {leaf.oid for leaf in leaves.values()} - there).keys()
        return {path: leaf for path, leaf in leaves.items() if leaf.mode == "160000" or leaf.oid in there}

    def _add_named(self, tree: str, types: Mapping[str, str]) -> str:
        """Trees and blobs that the state names, as AUTO_MERGE does, next to the rest."""
        git = self.quarantine.git
        blobs = {
            b"objects/" + oid.encode(): Leaf("100644", oid) for oid, kind in types.items() if kind == "blob"
        }
        trees = sorted(oid for oid, kind in types.items() if kind == "tree")
        for oid in trees:
            git.with_index(self._tree_index).run("read-tree", f"--prefix=objects/{oid}/", oid)
        return write_tree(git, self._tree_index, blobs) if blobs or trees else tree


def _read_back(repo: Repository, tree: str, snapshot: Snapshot) -> None:
    """The tree holds exactly what was read from disk, and each blob the bytes that its name says."""
    git = repo.git
    leaves = read_tree(git, tree)
    saved = {path: leaf for path, leaf in leaves.items() if path.startswith((FILES, STATE))}
    read = snapshot.leaves
    odd = sorted(path for path in saved.keys() | read.keys() if saved.get(path) != read.get(path))
    odd += [oid.encode() for oid in find_broken(git, repo.hash_name, leaves.values())]
    if odd:
        raise GitError(
            "The salvage is not what was read",
            f"{shown(os.fsdecode(odd[0]))} differs",
            ("The workspace was left as it is", "Check the repository with `git fsck`"),
            code="salvage-differs",
        )


def _encode(manifest: dict[str, object]) -> bytes:
    # ASCII, so that a name that is no UTF-8 survives as an escaped surrogate.
    return json.dumps(manifest, indent=1, sort_keys=True).encode("ascii") + b"\n"


def _changed_meanwhile() -> WorldError:
    return WorldError(
        "The workspace changed while it was saved",
        "git wrote other bytes than were read a moment before",
        ("Stop the program that writes there, and try again",),
        code="changed-while-reading",
    )


def _parents(git: Git, head: str | None, types: Mapping[str, str]) -> list[str]:
    """HEAD, then the tips of all other named commits that are not behind it."""
    first = [head] if head else []
    commits = [oid for oid, kind in types.items() if kind in ("commit", "tag")]
    if not commits:
        return first
    asked = "".join(f"{oid}^{{commit}}\n" for oid in commits).encode()
    args = ["rev-list", "--parents", "--stdin", *(["--not", *first] if first else [])]
    lines = [line.split(" ") for line in git.run(*args, stdin=asked).text.split("\n") if line]
    behind = {parent for _, *parents in lines for parent in parents}
    return first + [oid for oid, *_ in lines if oid not in behind]


# Of findings that are saved and not counted as dirty.
_QUIET = {
    "abandoned": "commits on no branch",
    "empty-directory": "empty directories",
    "filtered": "files that a filter changes",
    "git-directory": "its git directory",
    "ignored": "ignored files",
    "local-remote": "a remote on this machine",
    "permissions": "permissions of files",
    "private": "private files",
}


def _message(findings: Findings | None) -> str:
    if findings is None:
        return ""
    quiet: dict[str, list[str]] = {}
    for item in findings.items:
        if not item.dirty:
            quiet.setdefault(item.kind.value, []).append(item.what)
    lines = [
        f"also saved: {_QUIET.get(kind, kind)}: {', '.join(found[:3])}"
        + (f" and {len(found) - 3} more" if found[3:] else "")
        for kind, found in sorted(quiet.items())
    ]
    return "\n".join([*findings.issues(), *lines])
