"""The user's repository: its object database, its refs, and which worktrees hold what."""

from __future__ import annotations

import os
from dataclasses import field, replace
from typing import NamedTuple

from headcount.errors import GitError, HeadcountError, UsageError
from headcount.shared_look import SharedLook
from headcount.value_classes import dataclass
from headcount.workspace.git import Git, Reaper, read_version
from headcount.workspace.git_settings import Recorded
from headcount.workspace.safe_files import NotAFile, read_file

_REBASES = ("rebase-merge", "rebase-apply")
_LINE_BYTES = 1 << 16
WITHDRAWN = "headcount.gitdir"  # what `gitdir` is called in a worktree that is being removed


class Linked(NamedTuple):
    """A worktree, as git's files tell: `path` is empty while git is still making it, `real` is where that
    leads; `refs` are those that it stands on, or would return to after a rebase."""

    git_dir: str
    path: str
    real: str
    refs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, named by its common git directory, so that no search upwards can find another."""

    common_dir: str
    hash_name: str
    git: Git
    bare: bool = False
    # With many worktrees a look at all of them takes a while, and many are started at once.
    _linked: SharedLook[list[Linked]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_linked", SharedLook(self._look_at_linked))

    @classmethod
    def open(cls, path: str, executable: str = "git", reaper: Reaper | None = None) -> Repository:
        """The repository that `path` is in: main worktree, linked one or bare; with or without commits."""
        read_version(executable)
        git = Git(cwd=path, executable=executable)
        found = git.run("rev-parse", "--path-format=absolute", "--git-common-dir", ok=(0, 128))
        if found.code:
            raise _why_not(path, found.err.decode(errors="replace").strip())
        common_dir = os.path.realpath(found.text)
        git = Git(git_dir=common_dir, executable=executable, reaper=reaper)
        if git.run("config", "extensions.refStorage", ok=(0, 1)).text == "reftable":
            raise GitError(
                f"{common_dir} keeps its refs in a reftable",
                "headcount reads reflog files to find the owner of a stash or branch",
                ("Convert it with `git refs migrate --ref-format=files`",),
                code="git-reftable",
            )
        told = git.text("rev-parse", "--show-object-format", "--is-bare-repository").split("\n")
        # One that is told so by mistake, as agents do, is still checked out where the user stands.
        bare = told[1] == "true" and not os.path.exists(os.path.join(common_dir, "index"))
        return cls(common_dir, told[0], git, bare)

    @classmethod
    def find(cls, path: str, executable: str = "git", reaper: Reaper | None = None) -> Repository | None:
        """As `open`, and None where there is no repository at all."""
        try:
            return cls.open(path, executable, reaper)
        except UsageError as error:
            if error.code == "no-repository":
                return None
            raise

    def until(self, timeout_s: float) -> Repository:
        """The same, with one time limit over every git command that is run from now on."""
        return replace(self, git=self.git.until(timeout_s))

    def offline(self) -> Repository:
        """The same, without network (`Git.offline`)."""
        return replace(self, git=self.git.offline())

    @property
    def objects(self) -> str:
        """The directory of its own object store."""
        return os.path.join(self.common_dir, "objects")

    def as_recorded(self, recorded: Recorded | None) -> Repository:
        """The same, with the programs that were configured at another time."""
        return replace(self, git=replace(self.git, recorded=recorded))

    def record_config(self) -> Recorded:
        return self.git.record_config()

    @property
    def zero(self) -> str:
        return "0" * (40 if self.hash_name == "sha1" else 64)

    @property
    def work_tree(self) -> str | None:
        """The main worktree; None of a bare repository, or of one whose files are elsewhere."""
        top, name = os.path.split(self.common_dir)
        return None if self.bare or name != ".git" else top

    def version(self) -> tuple[int, ...]:
        return read_version(self.git.executable)

    def head_commit(self) -> str | None:
        """The commit that is checked out in the main worktree; None before the first commit."""
        return self.commit("HEAD")

    def commit(self, name: str) -> str | None:
        """The commit that `name` stands for, or None."""
        found = self.git.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}", ok=(0, 1, 128)
        )
        return found.text or None

    def commit_of(self, git_dir: str, name: str = "HEAD") -> str | None:
        """The commit that a linked worktree stands on, or that `name` stands for in it."""
        return replace(self, git=self.git.on(git_dir, None)).commit(name)

    def exists(self, ref: str) -> bool:
        """Whether there is a ref of this full name."""
        return self.git.run("show-ref", "--verify", "--quiet", ref, ok=(0, 1)).code == 0

    def tree(self, commit: str) -> str:
        return self.git.text("rev-parse", "--verify", commit + "^{tree}")

    def is_ancestor(self, commit: str, of: str) -> bool:
        return self.git.run("merge-base", "--is-ancestor", commit, of, ok=(0, 1)).code == 0

    def create_ref(self, ref: str, commit: str, why: str) -> bool:
        """Make a ref that is not there yet. False if it is: a ref is never overwritten."""
        how = ("--no-deref", "--create-reflog", "-m", why)
        made = self.git.run("update-ref", *how, ref, commit, self.zero, ok=(0, 128))
        if made.code and not self.commit(ref):
            raise GitError(
                f"Could not create {ref}", made.err.decode(errors="replace").strip(), code="git-ref"
            )
        return made.code == 0

    def branch_in_use(self, branch: str, besides: str | None = None) -> str | None:
        """Path of a worktree that stands on `branch`, or would return to it after a rebase; or None.

        That of the worktree `besides` is no answer: there may be another one.
        Read from git's files: with many worktrees `git worktree list` takes longer than making one.
        """
        ref = f"refs/heads/{branch}"
        if ref in self.own_refs():
            return os.path.dirname(self.common_dir)
        return next((at.path for at in self.linked() if ref in at.refs and at.path != besides), None)

    def own_refs(self) -> frozenset[str]:
        """What the main worktree stands on, or would return to; nothing where there is none."""
        return frozenset() if self.bare else _refs(self.common_dir)

    def linked(self) -> list[Linked]:
        """The linked worktrees, whether or not they are still there."""
        return self._linked.fresh()

    def work_trees(self) -> list[str]:
        """Paths of the linked worktrees, whether or not they are still there."""
        return [at.path for at in self.linked()]

    def find_git_dir(self, path: str) -> str | None:
        """The private git directory of the worktree at `path`; what `.git` in it says is not believed."""
        real = os.path.realpath(path)
        named = (first_line(os.path.join(path, ".git")) or "").removeprefix("gitdir:").strip()
        if named:
            likely = os.path.join(self.common_dir, "worktrees", os.path.basename(named))
            if (place := linked_to(likely)) and os.path.realpath(place) == real:
                return likely
        return next((at.git_dir for at in self.linked() if at.real == real), None)

    def _look_at_linked(self) -> list[Linked]:
        place = os.path.join(self.common_dir, "worktrees")
        names = sorted(os.listdir(place)) if os.path.isdir(place) else []
        resolve = _Resolver()
        return [_read_linked(git_dir, resolve) for git_dir in (os.path.join(place, name) for name in names)]


def _why_not(path: str, said: str) -> HeadcountError:
    """One that git refuses to read is no place without git: members would not see what is in it."""
    if "not a git repository" in said:
        return UsageError(f"{path} is in no git repository", said, code="no-repository")
    hint = "Allow it with `git config --global --add safe.directory DIR`, if it is yours to use"
    return GitError(
        f"git does not read the repository of {path}",
        said.partition("\n")[0],
        (hint,) if "dubious ownership" in said else (),
        code="git-failed",
    )


class _Resolver:
    """Most worktrees lie side by side: what they lie in is resolved once for all."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def __call__(self, path: str) -> str:
        parent, name = os.path.split(path)
        if parent not in self._parents:
            self._parents[parent] = os.path.realpath(parent)
        place = os.path.join(self._parents[parent], name)
        return place if name not in ("", ".", "..") and not os.path.islink(place) else os.path.realpath(path)


