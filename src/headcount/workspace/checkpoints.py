"""Checkpoints: snapshots of a workspace while its member works, so that its own mistakes can be undone.

Each workspace has a store of its own: a small git directory in the state directory (`checkpoints/TEAM/MEMBER/
GENERATION`), outside the workspace and outside the repository's objects. git never finds it, so no `git gc`
can delete from it, and no `git log --all` lists it.

    workspace.json    the workspace that it belongs to, and the number of its first checkpoint
    index             what the last checkpoint had, with file times, so that git reads only changed files
    objects           what a checkpoint needs and the commit at which the workspace began does not have
    info/attributes   switches all conversions off: a checkpoint has the bytes that are on disk
    info/exclude      the user's patterns, and the repository's
    info/private      the patterns of private files, to see when they change
    failed            why the last attempt failed; missing after a success
    refs/…            a chain of commits: tree = the files, parents = the checkpoint before, and HEAD. It
                      begins with an empty commit.

A member can write to all of this. So headcount checks each file before it uses it, and writes it again if it
is not as expected. A store whose chain cannot be read is renamed (`GENERATION.broken`), and a new one begins.

The store reads the repository's objects, too. A ref of the same name in the repository keeps the commit at
which the workspace began. The store copies every other object, because nothing keeps it in the repository
after the member resets its branch.

A checkpoint contains tracked and untracked files. It does not contain ignored files, private files, empty
directories, nested repositories or files that are too large; a salvage at the end does.

A crash leaves the last complete checkpoint. An attempt works on an index of its own name, and the ref and the
index are replaced by renaming a complete file. So a git process that outlives a killed engine harms nothing.
`headcount prune` may remove a store with `Checkpoints.remove` when its team is closed.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

from headcount.domain.findings import Workspace
from headcount.errors import GitError, HeadcountError, UsageError
from headcount.value_classes import dataclass
from headcount.workspace.contents import directories_of
from headcount.workspace.git import Git
from headcount.workspace.objects import read_types
from headcount.workspace.path_patterns import NOTHING, PathPatterns
from headcount.workspace.ref_names import checkpoint_ref, encode, shown
from headcount.workspace.repository import Repository, first_line
from headcount.workspace.safe_files import NotAFile, exclusive, read_file, write_durably

DIRECTORY = "checkpoints"  # in the state directory
_RAW = b"* -text -eol -filter -ident -working-tree-encoding\n"
_IGNORED = "~/.config/git/ignore"  # where git looks if the settings name no other file
_SETTINGS = (
    *("-c", "core.autocrlf=false"),
    *("-c", "core.fileMode=true"),
    *("-c", "core.symlinks=true"),
    *("-c", f"core.excludesFile={os.devnull}"),  # its patterns are in info/exclude
)
# Above one of these the store is written again as one pack. The first is for points that thinning takes out.
_MANY_OVER, _MANY_LOOSE, _MANY_PACKS = 12, 2_000, 8
_REFRESH_EACH = 10  # checkpoints
_HOUR_S, _TEN_MINUTES_S, _DAY_S = 3_600, 600, 86_400
_LARGEST_PART = 8  # a file above this part of the limit is left out
_MOST_NAMED = 20  # files that were left out, by name
_PATIENCE_S = 3_600.0  # a person waits for it, and can interrupt it
_LARGEST_FILE = 64 << 20  # bytes of a small file of git or of the store; ignore files are smaller
_GITLINK = b"160000 "


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`number` stays the same when older checkpoints are thinned out; the commit does not."""

    number: int
    commit: str
    tree: str
    at: float
    why: str
    head: str | None
    files: int = 0  # that changed since the one before
    left_out: tuple[str, ...] = ()

    def message(self) -> str:
        fields = {
            "at": self.at, "why": self.why, "head": self.head, "files": self.files,
            "left_out": list(self.left_out),
        }  # fmt: skip
        return f"checkpoint {self.number}\n\n{json.dumps(fields)}\n"


