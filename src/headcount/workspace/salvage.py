"""Save everything that stands in a workspace to a ref, without touching the workspace.

The snapshot is a commit. Its tree:

    manifest.json   what stood where: HEAD, branches, stashes, modes, empty directories, what was left out
    files/          the workspace, every byte as on disk: tracked, untracked, ignored, nested repositories
    gitdir/         its private git directory: the index itself, operations in progress, HEAD's reflog
    index/0 … 3     what is staged, by conflict stage
    objects/        trees and blobs that the state names and no commit holds

and its parents are the commits: HEAD, its branches, stashes, autostashes, what a rebase has still to do.
As long as the ref is there, git keeps all of it. The ref is made last, after everything was read back; a
failure before that leaves some loose objects that nothing names, and never half a salvage.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from datetime import datetime

from headcount.domain.findings import Findings, Salvage, Workspace
from headcount.errors import GitError, WorldError
from headcount.workspace.findings import utc_now
from headcount.workspace.git import Git
from headcount.workspace.names import salvage_ref, shown
from headcount.workspace.objects import Leaf, read_tree, read_types, write_blob, write_blobs, write_tree
from headcount.workspace.picture import FILES, STATE, Limits, Picture, take_picture
from headcount.workspace.repository import Repository
from headcount.workspace.verify import MANIFEST, find_broken


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
) -> Salvage:
    """Save and read back. Repeating it on an unchanged workspace gives the salvage that is already there.

    `generation` is the incarnation it is saved for, if that is a later one than the workspace was made for.
    `findings` only go into the commit's message; what is saved is decided by looking.
    """
    store = repo.git.until(timeout_s)
    try:
        picture = take_picture(repo, workspace, Limits.mb(max_mb, ignored_max_mb), timeout_s)
        with tempfile.TemporaryDirectory(prefix="headcount-") as scratch:
            tree = _Writer(repo, store, workspace, picture, scratch).write()
    except OSError as error:
        raise WorldError(
            f"Could not save {workspace.path}",
            str(error),
            ("Nothing was changed there",),
            code="salvage-failed",
        ) from error
    saved = Salvage(
        ref="",
        commit="",
        team=workspace.team,
        member=workspace.member,
        generation=generation or workspace.generation,
        files=len(picture.leaves),
        bytes=sum(source.node.size for source in picture.sources.values()),
        left_out=tuple(picture.left_out),
    )
    return _refer(repo, saved, tree, _parents(store, picture), _message(findings), when or utc_now())


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes all objects but the commit, by the main repository: the workspace's own may be gone."""

    repo: Repository
    store: Git
    workspace: Workspace
    picture: Picture
    scratch: str

    def write(self) -> str:
        """The tree, read back."""
        self._write_blobs()
        manifest = Leaf("100644", write_blob(self.store, _encode(self.picture.manifest)))
        leaves = {**self.picture.leaves, **self._staged(), MANIFEST: manifest}
        tree = write_tree(self.store, self._tree_index, leaves)
        tree = self._add_named(tree)
        self._read_back(tree)
        return tree

    @property
    def _tree_index(self) -> str:
        return os.path.join(self.scratch, "tree.index")

    def _write_blobs(self) -> None:
        """What git does not have yet. Git reads the files by itself, and must come to the same names."""
        sources = self.picture.sources
        known = read_types(self.store, {leaf.oid for leaf in self.picture.leaves.values()})
        missing = {leaf.oid: path for path, leaf in self.picture.leaves.items() if leaf.oid not in known}
        wanted: dict[bytes, dict[str, bytes]] = {}
        for oid, path in missing.items():
            source = sources[path]
            root, name = self._link_as_file(path) if source.node.is_link else (source.root, source.node.path)
            wanted.setdefault(root, {})[oid] = name
        for root, files in wanted.items():
            if write_blobs(self.store, root, list(files.values())) != list(files):
                raise _changed_meanwhile()

    def _link_as_file(self, path: bytes) -> tuple[bytes, bytes]:
        """A link's target in a file: `hash-object` would follow the link."""
        source = self.picture.sources[path]
        scratch, name = os.fsencode(self.scratch), b"link-" + self.picture.leaves[path].oid.encode()
        with open(os.path.join(scratch, name), "wb") as file:
            file.write(os.readlink(os.path.join(source.root, source.node.path)))
        return scratch, name

    def _staged(self) -> dict[bytes, Leaf]:
        """What is staged, by conflict stage, from a copy of the index: a lock on it is not in the way.

        A broken index names nothing; its bytes are in gitdir/index all the same.
        """
        store, git_dir = self.store, self.workspace.git_dir or ""
        original = os.path.join(git_dir, "index")
        if not os.path.isfile(original):
            return {}
        copy = os.path.join(self.scratch, "index")
        shutil.copyfile(original, copy)
        listed = store.on(git_dir, None).with_index(copy).run("ls-files", "--stage", "-z", ok=(0, 128))
        leaves = {}
        for record in listed.records() if listed.code == 0 else []:
            meta, _, path = record.partition(b"\t")
            mode, oid, stage = meta.decode().split(" ")
            leaves[b"index/" + stage.encode() + b"/" + path] = Leaf(mode, oid)
        known = read_types(self.store, {leaf.oid for leaf in leaves.values()})
        return {path: leaf for path, leaf in leaves.items() if leaf.mode == "160000" or leaf.oid in known}

    def _add_named(self, tree: str) -> str:
        """Trees and blobs that the state names, as AUTO_MERGE does, next to the rest."""
        types = read_types(self.store, self.picture.named)
        blobs = {
            b"objects/" + oid.encode(): Leaf("100644", oid) for oid, kind in types.items() if kind == "blob"
        }
        trees = sorted(oid for oid, kind in types.items() if kind == "tree")
        for oid in trees:
            self.store.with_index(self._tree_index).run("read-tree", f"--prefix=objects/{oid}/", oid)
        return write_tree(self.store, self._tree_index, blobs) if blobs or trees else tree

    def _read_back(self, tree: str) -> None:
        """The tree holds exactly what was read from disk, and each blob the bytes that its name says."""
        leaves = read_tree(self.store, tree)
        saved = {path: leaf for path, leaf in leaves.items() if path.startswith((FILES, STATE))}
        read = self.picture.leaves
        odd = sorted(path for path in saved.keys() | read.keys() if saved.get(path) != read.get(path))
        odd += [oid.encode() for oid in find_broken(self.store, self.repo.hash_name, leaves.values())]
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
        ("Stop what writes there and ask again",),
        code="changed-while-reading",
    )


