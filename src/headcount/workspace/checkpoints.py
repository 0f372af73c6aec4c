"""Checkpoints: snapshots of a workspace while its member works, so that it can undo its own mistakes.

Each member has a store of its own: a small git directory outside the workspace and outside the repository's
objects. git never looks for it, so no `git gc` can delete from it, and no `git log --all` lists it.

    index             kept between snapshots, so that git reads only files that changed
    objects           what a checkpoint needs and the commit at which the workspace began does not have
    info/attributes   switches all conversions off: a checkpoint has the bytes that are on disk
    info/exclude      the repository's own, and the patterns of private files
    refs/…            a chain of commits: tree = the files, parents = the checkpoint before, and HEAD. It
                      begins with an empty commit.

The store reads the repository's objects, too. A ref in the repository keeps the commit at which the workspace
began; every other object is copied, because nothing keeps it if the member resets its branch.

A checkpoint contains tracked and untracked files. It does not contain ignored files, private files, empty
directories or what is in nested repositories; a salvage at the end does.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headcount.domain.findings import Workspace
from headcount.errors import UsageError
from headcount.workspace.files import exclusive, write_durably
from headcount.workspace.git import Git
from headcount.workspace.names import decode, encode, shown
from headcount.workspace.objects import read_types
from headcount.workspace.repository import Repository

CHECKPOINTS = "refs/headcount/checkpoints"
_RAW = "* -text -eol -filter -ident -working-tree-encoding\n"
_SETTINGS = (
    *("-c", "core.autocrlf=false"),
    *("-c", "core.fileMode=true"),
    *("-c", "core.symlinks=true"),
    *("-c", "diff.ignoreSubmodules=dirty"),  # otherwise git runs a git inside of each nested repository
    *("-c", "advice.addEmbeddedRepo=false"),
)
_MANY_LOOSE, _MANY_PACKS = 2_000, 8  # above, the store is packed into one file
_HOUR_S, _TEN_MINUTES_S, _DAY_S = 3_600, 600, 86_400


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`number` stays the same when older checkpoints are thinned out; the commit does not."""

    number: int
    commit: str
    tree: str
    at: float
    why: str
    head: str | None

    def as_dict(self) -> dict[str, object]:
        return {"id": self.number, "at": self.at, "why": self.why, "head": self.head}