def _read_linked(git_dir: str, resolve: _Resolver) -> Linked:
    path = linked_to(git_dir)
    return Linked(git_dir, path, resolve(path) if path else "", _refs(git_dir))


def _refs(git_dir: str) -> frozenset[str]:
    head = (first_line(os.path.join(git_dir, "HEAD")) or "").removeprefix("ref: ")
    returning = (first_line(os.path.join(git_dir, state, "head-name")) for state in _REBASES)
    return frozenset((head, *filter(None, returning)))


def linked_to(git_dir: str) -> str:
    """Where the worktree of a private git directory is, as git has it; "" while it is being made. From git
    2.48 on perhaps as seen from here (`worktree.useRelativePaths`)."""
    link = first_line(os.path.join(git_dir, "gitdir")) or first_line(os.path.join(git_dir, WITHDRAWN))
    return os.path.dirname(os.path.normpath(os.path.join(git_dir, link))) if link else ""


def keep_out(common_dir: str, pattern: str) -> None:
    """Keep a path of ours out of the user's `git status`, once, by the repository's own exclusions."""
    path = os.path.join(common_dir, "info", "exclude")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a+b") as file:
        file.seek(0)
        before = file.read()
        if pattern.encode() in before.splitlines():
            return
        start = b"" if not before or before.endswith(b"\n") else b"\n"
        file.write(start + pattern.encode() + b"\n")


def first_line(path: str) -> str | None:
    """The first line of one of git's small files; None if it is not there, or no file."""
    try:
        return os.fsdecode(read_file(path, _LINE_BYTES).partition(b"\n")[0])
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, NotAFile):
        return None
