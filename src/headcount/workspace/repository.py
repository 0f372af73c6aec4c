"""The user's repository: its object database, its refs, and which worktrees hold what."""

from __future__ import annotations

import os
from dataclasses import dataclass

from headcount.errors import GitError
from headcount.workspace.git import Git, read_version

_REBASES = ("rebase-merge", "rebase-apply")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, named by its common git directory, so that no search upwards can find another."""

    common_dir: str
    hash_name: str
    git: Git

    @classmethod
    def open(cls, path: str, executable: str = "git") -> Repository:
        """The repository that `path` is in: main worktree, linked one or bare; with or without commits."""
        read_version(executable)
        git = Git(cwd=path, executable=executable)
        found = git.run("rev-parse", "--path-format=absolute", "--git-common-dir", ok=(0, 128))
        if found.code:
            raise GitError(
                f"{path} is in no git repository",
                found.err.decode(errors="replace").strip(),
                code="no-repository",
            )
        common_dir = os.path.realpath(found.text)
        git = Git(git_dir=common_dir, executable=executable)
        if git.run("config", "extensions.refStorage", ok=(0, 1)).text == "reftable":
            raise GitError(
                f"{common_dir} keeps its refs in a reftable",
                "headcount reads reflogs as files to know whose stash and branch is whose",
                ("Convert it with `git refs migrate --ref-format=files`",),
                code="git-reftable",
            )
        return cls(common_dir, git.text("rev-parse", "--show-object-format"), git)

    @classmethod
    def find(cls, path: str, executable: str = "git") -> Repository | None:
        """As `open`, and None where there is no repository at all."""
        try:
            return cls.open(path, executable)
        except GitError as error:
            if error.code == "no-repository":
                return None
            raise

    @property
    def zero(self) -> str:
        return "0" * (40 if self.hash_name == "sha1" else 64)

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

    def exists(self, ref: str) -> bool:
        """Whether there is a ref of this full name."""
        return self.git.run("show-ref", "--verify", "--quiet", ref, ok=(0, 1)).code == 0

    def tree(self, commit: str) -> str:
        return self.git.text("rev-parse", "--verify", commit + "^{tree}")

    def is_ancestor(self, commit: str, of: str) -> bool:
        return self.git.run("merge-base", "--is-ancestor", commit, of, ok=(0, 1)).code == 0

    def create_ref(self, ref: str, commit: str, why: str) -> bool:
        """Make a ref that is not there yet. False if it is: a ref is never overwritten."""
        made = self.git.run("update-ref", "--create-reflog", "-m", why, ref, commit, self.zero, ok=(0, 128))
        if made.code and not self.commit(ref):
            raise GitError(
                f"Could not create {ref}", made.err.decode(errors="replace").strip(), code="git-ref"
            )
        return made.code == 0

    def branch_in_use(self, branch: str) -> str | None:
        """Path of the worktree that stands on `branch`, or would return to it after a rebase; or None.

        Read from git's files: with many worktrees `git worktree list` takes longer than making one.
        """
        ref = f"refs/heads/{branch}"
        for git_dir in self._git_dirs():
            head = (first_line(os.path.join(git_dir, "HEAD")) or "").removeprefix("ref: ")
            returning = (first_line(os.path.join(git_dir, state, "head-name")) for state in _REBASES)
            if ref == head or ref in returning:
                return self._work_tree(git_dir)
        return None

    def work_trees(self) -> list[str]:
        """Paths of the linked worktrees, whether or not they are still there."""
        return [self._work_tree(git_dir) for git_dir in self._linked()]

    def find_git_dir(self, path: str) -> str | None:
        """The private git directory of the worktree at `path`; what `.git` in it says is not believed."""
        real = os.path.realpath(path)
        named = (first_line(os.path.join(path, ".git")) or "").removeprefix("gitdir:").strip()
        likely = os.path.join(self.common_dir, "worktrees", os.path.basename(named)) if named else ""
        for git_dir in [likely, *self._linked()] if likely else self._linked():
            if (place := self._work_tree(git_dir)) and os.path.realpath(place) == real:
                return git_dir
        return None

    def _git_dirs(self) -> list[str]:
        bare = self.git.text("rev-parse", "--is-bare-repository") == "true"
        return ([] if bare else [self.common_dir]) + self._linked()

    def _linked(self) -> list[str]:
        place = os.path.join(self.common_dir, "worktrees")
        return sorted(os.path.join(place, name) for name in os.listdir(place)) if os.path.isdir(place) else []

    def _work_tree(self, git_dir: str) -> str:
        """Empty while git is still making it."""
        if git_dir == self.common_dir:
            return os.path.dirname(git_dir)
        return os.path.dirname(first_line(os.path.join(git_dir, "gitdir")) or "")


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
    """The first line of one of git's small files; None if it is not there."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().rstrip("\n")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