def _parents(git: Git, picture: Picture) -> list[str]:
    """HEAD, then the tips of all other named commits that are not behind it."""
    first = [picture.head] if picture.head else []
    commits = [oid for oid, kind in read_types(git, picture.named).items() if kind in ("commit", "tag")]
    if not commits:
        return first
    asked = "".join(f"{oid}^{{commit}}\n" for oid in commits).encode()
    args = ["rev-list", "--parents", "--stdin", *(["--not", *first] if first else [])]
    lines = [line.split(" ") for line in git.run(*args, stdin=asked).text.split("\n") if line]
    behind = {parent for _, *parents in lines for parent in parents}
    return first + [oid for oid, *_ in lines if oid not in behind]


def _message(findings: Findings | None) -> str:
    if findings is None:
        return ""
    kinds = sorted({item.kind.value for item in findings.items if not item.dirty})
    return "\n".join([*findings.issues(), *(f"also saved: {kind}" for kind in kinds)])


def _refer(
    repo: Repository, saved: Salvage, tree: str, parents: list[str], message: str, when: str
) -> Salvage:
    """Make the ref, the next free one of this incarnation, unless one of them holds the very same."""
    title = f"headcount: salvage of {saved.team}/{saved.member}, generation {saved.generation}"
    n = 1
    while True:
        ref = salvage_ref(saved.team, saved.member, saved.generation, n)
        commit = repo.commit(ref)
        if commit is None:
            commit = _write_commit(repo.git, tree, parents, f"{title}\n\n{message}".strip(), when)
            if repo.create_ref(ref, commit, title):
                return replace(saved, ref=ref, commit=commit)
        elif repo.git.text("log", "-1", "--format=%T %P", commit).split() == [tree, *parents]:
            return replace(saved, ref=ref, commit=commit, created=False)
        else:
            n += 1


def _write_commit(git: Git, tree: str, parents: list[str], message: str, when: str) -> str:
    who = f"headcount <headcount@localhost> {int(datetime.fromisoformat(when).timestamp())} +0000"
    lines = [f"tree {tree}", *(f"parent {oid}" for oid in parents), f"author {who}", f"committer {who}"]
    content = "\n".join([*lines, "", message, ""]).encode("utf-8", "replace")
    return git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=content).text
