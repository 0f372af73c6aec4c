"""The user's repository: its object database, its refs, and which worktrees hold what."""

from __future__ import annotations

import os
from dataclasses import dataclass

from headcount.errors import GitError
from headcount.workspace.git import Git, read_version


@dataclass(frozen=True, slots=True)
class Checkout:
    """One line of `git worktree list`, the main worktree included."""

    path: str
    head: str | None
    branch: str | None
    locked: str | None
    bare: bool = False


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

    def checkouts(self) -> list[Checkout]:
        """Every worktree that git knows of."""
        blocks = self.git.run("worktree", "list", "--porcelain", "-z").out.split(b"\0\0")
        return [_checkout(block) for block in blocks if block.strip(b"\0")]

    def branch_in_use(self, branch: str) -> str | None:
        """Path of the worktree that stands on `branch`, or would return to it after a rebase; or None."""
        ref = f"refs/heads/{branch}"
        for checkout in self.checkouts():
            if checkout.branch == ref:
                return checkout.path
        for git_dir in self._git_dirs():
            for state in ("rebase-merge", "rebase-apply"):
                if _first_line(os.path.join(git_dir, state, "head-name")) == ref:
                    return git_dir
        return None

    def _git_dirs(self) -> list[str]:
        linked = os.path.join(self.common_dir, "worktrees")
        ids = os.listdir(linked) if os.path.isdir(linked) else []
        return [self.common_dir, *(os.path.join(linked, name) for name in ids)]

    def keep_out(self, pattern: str) -> None:
        """Keep a path of ours out of the user's `git status`, once, by `info/exclude`."""
        path = os.path.join(self.common_dir, "info", "exclude")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a+b") as file:
            file.seek(0)
            before = file.read()
            if pattern.encode() in before.splitlines():
                return
            start = b"" if not before or before.endswith(b"\n") else b"\n"
            file.write(start + pattern.encode() + b"\n")


def _checkout(block: bytes) -> Checkout:
    fields: dict[str, str] = {}
    for line in block.strip(b"\0").split(b"\0"):
        name, _, value = os.fsdecode(line).partition(" ")
        fields[name] = value
    return Checkout(
        path=fields["worktree"],
        head=fields.get("HEAD"),
        branch=fields.get("branch"),
        locked=fields.get("locked"),
        bare="bare" in fields,
    )


def _first_line(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().rstrip("\n")
    except OSError:
        return None