def thin(points: Sequence[Checkpoint], now: float) -> list[Checkpoint]:
    """Keep all of the last hour, then the last one in each ten minutes, and after a day in each hour."""
    kept: dict[tuple[int, int], Checkpoint] = {}
    for point in points:
        age = now - point.at
        span = 0 if age <= _HOUR_S else _TEN_MINUTES_S if age <= _DAY_S else _HOUR_S
        kept[(span, int(point.at // span) if span else point.number)] = point
    return sorted(kept.values(), key=lambda point: point.number)


Stamp = tuple[int, int, int] | None


@dataclass(slots=True)
class Memory:
    """What the last attempt of this process learned, so that the next one need not ask git again.

    Each answer is kept with the state of the files that it was read from, and is used only while they are in
    that state. A commit names its whole chain, so `points` belong to `commit` for ever.
    """

    commit: str = ""
    points: list[Checkpoint] = field(default_factory=list)
    index: Stamp = None  # after which the index of the store has the tree of the last checkpoint
    theirs: Stamp = None
    forced: set[bytes] = field(default_factory=set)
    head_files: tuple[str, str] | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one workspace. `directory` is the one for all teams, in the state directory."""

    repo: Repository
    workspace: Workspace
    directory: str
    private: PathPatterns = NOTHING
    memory: Memory = field(default_factory=Memory, compare=False, repr=False)

    @property
    def path(self) -> str:
        at = self.workspace
        return os.path.join(self.directory, encode(at.team), encode(at.member), str(at.generation))

    @property
    def ref(self) -> str:
        at = self.workspace
        return checkpoint_ref(at.team, at.member, at.generation)

    # --- taking

    def take(
        self, why: str, *, when: float | None = None, max_mb: int = 0, limit_s: float | None = None
    ) -> Checkpoint | None:
        """Take one if anything changed since the last; None if nothing did.

        One at a time: BlockingIOError if another one is still being taken at the end of `limit_s`.
        """
        self._make_store()
        with exclusive(os.path.join(self.path, "lock"), limit_s=limit_s):
            self._remove_left()
            self._check_chain()
            attempt = os.path.join(self.path, f"index.{os.getpid()}.{time.monotonic_ns()}")
            with suppress(FileNotFoundError):
                # Not a copy: git compares the times of files with that of the index.
                os.link(self._index, attempt)
            try:
                return self._take(attempt, why, time.time() if when is None else when, max_mb)
            except GitError as error:
                if error.code == "git-failed":  # perhaps because of the index: make a new one
                    _unlink(self._index)
                raise
            finally:
                _unlink(attempt)

    def _take(self, index: str, why: str, at: float, max_mb: int) -> Checkpoint | None:
        points = self.points()
        git = self.git.with_index(index)
        is_same = self._seed(git) and _stamp(index) == self.memory.index is not None
        touched, left_out = self._update(git, max_mb, points)
        last = points[-1] if points else None
        tree = last.tree if last and is_same and not touched else git.text("write-tree")
        head = self._read_head()
        if not self.is_there():
            return None  # it was being removed, so this may be a part of it only
        new = None
        if (last.tree, last.head) != (tree, head) if last else not self._is_base(tree, head):
            since = last.commit if last else self.workspace.base
            number = last.number + 1 if last else self._first_number()
            new = Checkpoint(number, "", tree, at, why, head, self._count(since, tree), left_out)
            new = replace(new, commit=self._write_commit(new, last.commit if last else None))
            self._copy_objects(new, last)
            self._point_to(new.commit)
            self.memory.commit, self.memory.points = new.commit, [*points, new]
        os.replace(index, self._index)
        self.memory.index = _stamp(self._index)
        if new is not None and self._tidy([*points, new]):
            return self.find(new.number)  # it has another commit
        return new

    def _seed(self, git: Git) -> bool:
        """Fill a new index with the files as the workspace began; whether it was there already.

        git reads all files once, and only those that differ then count as changed. Submodules stay out.
        """
        assert git.index is not None
        if os.path.exists(git.index):
            return True
        if base := self.workspace.base:
            git.run("read-tree", base)
            staged = git.run("ls-files", "-z", "--stage").records()
            links = [line.partition(b"\t")[2] for line in staged if line.startswith(_GITLINK)]
            if links:
                git.run("update-index", "--force-remove", "-z", "--stdin", stdin=_joined(links))
            git.run("update-index", "-q", "--refresh", ok=(0, 1))
        return False

    def _read_head(self) -> str | None:
        """The commit that the workspace stands on."""
        git_dir, known = self.workspace.git_dir, self.memory
        if not git_dir:
            return None
        link = first_line(os.path.join(git_dir, "HEAD")) or ""
        ref = link.removeprefix("ref: ")
        value = link if ref == link else first_line(os.path.join(self.repo.common_dir, ref)) or ""
        if not value or (link, value) != known.head_files:
            known.head = self.repo.commit_of(git_dir)
            known.head_files = link, value
        return known.head

    def _is_base(self, tree: str, head: str | None) -> bool:
        """Whether the workspace is as it was when it began."""
        base = self.workspace.base
        return base is not None and base == head and tree == self.repo.tree(base)

    def is_there(self) -> bool:
        """Whether nobody removes the workspace: `remove` renames this file before anything else."""
        git_dir = self.workspace.git_dir
        return os.path.isdir(self.workspace.path) and (
            git_dir is None or os.path.isfile(os.path.join(git_dir, "gitdir"))
        )

    @property
    def _index(self) -> str:
        return os.path.join(self.path, "index")

    def _make_store(self) -> None:
        """Make the store, or write again which of its files are not as expected: a member may have changed
        those that tell git what to run."""
        for name in ("objects/pack", "objects/info", "info", "refs"):
            os.makedirs(os.path.join(self.path, name), mode=0o700, exist_ok=True)
        if not self._is_described():
            ignored = self.repo.git.run("config", "--path", "core.excludesFile", ok=(0, 1)).text
            earlier = [*self.memory.points, *self._earlier()]
            first = 1 + max((point.number for point in earlier), default=0)
            about = {"workspace": self.workspace.as_dict(), "first": first, "excludes": ignored or _IGNORED}
            self._write_if_changed("workspace.json", json.dumps(about).encode())
            if self.workspace.base:
                self.repo.create_ref(self.ref, self.workspace.base, "headcount: checkpoints begin here")
        config = f"[core]\n\tbare = false\n\trepositoryformatversion = {int(self.repo.hash_name != 'sha1')}\n"
        if self.repo.hash_name != "sha1":
            config += f"[extensions]\n\tobjectFormat = {self.repo.hash_name}\n"
        self._write_if_changed("config", config.encode())
        self._write_if_changed("info/attributes", _RAW)
        self._write_if_changed("HEAD", f"ref: {self.ref}\n".encode())

    def _is_described(self) -> bool:
        try:
            about = _read_about(self.path)
            types = type(about["first"]), type(about["excludes"])
            return about["workspace"] == self.workspace.as_dict() and types == (int, str)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def _write_if_changed(self, name: str, content: bytes) -> bool:
        path = os.path.join(self.path, name)
        if _read(path) == content:
            return False
        write_durably(path, content)
        return True

    def _check_chain(self) -> None:
        """Begin a new store if the chain of this one cannot be read, and keep the old one beside it."""
        try:
            self.points()
        except GitError as error:
            if error.code != "git-failed":
                raise
            aside = f"{self.path}.broken"
            shutil.rmtree(aside, ignore_errors=True)
            os.mkdir(aside, 0o700)
            for name in ("objects", "refs"):
                os.rename(os.path.join(self.path, name), os.path.join(aside, name))
            for name in ("index", "workspace.json"):
                _unlink(os.path.join(self.path, name))
            self._make_store()

    def _earlier(self) -> list[Checkpoint]:
        """Those of other generations: numbers count on, so that one names a checkpoint of a member."""
        others = [int(name) for name in _names(os.path.dirname(self.path)) if name.isdigit()]
        found: list[Checkpoint] = []
        for generation in others:
            with suppress(HeadcountError):  # one that is broken must not keep this one from being made
                at = replace(self.workspace, generation=generation)
                found += replace(self, workspace=at, memory=Memory()).points()
        return found

    def _first_number(self) -> int:
        return int(_read_about(self.path)["first"])

    def _remove_left(self) -> None:
        """Remove what a killed process left: an index under another name, and git's locks."""
        for name in os.listdir(self.path):
            if name.startswith("index."):
                _unlink(os.path.join(self.path, name))

    # --- the index

    def _update(self, git: Git, max_mb: int, points: list[Checkpoint]) -> tuple[bool, tuple[str, ...]]:
        """Bring an index to what is on disk now. The workspace's own is only read.

        Return whether the index was written, and what was left out. Old `points` are deleted if there is no
        room, here and in the store.
        """
        rules_changed = self._write_rules()
        listed = git.run("ls-files", "-z", "-t", "-o", "-m", "-d", "--exclude-standard").records()
        known = {line[2:] for line in listed if line[:1] != b"?"}  # those that the index has
        changed = {line[2:] for line in listed if not line.endswith(b"/")}  # a nested repository is listed so
        rules_changed |= any(path.rpartition(b"/")[2] == b".gitignore" for path in changed)
        forced = self._tracked_though_ignored(again=rules_changed)
        if forced:
            changed |= forced - set(git.run("ls-files", "-z").records())
        unwanted = self._find_private(changed)
        if rules_changed:
            ignored = set(git.run("ls-files", "-z", "-c", "-i", "--exclude-standard").records()) - forced
            unwanted |= ignored | self._find_private(git.run("ls-files", "-z").records())
            known |= unwanted
        found = self._read_sizes(changed - unwanted)
        sizes = {path: size for path, size in found.items() if size is not None}
        unfit = {path for path in sizes if b".git" in path.lower().split(b"/")}  # git holds no such name
        for path in unfit:
            del sizes[path]
        large = self._too_much(sizes, max_mb, points) if max_mb and sizes else set()
        new = sizes.keys() - large
        if new:
            # Now and then git also records the new times of files that were only touched, so that it does not
            # read them again and again. It then reports with 1 that others changed.
            refresh = ("-q", "--refresh") if len(points) % _REFRESH_EACH == 0 else ()
            how = ("--add", "--remove", "--replace", "-z", "--stdin")
            git.run("update-index", *refresh, *how, stdin=_joined(new), ok=(0, 1) if refresh else (0,))
        if gone := known & (unwanted | (found.keys() - new)):
            git.run("update-index", "--force-remove", "-z", "--stdin", stdin=_joined(gone))
        left_out = tuple(shown(os.fsdecode(path)) for path in sorted(large | unfit)[:_MOST_NAMED])
        return bool(new or gone), left_out

    def _read_sizes(self, paths: Iterable[bytes]) -> dict[bytes, int | None]:
        """None for what is not a file or link that can be read, or is not below a directory any more.

        git refuses a path behind a link, and so the whole list that it is in.
        """
        top = os.fsencode(self.workspace.path)
        parents = {above for path in paths for above in directories_of(path)}
        links = {above for above in parents if os.path.islink(os.path.join(top, above))}
        return {
            path: None if not links.isdisjoint(directories_of(path)) else _size(os.path.join(top, path))
            for path in paths
        }

    def _find_private(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those that match a pattern and that the member does not track: what git tracks is in git anyway."""
        found = {path for path in paths if self.private.match(path)}
        if not found or not self._has_index():
            return found
        return found - set(self._theirs.run("ls-files", "-z", ok=(0, 128)).records())

    def list_directories(self) -> Iterator[bytes]:
        """The directories in which a change may concern a checkpoint: those that git does not ignore."""
        how = ("-z", "-o", "-i", "--exclude-standard", "--directory")
        skipped = {path.rstrip(b"/") for path in self.git.run("ls-files", *how).records()}
        git_dir = os.fsencode(self.workspace.git_dir or "")
        if git_dir:
            yield git_dir  # a commit without a change of files writes here
        top = os.fsencode(self.workspace.path)
        for directory, names, _ in os.walk(top):
            yield directory
            inside = os.path.relpath(directory, top)
            names[:] = [n for n in names if os.path.normpath(os.path.join(inside, n)) not in skipped]

    def _tracked_though_ignored(self, *, again: bool) -> set[bytes]:
        """Files that the member added by force: a list of untracked files does not have them.

        git is asked `again` if patterns changed, and otherwise only if the member's index did.
        """
        if not self._has_index():
            return set()
        stamp = _stamp(os.path.join(self.workspace.git_dir or "", "index"))
        if again or stamp != self.memory.theirs or stamp is None:
            listed = self._theirs.run("ls-files", "-z", "-c", "-i", "--exclude-standard", ok=(0, 128))
            self.memory.forced = set(listed.records()) if listed.code == 0 else set()
            self.memory.theirs = stamp if listed.code == 0 else None
        return self.memory.forced

    def _has_index(self) -> bool:
        return os.path.isfile(os.path.join(self.workspace.git_dir or "", "index"))

    @property
    def _theirs(self) -> Git:
        """git as the member has it, to read its index."""
        return self.repo.git.on(self.workspace.git_dir or "", self.workspace.path)

    def _too_much(self, sizes: dict[bytes, int], max_mb: int, points: list[Checkpoint]) -> set[bytes]:
        """Files for which there is no room, the largest first. Old checkpoints are deleted before that."""
        limit = max_mb << 20
        large = {path for path, size in sizes.items() if size > limit // _LARGEST_PART}
        needed = sum(size for path, size in sizes.items() if path not in large)
        while self.size() + needed > limit and len(points) > 1:
            self._rewrite(points[(len(points) + 3) // 4 :])
            points[:] = self.points()
        room = limit - self.size()
        for path in sorted(sizes.keys() - large, key=lambda path: -sizes[path]):
            if needed <= room:
                break
            needed -= sizes[path]
            large.add(path)
        return large

    def _write_rules(self) -> bool:
        """Write the patterns of files that are left out, if they changed; whether they did."""
        everywhere = _read(os.path.expanduser(str(_read_about(self.path)["excludes"]))) or b""
        here = _read(os.path.join(self.repo.common_dir, "info", "exclude")) or b""
        private = "".join(f"{pattern}\n" for pattern in self.private.patterns)
        changed = self._write_if_changed("info/exclude", everywhere + b"\n" + here)
        return self._write_if_changed("info/private", os.fsencode(private)) or changed

    # --- objects

    def _count(self, since: str | None, tree: str) -> int:
        """How many files differ."""
        if since is None:
            return len(self.git.run("ls-tree", "-r", "-z", "--name-only", tree).records())
        return len(
            self.git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", since, tree).records()
        )

    def _write_commit(self, point: Checkpoint, before: str | None) -> str:
        if before is None:
            empty = self.git.run("hash-object", "-t", "tree", "-w", "--stdin", stdin=b"").text
            before = self._write_object(empty, [], 0, "checkpoints begin here\n")
        parents = [before, point.head] if point.head else [before]
        return self._write_object(point.tree, parents, int(point.at), point.message())

    def _write_object(self, tree: str, parents: Sequence[str], at: int, text: str) -> str:
        who = f"headcount <headcount@localhost> {at} +0000"
        lines = [f"tree {tree}", *(f"parent {oid}" for oid in parents), f"author {who}", f"committer {who}"]
        content = "\n".join([*lines, "", text]).encode()
        return self.git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=content).text

    def _copy_objects(self, point: Checkpoint, last: Checkpoint | None) -> None:
        """Copy what only the repository has: the member's own `git add` and `git commit` wrote it there."""
        needed = self._list_needed(point.commit, last.commit if last else None)
        missing = needed - read_types(self._alone, needed).keys()
        if missing:
            self._pack(missing)

    def _list_needed(self, commit: str, *known: str | None) -> set[str]:
        begins = [oid for oid in (*known, self.workspace.base) if oid]
        walk = ("rev-list", "--objects", "--no-object-names", commit)
        return set(self.git.text(*walk, *(["--not", *begins] if begins else [])).split())

    def _pack(self, oids: Iterable[str]) -> str:
        listed = "".join(f"{oid}\n" for oid in oids).encode()
        prefix = os.path.join(self.path, "objects", "pack", "pack")
        return self.git.run("pack-objects", "--quiet", "--delta-base-offset", prefix, stdin=listed).text

    def _point_to(self, commit: str) -> None:
        """By hand: `git update-ref` would leave a lock when it is killed."""
        path = os.path.join(self.path, self.ref)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_durably(path, f"{commit}\n".encode())

    # --- making it smaller

    def _tidy(self, points: list[Checkpoint]) -> bool:
        """Whether the store was written again."""
        kept = thin(points, points[-1].at)
        objects = self.objects
        loose = sum(len(os.listdir(os.path.join(objects, n))) for n in os.listdir(objects) if len(n) == 2)
        packs = [name for name in os.listdir(os.path.join(objects, "pack")) if name.endswith(".pack")]
        if len(points) - len(kept) > _MANY_OVER or loose > _MANY_LOOSE or len(packs) > _MANY_PACKS:
            self._rewrite(kept)
            return True
        return False

    def _rewrite(self, kept: Sequence[Checkpoint]) -> None:
        """Write the same checkpoints as a new chain in one pack; then delete everything else in the store."""
        commit: str | None = None
        for point in kept:
            commit = self._write_commit(point, commit)
        assert commit is not None
        try:
            name = f"pack-{self._pack(self._list_needed(commit))}"
        except GitError as error:
            whole = [point for point in kept if self._is_whole(point)]
            if error.code != "git-failed" or not whole or len(whole) == len(kept):
                raise
            self._rewrite(whole)
            return
        self.git.run("verify-pack", os.path.join(self.path, "objects", "pack", f"{name}.idx"))
        self._point_to(commit)
        objects = self.objects
        for entry in os.listdir(objects):
            if len(entry) == 2:
                shutil.rmtree(os.path.join(objects, entry))
        for entry in os.listdir(os.path.join(objects, "pack")):
            if not entry.startswith(f"{name}."):
                _unlink(os.path.join(objects, "pack", entry))

    def _is_whole(self, point: Checkpoint) -> bool:
        """Whether every object of it is there."""
        commits = [point.tree, *([point.head] if point.head else [])]
        base = ["--not", self.workspace.base] if self.workspace.base else []
        walk = ("rev-list", "--objects", "--quiet", *commits, *base)
        return self.git.run(*walk, ok=range(256)).code == 0

    def size(self) -> int:
        """Bytes on disk."""
        return disk_size(self.path)

    def remove(self) -> None:
        """Remove all of them, and the ref that kept their beginning."""
        for place in (self.path, f"{self.path}.broken"):
            shutil.rmtree(place, ignore_errors=True)
        self.repo.git.run("update-ref", "--no-deref", "-d", self.ref, ok=(0, 1))

    # --- a failure, for the people who list them

    def note_failure(self, why: str) -> None:
        with suppress(OSError):
            if why:
                write_durably(os.path.join(self.path, "failed"), why.encode("utf-8", "surrogateescape"))
            elif os.path.exists(os.path.join(self.path, "failed")):
                _unlink(os.path.join(self.path, "failed"))

    @property
    def failure(self) -> str:
        return (_read(os.path.join(self.path, "failed")) or b"").decode("utf-8", "replace")

    # --- reading

    @property
    def commit(self) -> str:
        """The latest one; "" where none was taken."""
        return (_read(os.path.join(self.path, self.ref)) or b"").decode("ascii", "replace").strip()

    @property
    def objects(self) -> str:
        """The directory of the store's own objects."""
        return os.path.join(self.path, "objects")

    def points(self) -> list[Checkpoint]:
        """Oldest first; none where none was taken. A chain that cannot be read is a GitError."""
        for patient in (True, False):
            commit = self.commit
            if not commit or commit == self.memory.commit:
                return list(self.memory.points) if commit else []
            try:
                self.memory.points = self._read_points(commit)
                self.memory.commit = commit
                break
            except GitError as error:
                # Another process may have written the chain again and deleted the old one.
                if not patient or error.code != "git-failed":
                    raise
        return list(self.memory.points)

    def _read_points(self, commit: str) -> list[Checkpoint]:
        try:
            int(commit, 16)  # a member could have written an option of git
            log = self.git.run("log", "-z", "--first-parent", "--reverse", "--format=%H %T%n%B", commit)
            _, *points = log.out.split(b"\0")
            return [_parse(record.decode()) for record in points if record]
        except (ValueError, KeyError, TypeError) as error:
            raise GitError(
                f"Could not read the checkpoints of {self.workspace.member}",
                f"the chain in {self.path} is not one of headcount ({error})",
                code="git-failed",
            ) from error

    def find(self, number: int) -> Checkpoint:
        points = self.points()
        for point in points:
            if point.number == number:
                return point
        raise no_checkpoint(self.workspace.member, str(number), points)

    def diff(self, point: Checkpoint, *options: str) -> str:
        """What changed since the checkpoint before it, or since the beginning."""
        first = point.number == self.points()[0].number
        since = self.workspace.base if first and self.workspace.base else f"{point.commit}^"
        settings = ("--no-ext-diff", "--no-textconv", "--no-color")
        return self.git.run("diff", *settings, *options, since, point.commit).out.decode("utf-8", "replace")

    # --- git on the store

    @property
    def _alone(self) -> Git:
        """git that sees the store's own objects only."""
        # Named, because a file `commondir` in the store would lead git to another configuration.
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_COMMON_DIR": self.path}
        there = self.workspace.path if os.path.isdir(self.workspace.path) else None
        git = self.repo.git.on(self.path, there).with_index(self._index)
        return replace(git.with_env(**quiet), settings=_SETTINGS, runs_no_program=True)

    @property
    def git(self) -> Git:
        """git that reads the repository's objects, too."""
        quoted = self.repo.objects.replace("\\", "\\\\").replace('"', '\\"')
        return self._alone.with_env(GIT_ALTERNATE_OBJECT_DIRECTORIES=f'"{quoted}"')


def no_checkpoint(member: str, wanted: str, points: Sequence[Checkpoint]) -> UsageError:
    return UsageError(
        f"{member} has no checkpoint {wanted}",
        f"it has {points[0].number} to {points[-1].number}" if points else "it has none",
        ("List them with `headcount checkpoints`",),
        code="no-checkpoint",
    )


def list_stores(repo: Repository, directory: str, team: str | None = None) -> list[Checkpoints]:
    """The store of every workspace, oldest first for each member. For people: without a short time limit."""
    repo = repo.until(_PATIENCE_S)
    found = []
    for team_name in [encode(team)] if team is not None else _names(directory):
        for member in _names(os.path.join(directory, team_name)):
            above = os.path.join(directory, team_name, member)
            for generation in sorted((n for n in _names(above) if n.isdigit()), key=int):
                with suppress(OSError, ValueError, KeyError, TypeError):
                    place = os.path.join(above, generation)
                    store = Checkpoints(repo, Workspace.from_dict(_read_about(place)["workspace"]), directory)
                    if store.path == place:  # a member can write to the record
                        found.append(store)
    return found


def disk_size(path: str) -> int:
    """Bytes of the files below a directory, of any depth: `os.walk` fails at a thousand levels."""
    total, pending = 0, [path]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    with suppress(FileNotFoundError):
                        total += entry.stat(follow_symlinks=False).st_size
    return total


def _names(directory: str) -> list[str]:
    return sorted(os.listdir(directory)) if os.path.isdir(directory) else []


def _parse(record: str) -> Checkpoint:
    first, title, _, text, *_ = record.split("\n")
    commit, tree = first.split(" ")
    fields = json.loads(text)
    left_out = tuple(fields.pop("left_out"))
    return Checkpoint(int(title.split(" ")[1]), commit, tree, left_out=left_out, **fields)


def _read_about(path: str) -> dict[str, Any]:
    return json.loads(read_file(os.path.join(path, "workspace.json"), _LARGEST_FILE))  # type: ignore[no-any-return]


def _read(path: str) -> bytes | None:
    """None where no file is. A member may put a pipe there, and it is not waited for."""
    try:
        return read_file(path, _LARGEST_FILE)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, NotAFile):
        return None


def _stamp(path: str) -> Stamp:
    """The state of an index that git replaces as a whole. Another name for it changes nothing of this."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _size(path: bytes) -> int | None:
    """Of a file or link that can be read; None of everything else."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return found.st_size
    return found.st_size if stat.S_ISREG(found.st_mode) and os.access(path, os.R_OK) else None


def _joined(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)
