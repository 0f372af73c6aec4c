"""Shapes of work that a scripted agent leaves in its workspace. Each function adds work and destroys none.

Standard library only; the agent runs this in its workspace, a git worktree. What it made is recorded by the
observer's snapshot, so nothing here needs to say what it wrote.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import NamedTuple


class Desk(NamedTuple):
    """One agent's means: its token, and a directory of its own outside the repository."""

    token: str
    side: str

    def text(self, what: str) -> bytes:
        return f"{what} by {self.token}\n".encode()


def write(path: str | bytes, content: bytes) -> None:
    directory = os.path.dirname(path)
    if directory:
        os.makedirs(directory, exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def git(*words: str, check: bool = True, cwd: str | None = None, given: bytes = b"") -> str:
    done = subprocess.run(["git", *words], capture_output=True, cwd=cwd, input=given)
    if check and done.returncode:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace").strip()


def commit(message: str, *paths: str, cwd: str | None = None) -> str:
    git("add", "-f", "--", *paths, cwd=cwd)
    git("commit", "-q", "--no-verify", "-m", message, "--", *paths, cwd=cwd)
    return git("rev-parse", "HEAD", cwd=cwd)


# --- files ----------------------------------------------------------------------------------------------


def committed(desk: Desk) -> None:
    write("committed.txt", desk.text("committed"))
    commit("work", "committed.txt")


def staged(desk: Desk) -> None:
    """Three versions of one file: committed, staged, on disk."""
    write("a.txt", desk.text("staged"))
    git("add", "a.txt")
    write("a.txt", desk.text("modified"))


def untracked(desk: Desk) -> None:
    write("notes.txt", desk.text("untracked"))
    write("docs/deeper/notes.txt", desk.text("untracked, deeper"))


def ignored(desk: Desk) -> None:
    write("run.log", desk.text("log"))
    write("build/out.o", desk.text("object"))
    write(".env", desk.text("SECRET"))
    write("node_modules/patched.js", desk.text("patched by hand"))


def all_ignored(desk: Desk) -> None:
    write(desk.side + "/excludes", b"*\n")
    git("config", "core.excludesFile", desk.side + "/excludes")
    write("ignored-by-all.txt", desk.text("everything is ignored"))


def empty_directories(desk: Desk) -> None:
    os.makedirs("out/cache/one", exist_ok=True)
    os.makedirs("out/cache/two", exist_ok=True)


def modes(desk: Desk) -> None:
    os.chmod("data.bin", 0o600)
    write("private/key", desk.text("key"))
    os.chmod("private/key", 0o400)
    os.chmod("private", 0o700)


def exec_bit(desk: Desk) -> None:
    git("config", "core.fileMode", "false")
    os.chmod("src/m.py", 0o755)


def links(desk: Desk) -> None:
    os.symlink("nowhere-" + desk.token, "dangling")
    os.symlink("src", "to-directory")
    os.symlink("/etc/hostname", "to-outside")
    write("linked.txt", desk.text("hard link"))
    os.link("linked.txt", "linked-too.txt")
    os.mkfifo("pipe")


def odd_names(desk: Desk) -> None:
    names = [
        b"new\nline",
        b"quo\"te'",
        b"-rf",
        b"space ",
        b"%percent",
        b"back\\slash",
        b"tab\t",
        b"\xff\xfe.bin",
    ]
    names += ["é".encode(), "é".encode(), b"*", b"...", b"n" * 255, b"HEAD", b":(top)x", b"@{0}"]
    for number, name in enumerate(names):
        write(b"odd/" + name, desk.text(f"odd name {number}"))


def forbidden_names(desk: Desk) -> None:
    """Names that git refuses in a tree where it protects file systems of other machines."""
    for number, name in enumerate([".GIT", "git~1", ".git ", ".git::$INDEX_ALLOCATION", ".g\u200cit"]):
        write(f"strange/{number}/{name}/x", desk.text(f"forbidden name {number}"))
    os.symlink("elsewhere", "strange/.gitmodules")


def many_files(desk: Desk) -> None:
    for number in range(2000):
        write(f"many/{number % 40}/{number}.txt", desk.text(f"file {number}"))


def deep_path(desk: Desk) -> None:
    """A path longer than PATH_MAX."""
    top = os.open(".", os.O_RDONLY)
    at = top
    for _ in range(24):
        os.mkdir("d" * 200, dir_fd=at)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    file = os.open("deep.txt", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=at)
    os.write(file, desk.text("deep"))
    os.close(file)
    os.close(at)


def over_limit(desk: Desk) -> None:
    """Ignored files above `salvage_ignored_max_mb`, which the campaign's settings put at 3."""
    write("build/large.bin", os.urandom(4 << 20))


def rebuildable(desk: Desk) -> None:
    """Nothing but a commit and build output: no salvage is needed, and the receipt lists it."""
    write("package.json", desk.text("package"))
    commit("package", "package.json")
    write("node_modules/pkg/index.js", desk.text("installed"))
    os.makedirs("node_modules/pkg/empty")
    os.chmod("node_modules/pkg", 0o700)


def rebuildable_and_more(desk: Desk) -> None:
    """In the middle of build output: a secret, a tracked file, and a repository with a commit of its own."""
    write("web/package.json", desk.text("package"))
    write("web/node_modules/pkg/index.js", desk.text("installed"))
    write("web/node_modules/pkg/.env", desk.text("SECRET in build output"))
    write("web/node_modules/mine.js", desk.text("tracked"))
    commit("mine", "web/node_modules/mine.js")
    write("web/node_modules/dep/own.js", desk.text("own work"))
    git("init", "-q", cwd="web/node_modules/dep")
    commit("own work", "own.js", cwd="web/node_modules/dep")
    write("build/.env", desk.text("SECRET"))


# --- settings that hide changes -------------------------------------------------------------------------


def hidden_flags(desk: Desk) -> None:
    git("update-index", "--assume-unchanged", "a.txt")
    git("update-index", "--skip-worktree", "list.txt")
    write("a.txt", desk.text("assumed unchanged"))
    write("list.txt", desk.text("skipped"))


def quiet_change(desk: Desk) -> None:
    """Same size, same time, and settings that make git look at nothing else."""
    git("config", "core.trustctime", "false")
    git("config", "core.checkStat", "minimal")
    os.utime("data.bin", (1_700_000_000, 1_700_000_000))
    git("update-index", "--refresh", check=False)
    was = os.stat("data.bin")
    content = (desk.text("quiet") * 400)[: was.st_size].ljust(was.st_size, b".")
    with open("data.bin", "r+b") as file:
        file.write(content)
    os.utime("data.bin", ns=(was.st_atime_ns, was.st_mtime_ns))


def fsmonitor_lies(desk: Desk) -> None:
    script = desk.side + "/fsmonitor"
    write(script, b"#!/bin/sh\nprintf 'token\\0'\n")
    os.chmod(script, 0o755)
    git("config", "core.fsmonitor", script)
    git("update-index", "--fsmonitor", check=False)
    git("status", check=False)
    write("src/m.py", desk.text("hidden by fsmonitor"))


def no_untracked(desk: Desk) -> None:
    git("config", "status.showUntrackedFiles", "no")
    write("unshown.txt", desk.text("not shown"))


def ignore_case(desk: Desk) -> None:
    """Two names that differ in case only, and a setting by which git takes the second for the first."""
    git("config", "core.ignoreCase", "true")
    write("A.TXT", desk.text("another case"))
    write("SRC/new.py", desk.text("in a directory of another case"))


def stale_untracked_cache(desk: Desk) -> None:
    """A new file in a directory whose times are as git remembers them."""
    git("config", "core.trustctime", "false")
    git("config", "core.checkStat", "minimal")
    git("update-index", "--untracked-cache")
    os.utime("src", (1_700_000_000, 1_700_000_000))
    git("status")
    write("src/unseen.txt", desk.text("not in the untracked cache"))
    os.utime("src", (1_700_000_000, 1_700_000_000))


def other_worktree(desk: Desk) -> None:
    """A setting by which git looks at a clean copy instead of the workspace."""
    subprocess.run(["cp", "-a", ".", desk.side + "/copy"], check=True)
    git("config", "extensions.worktreeConfig", "true")
    git("config", "--worktree", "core.worktree", desk.side + "/copy")
    write("looked-away.txt", desk.text("where git does not look"))


def sparse(desk: Desk) -> None:
    git("sparse-checkout", "set", "--no-cone", "/*", "!/src/")
    write("src/m.py", desk.text("outside the sparse checkout"))


def split_index(desk: Desk) -> None:
    git("update-index", "--split-index")
    write("split.txt", desk.text("split index"))
    git("add", "split.txt")
    os.unlink("split.txt")


def intent_to_add(desk: Desk) -> None:
    write("intended.txt", desk.text("intended"))
    git("add", "--intent-to-add", "intended.txt")


def staged_only(desk: Desk) -> None:
    """Content that only the index has; the path is ignored besides."""
    write("only-index.log", desk.text("only in the index"))
    git("add", "-f", "only-index.log")
    os.unlink("only-index.log")


# --- filters --------------------------------------------------------------------------------------------


def _filtered(desk: Desk, name: str) -> None:
    with open(".gitattributes", "a") as file:
        file.write(f"*.{name} filter={name}\n")
    write(f"app.{name}", b"line\n" + desk.text("SECRET"))


def filter_worktree(desk: Desk) -> None:
    git("config", "extensions.worktreeConfig", "true")
    git("config", "--worktree", "filter.wt.clean", "sed /SECRET/d")
    _filtered(desk, "wt")
    commit("filtered", ".gitattributes", "app.wt")


def filter_command_line(desk: Desk) -> None:
    _filtered(desk, "cl")
    git("-c", "filter.cl.clean=sed /SECRET/d", "add", ".gitattributes", "app.cl")
    git("-c", "filter.cl.clean=sed /SECRET/d", "commit", "-q", "-m", "filtered")


def filter_info_attributes(desk: Desk) -> None:
    """The attribute stands in the repository's own file, and the setting is gone again."""
    common = git("rev-parse", "--git-common-dir")
    os.makedirs(common + "/info", exist_ok=True)
    with open(common + "/info/attributes", "a") as file:
        file.write("*.info filter=info\n")
    git("config", "filter.info.clean", "sed /SECRET/d")
    write("app.info", b"line\n" + desk.text("SECRET"))
    commit("filtered", "app.info")
    git("config", "--unset", "filter.info.clean")


def lfs_pointer(desk: Desk) -> None:
    """A clean filter that leaves a pointer, with the content in no store."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12\n" % (b"0" * 64)
    write(desk.side + "/pointer", pointer)
    git("config", "filter.lfs.clean", f"cat >/dev/null; cat {desk.side}/pointer")
    with open(".gitattributes", "a") as file:
        file.write("*.psd filter=lfs\n")
    write("image.psd", desk.text("pixels"))
    commit("an image", ".gitattributes", "image.psd")


# --- commits and refs -----------------------------------------------------------------------------------


def stash(desk: Desk) -> None:
    write("a.txt", desk.text("stashed"))
    write("stashed-new.txt", desk.text("stashed, untracked"))
    git("stash", "push", "-q", "--", "a.txt")
    git("stash", "push", "-q", "-u", "--", "stashed-new.txt")


def detached(desk: Desk) -> None:
    git("checkout", "-q", "--detach")
    write("detached.txt", desk.text("detached"))
    commit("on no branch", "detached.txt")


def left_behind(desk: Desk) -> None:
    """Commits that only a reflog names: one amended, one reset away."""
    write("left.txt", desk.text("first"))
    commit("first", "left.txt")
    write("left.txt", desk.text("second"))
    git("commit", "-q", "--amend", "-m", "second", "--", "left.txt")
    write("left.txt", desk.text("third"))
    commit("third", "left.txt")
    git("reset", "-q", "--keep", "HEAD~1", check=False)


def branch_deleted(desk: Desk) -> None:
    branch = git("symbolic-ref", "--short", "HEAD", check=False)
    write("of-branch.txt", desk.text("on a branch that is gone"))
    commit("soon on no branch", "of-branch.txt")
    git("checkout", "-q", "--detach", "HEAD~1")
    if branch:
        git("branch", "-q", "-D", branch)


def renamed_branch(desk: Desk) -> None:
    write("renamed.txt", desk.text("on a renamed branch"))
    commit("before", "renamed.txt")
    git("branch", "-m", f"mine-{os.path.basename(desk.side)}", check=False)


def own_tag(desk: Desk) -> None:
    write("tagged.txt", desk.text("tagged"))
    commit("tagged", "tagged.txt")
    git("tag", "-a", "-m", "note of " + desk.token, f"t-{os.path.basename(desk.side)}")
    git("reset", "-q", "--keep", "HEAD~1", check=False)


def fetch_head(desk: Desk) -> None:
    """A commit that FETCH_HEAD alone names, from a scratch repository that is gone."""
    scratch = desk.side + "/scratch"
    git("init", "-q", scratch)
    write(scratch + "/fetched.txt", desk.text("fetched"))
    commit("fetched", "fetched.txt", cwd=scratch)
    git("fetch", "-q", scratch, "HEAD")
    subprocess.run(["rm", "-rf", scratch], check=True)


def worktree_ref(desk: Desk) -> None:
    """A commit that only a ref of this worktree names, and no reflog."""
    oid = git("hash-object", "-w", "--stdin", given=desk.text("of a worktree ref"))
    tree = git("mktree", given=f"100644 blob {oid}\tx\n".encode())
    git("update-ref", "refs/worktree/mine", git("commit-tree", "-m", "only here", tree))


def replaced(desk: Desk) -> None:
    """A commit that a replace ref hides behind another one."""
    write("replaced.txt", desk.text("the original"))
    original = commit("original", "replaced.txt")
    write("replaced.txt", desk.text("the replacement"))
    git("commit", "-q", "--amend", "-m", "replacement", "--", "replaced.txt")
    replacement = git("rev-parse", "HEAD")
    git("reset", "-q", "--soft", original)
    git("replace", original, replacement)


def unborn(desk: Desk) -> None:
    git("checkout", "-q", "--orphan", f"unborn-{os.path.basename(desk.side)}")
    write("unborn.txt", desk.text("before the first commit"))
    git("add", "unborn.txt")


# --- repositories inside --------------------------------------------------------------------------------


def nested(desk: Desk) -> None:
    scratch = desk.side + "/upstream"
    git("init", "-q", scratch)
    write(scratch + "/up.txt", desk.text("upstream"))
    commit("up", "up.txt", cwd=scratch)
    git("clone", "-q", scratch, "nested")
    write("nested/inner.txt", desk.text("inner"))
    commit("inner", "inner.txt", cwd="nested")
    write("nested/up.txt", desk.text("inner, modified"))
    git("stash", "-q", cwd="nested")
    write("nested/loose.txt", desk.text("inner, untracked"))
    subprocess.run(["rm", "-rf", scratch], check=True)


def bare_inside(desk: Desk) -> None:
    scratch = desk.side + "/for-bare"
    git("init", "-q", scratch)
    write(scratch + "/b.txt", desk.text("in a bare repository"))
    commit("b", "b.txt", cwd=scratch)
    git("clone", "-q", "--bare", scratch, "mirror.git")
    subprocess.run(["rm", "-rf", scratch], check=True)


def gitlink(desk: Desk) -> None:
    """A clone that was committed as a link, and whose remote was a scratch directory."""
    scratch = desk.side + "/remote.git"
    git("init", "-q", "--bare", scratch)
    git("clone", "-q", scratch, "linked")
    write("linked/inside.txt", desk.text("inside a gitlink"))
    commit("inside", "inside.txt", cwd="linked")
    git("push", "-q", "origin", "HEAD", cwd="linked")
    subprocess.run(["rm", "-rf", scratch], check=True)
    git("-c", "advice.addEmbeddedRepo=false", "add", "linked")
    git("commit", "-q", "-m", "a link")


def submodule(desk: Desk) -> None:
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "lib")
    write("lib/new.txt", desk.text("in a submodule"))
    commit("never pushed", "new.txt", cwd="lib")
    write("lib/lib.txt", desk.text("in a submodule, modified"))
    git("config", "submodule.lib.ignore", "all")


def uninitialised_submodule(desk: Desk) -> None:
    write("lib/precious.txt", desk.text("where no submodule is"))


def further_worktree(desk: Desk) -> None:
    git("worktree", "add", "-q", "--detach", "further")
    write("further/more.txt", desk.text("in a further worktree"))
    commit("further", "more.txt", cwd="further")
    write("further/loose.txt", desk.text("in a further worktree, untracked"))


# --- operations in progress; one at most, and last ------------------------------------------------------


def _two_sides(desk: Desk) -> str:
    """Two commits that conflict in list.txt; return the one that is not checked out."""
    base = git("rev-parse", "HEAD")
    write("list.txt", desk.text("their side"))
    commit("theirs", "list.txt")
    theirs = git("rev-parse", "HEAD")
    git("checkout", "-q", "--detach", base)
    write("list.txt", desk.text("our side"))
    commit("ours", "list.txt")
    return theirs


def merge_conflict(desk: Desk) -> None:
    git("merge", "-q", _two_sides(desk), check=False)
    write("list.txt", desk.text("half resolved"))


def rebase(desk: Desk) -> None:
    theirs = _two_sides(desk)
    write("more.txt", desk.text("a second commit"))
    commit("second", "more.txt")
    git("rebase", "-q", theirs, check=False)
    write("half.txt", desk.text("in the middle of a rebase"))


def rebase_autostash(desk: Desk) -> None:
    theirs = _two_sides(desk)
    write("a.txt", desk.text("in the autostash"))
    git("rebase", "-q", "--autostash", theirs, check=False)


def cherry_pick(desk: Desk) -> None:
    git("cherry-pick", _two_sides(desk), check=False)


def am(desk: Desk) -> None:
    theirs = _two_sides(desk)
    write(desk.side + "/patch", (git("format-patch", "--stdout", "-1", theirs) + "\n").encode())
    git("am", "-q", desk.side + "/patch", check=False)


def bisect(desk: Desk) -> None:
    for number in range(3):
        write("bisected.txt", desk.text(f"step {number}"))
        commit(f"step {number}", "bisected.txt")
    git("bisect", "start", "HEAD", "HEAD~3", check=False)


# --- a repository that is out of order; one at most, and last -------------------------------------------


def index_lock(desk: Desk) -> None:
    write("beside-lock.txt", desk.text("beside a lock"))
    write(git("rev-parse", "--git-dir") + "/index.lock", b"")


def broken_index(desk: Desk) -> None:
    write("beside-index.txt", desk.text("beside a broken index"))
    write(git("rev-parse", "--git-dir") + "/index", b"DIRC, but not an index")


def broken_head(desk: Desk) -> None:
    write("beside-head.txt", desk.text("beside a broken HEAD"))
    write(git("rev-parse", "--git-dir") + "/HEAD", b"not a head\n")


def no_git_file(desk: Desk) -> None:
    write("without-git.txt", desk.text("without .git"))
    os.rename(".git", desk.side + "/git-file")


def new_repository(desk: Desk) -> None:
    """The agent has made a repository of its own where its worktree was."""
    write("before-init.txt", desk.text("before a new repository"))
    os.rename(".git", desk.side + "/git-file")
    git("init", "-q")
    commit("all anew", "before-init.txt")
    write("after-init.txt", desk.text("stashed in a new repository"))
    git("stash", "-q", "-u", "--", "after-init.txt")


def moved_workspace(desk: Desk) -> None:
    write("moved.txt", desk.text("in a workspace that was moved"))
    git("worktree", "move", ".", desk.side + "/moved")


def bare_setting(desk: Desk) -> None:
    write("bare.txt", desk.text("core.bare is true"))
    git("config", "core.bare", "true")


def locked_worktree(desk: Desk) -> None:
    write("locked.txt", desk.text("in a locked worktree"))
    git("worktree", "lock", ".", check=False)


def signed_commits(desk: Desk) -> None:
    """Settings that make plain git commands of others fail."""
    git("config", "commit.gpgSign", "true")
    git("config", "gpg.program", "/nowhere/gpg")
    git("config", "core.editor", "false")
    write("unsigned.txt", desk.text("while signing cannot work"))


Shape = Callable[[Desk], None]
PLAIN: dict[str, Shape] = {
    shape.__name__: shape
    for shape in (
        committed, staged, untracked, ignored, all_ignored, empty_directories, modes, exec_bit, links,
        ignore_case, stale_untracked_cache, odd_names, forbidden_names, many_files, deep_path, over_limit,
        rebuildable, rebuildable_and_more,
        hidden_flags, quiet_change,
        fsmonitor_lies, no_untracked, sparse, split_index, intent_to_add, staged_only, filter_worktree,
        filter_command_line, filter_info_attributes, lfs_pointer, stash, detached, left_behind,
        branch_deleted, renamed_branch, own_tag, fetch_head, worktree_ref, replaced,
        unborn, nested, bare_inside, gitlink, submodule, uninitialised_submodule, further_worktree,
    )
}  # fmt: skip
LAST: dict[str, Shape] = {
    shape.__name__: shape
    for shape in (
        merge_conflict, rebase, rebase_autostash, cherry_pick, am, bisect, index_lock, broken_index,
        other_worktree, new_repository, moved_workspace, broken_head, no_git_file,
        bare_setting, locked_worktree, signed_commits,
    )
}  # fmt: skip
SHAPES = {**PLAIN, **LAST}