def thin(points: Sequence[Checkpoint], now: float) -> list[Checkpoint]:
    """Keep all of the last hour, then the last one in each ten minutes, and after a day in each hour."""
    kept: dict[tuple[int, int], Checkpoint] = {}
    for point in points:
        age = now - point.at
        span = 0 if age <= _HOUR_S else _TEN_MINUTES_S if age <= _DAY_S else _HOUR_S
        kept[(span, int(point.at // span) if span else point.number)] = point
    return sorted(kept.values(), key=lambda point: point.number)


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one workspace. `directory` is the one for all members, in the state directory."""

    repo: Repository
    workspace: Workspace
    directory: str
    private: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        at = self.workspace
        return os.path.join(self.directory, encode(at.team), encode(at.member), str(at.generation))

    @property
    def ref(self) -> str:
        at = self.workspace
        return f"{CHECKPOINTS}/{encode(at.team)}/{encode(at.member)}/{at.generation}"

    # --- taking

    def take(self, why: str, *, when: float | None = None, max_mb: int = 0) -> Checkpoint | None:
        """Take one if anything changed since the last; None if nothing did. One at a time."""
        self._make_store()
        with exclusive(os.path.join(self.path, "lock")):
            points = self.points()
            self._update_index()
            tree = self._git.text("write-tree")
            head = self.repo.commit_of(self.workspace.git_dir) if self.workspace.git_dir else None
            last = points[-1] if points else None
            if last and (last.tree, last.head) == (tree, head):
                return None
            at = time.time() if when is None else when
            new = Checkpoint(last.number + 1 if last else 1, "", tree, at, why, head)
            new = replace(new, commit=self._write_commit(new, last.commit if last else None))
            self._copy_objects(new, last)
            self._point_to(new.commit, last.commit if last else None)
            self._tidy([*points, new], max_mb)
        return self.find(new.number)

    def _make_store(self) -> None:
        if os.path.exists(os.path.join(self.path, "HEAD")):
            return
        for name in ("objects/pack", "objects/info", "info", "refs"):
            os.makedirs(os.path.join(self.path, name), mode=0o700, exist_ok=True)
        config = f"[core]\n\tbare = false\n\trepositoryformatversion = {int(self.repo.hash_name != 'sha1')}\n"
        if self.repo.hash_name != "sha1":
            config += f"[extensions]\n\tobjectFormat = {self.repo.hash_name}\n"
        ignored = self.repo.git.run("config", "--path", "core.excludesFile", ok=(0, 1)).text
        if ignored:
            config += f'[core]\n\texcludesFile = "{ignored}"\n'.replace("\\", "\\\\")
        for name, text in (("config", config), ("info/attributes", _RAW), ("HEAD", f"ref: {self.ref}\n")):
            write_durably(os.path.join(self.path, name), text.encode("utf-8", "surrogateescape"))
        if self.workspace.base:
            self.repo.create_ref(self.ref, self.workspace.base, "headcount: checkpoints begin here")

    def _update_index(self) -> None:
        """Bring the store's index to what is on disk now. The workspace's own is only read."""
        self._write_exclude()
        self._git.run("add", "--all", "--ignore-errors", "--", ".", ok=(0, 1))
        index = os.path.join(self.workspace.git_dir or "", "index")
        if os.path.isfile(index):
            # The member tracks these although they are ignored: `add` leaves them out.
            theirs = self.repo.git.on(self.workspace.git_dir or "", self.workspace.path)
            listed = theirs.run("ls-files", "-z", "--cached", "--ignored", "--exclude-standard", ok=(0, 128))
            if listed.code == 0 and listed.out:
                self._git.run("update-index", "--add", "--remove", "-z", "--stdin", stdin=listed.out)
        if self.private:
            exclude = os.path.join(self.path, "info", "private")
            named = self._git.run("ls-files", "-z", "--cached", "--ignored", f"--exclude-from={exclude}").out
            if named:
                self._git.run("update-index", "--force-remove", "-z", "--stdin", stdin=named)

    def _write_exclude(self) -> None:
        """Written only if it changed: git reads every file again after that."""
        try:
            with open(os.path.join(self.repo.common_dir, "info", "exclude"), "rb") as file:
                theirs = file.read()
        except FileNotFoundError:
            theirs = b""
        private = "".join(f"{pattern}\n" for pattern in self.private).encode("utf-8", "surrogateescape")
        for name, content in (("private", private), ("exclude", theirs + b"\n" + private)):
            path = os.path.join(self.path, "info", name)
            if not os.path.exists(path) or _read(path) != content:
                write_durably(path, content)

    def _write_commit(self, point: Checkpoint, before: str | None) -> str:
        if before is None:
            empty = self._git.run("hash-object", "-t", "tree", "-w", "--stdin", stdin=b"").text
            before = self._write_object(empty, [], 0, "checkpoints begin here\n")
        text = f"checkpoint {point.number}\n\n{point.why}\n{point.at}\n{point.head or '-'}\n"
        parents = [before, point.head] if point.head else [before]
        return self._write_object(point.tree, parents, int(point.at), text)

    def _write_object(self, tree: str, parents: Sequence[str], at: int, text: str) -> str:
        who = f"headcount <headcount@localhost> {at} +0000"
        lines = [f"tree {tree}", *(f"parent {oid}" for oid in parents), f"author {who}", f"committer {who}"]
        content = "\n".join([*lines, "", text]).encode()
        return self._git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=content).text

    def _copy_objects(self, point: Checkpoint, last: Checkpoint | None) -> None:
        """Copy what only the repository has: the member's own `git add` and `git commit` wrote it there."""
        needed = self._list_needed(point.commit, last.commit if last else None)
        missing = needed - read_types(self._alone, needed).keys()
        if missing:
            self._pack(missing)

    def _list_needed(self, commit: str, *known: str | None) -> set[str]:
        begins = [oid for oid in (*known, self.workspace.base) if oid]
        walk = ("rev-list", "--objects", "--no-object-names", commit)
        return set(self._git.text(*walk, *(["--not", *begins] if begins else [])).split())

    def _pack(self, oids: Iterable[str]) -> str:
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        prefix = os.path.join(self.path, "objects", "pack", "pack")
        return self._git.run("pack-objects", "--quiet", "--delta-base-offset", prefix, stdin=asked).text

    def _point_to(self, commit: str, before: str | None) -> None:
        self._git.run("update-ref", "--no-deref", self.ref, commit, before or self.repo.zero)

    # --- making it smaller

    def _tidy(self, points: list[Checkpoint], max_mb: int) -> None:
        kept = thin(points, points[-1].at)
        objects = os.path.join(self.path, "objects")
        loose = sum(len(os.listdir(os.path.join(objects, n))) for n in os.listdir(objects) if len(n) == 2)
        packs = [name for name in os.listdir(os.path.join(objects, "pack")) if name.endswith(".pack")]
        if len(kept) < len(points) or loose > _MANY_LOOSE or len(packs) > _MANY_PACKS:
            self._rewrite(kept, points[-1].commit)
        while max_mb and len(kept) > 1 and self.size() > max_mb << 20:
            kept = kept[(len(kept) + 3) // 4 :] or kept[-1:]
            self._rewrite(kept, self.points()[-1].commit)

    def _rewrite(self, kept: Sequence[Checkpoint], before: str) -> None:
        """The same checkpoints as a new chain in one pack; then everything else in the store goes."""
        commit: str | None = None
        for point in kept:
            commit = self._write_commit(point, commit)
        assert commit is not None
        name = f"pack-{self._pack(self._list_needed(commit))}"
        self._git.run("verify-pack", os.path.join(self.path, "objects", "pack", f"{name}.idx"))
        self._point_to(commit, before)
        objects = os.path.join(self.path, "objects")
        for entry in os.listdir(objects):
            if len(entry) == 2:
                shutil.rmtree(os.path.join(objects, entry))
        for entry in os.listdir(os.path.join(objects, "pack")):
            if not entry.startswith(f"{name}."):
                os.unlink(os.path.join(objects, "pack", entry))

    def size(self) -> int:
        """Bytes on disk."""
        found = (os.path.join(top, name) for top, _, names in os.walk(self.path) for name in names)
        return sum(os.lstat(path).st_size for path in found)

    def remove(self) -> None:
        """All of them, and the ref that kept their beginning."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.repo.git.run("update-ref", "--no-deref", "-d", self.ref, ok=(0, 1))

    # --- reading

    def points(self) -> list[Checkpoint]:
        """Oldest first; none where none was taken."""
        if not os.path.exists(os.path.join(self.path, self.ref)):
            return []
        log = self._git.run("log", "-z", "--first-parent", "--reverse", "--format=%H %T%n%B", self.ref)
        _, *points = log.out.split(b"\0")
        return [_parse(record.decode()) for record in points if record]

    def find(self, number: int) -> Checkpoint:
        points = self.points()
        return self._one_of([point for point in points if point.number == number], points, str(number))

    def find_at(self, moment: float) -> Checkpoint:
        """The last one that was taken before or at this moment."""
        points = self.points()
        return self._one_of([point for point in points if point.at <= moment], points, "of that time")

    def _one_of(self, found: list[Checkpoint], points: list[Checkpoint], asked: str) -> Checkpoint:
        if found:
            return found[-1]
        raise UsageError(
            f"{self.workspace.member} has no checkpoint {asked}",
            f"it has {points[0].number} to {points[-1].number}" if points else "it has none",
            ("List them with `headcount checkpoints`",),
            code="no-checkpoint",
        )

    def diff(self, point: Checkpoint, *options: str) -> str:
        """What changed since the checkpoint before it, or since the beginning."""
        first = point.number == self.points()[0].number
        since = self.workspace.base if first and self.workspace.base else f"{point.commit}^"
        settings = ("--no-ext-diff", "--no-textconv", "--no-color", "--text")
        return self._git.run("diff", *settings, *options, since, point.commit).out.decode("utf-8", "replace")

    def restore(self, point: Checkpoint, target: str, paths: Sequence[str] = ()) -> int:
        """Write its files below `target`, over those that are there. Return how many there were."""
        index = os.path.join(self.path, f"restore-{os.getpid()}.index")
        git = self._git.with_index(index)
        try:
            git.run("read-tree", point.tree)
            wanted = git.run("ls-files", "-z", "--", *paths).out
            if not wanted:
                raise UsageError(
                    f"Checkpoint {point.number} has no {shown(' '.join(paths) or 'files')}",
                    "nothing in it has this path",
                    (f"See its files with `headcount checkpoints show {point.number}`",),
                    code="no-checkpoint",
                )
            os.makedirs(target, exist_ok=True)
            git.run("checkout-index", "--force", "-z", "--stdin", f"--prefix={target}/", stdin=wanted)
        finally:
            if os.path.exists(index):
                os.unlink(index)
        return wanted.count(b"\0")

    # --- git on the store

    @property
    def _alone(self) -> Git:
        """git that sees the store's own objects only."""
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        git = self.repo.git.on(self.path, self.workspace.path).with_index(os.path.join(self.path, "index"))
        return replace(git.with_env(**quiet), settings=_SETTINGS, runs_no_program=True)

    @property
    def _git(self) -> Git:
        """git that reads the repository's objects, too."""
        quoted = self.repo.objects.replace("\\", "\\\\").replace('"', '\\"')
        return self._alone.with_env(GIT_ALTERNATE_OBJECT_DIRECTORIES=f'"{quoted}"')


def _parse(record: str) -> Checkpoint:
    first, title, _, why, at, head, *_ = record.split("\n")
    commit, tree = first.split(" ")
    return Checkpoint(int(title.split(" ")[1]), commit, tree, float(at), why, None if head == "-" else head)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def list_stores(directory: str) -> list[tuple[str, str, int]]:
    """Team, member and generation of every store."""
    names = os.listdir(directory) if os.path.isdir(directory) else []
    return [
        (decode(team), decode(member), int(generation))
        for team in sorted(names)
        for member in sorted(os.listdir(os.path.join(directory, team)))
        for generation in sorted(os.listdir(os.path.join(directory, team, member)), key=int)
    ]
