"""Make a repository that serves as a hub, and find out what a hub lacks."""

from __future__ import annotations

import os
import secrets
from typing import NamedTuple

from headcount.errors import GitError, UsageError
from headcount.workspace.git import Git
from headcount.workspace.hub import RemoteHub
from headcount.workspace.repository import Repository
from headcount.workspace.safe_files import write_durably

_HOOK = os.path.join(os.path.dirname(__file__), "pre-receive.sh")
SETTINGS = {
    # What was pushed is on the disk before git says so.
    "core.fsync": "committed,loose-object,reference",
    "transfer.fsckObjects": "true",
    # A team may be open at any moment; collect garbage by hand while none is.
    "gc.auto": "0",
    "receive.autogc": "false",
    "uploadpack.allowAnySHA1InWant": "true",
    # Old histories have these faults, and every forge takes them.
    "receive.fsck.badTimezone": "ignore",
    "receive.fsck.missingSpaceBeforeDate": "ignore",
    "receive.fsck.zeroPaddedFilemode": "ignore",
}
_NEEDED = ("core.fsync", "transfer.fsckObjects", "gc.auto")


class State(NamedTuple):
    """What was found out about a hub. `faults` should be mended; `unknown` cannot be seen from here."""

    hooked: bool
    faults: tuple[str, ...] = ()
    unknown: str = ""


def init_hub(path: str) -> str:
    """Make a bare repository with the settings and the hook of a hub, or complete one; its whole path."""
    path = os.path.abspath(path)
    if os.path.isdir(path) and os.listdir(path) and not os.path.isfile(os.path.join(path, "HEAD")):
        raise UsageError(f"Did not make a hub in {path}", "it is not empty", code="target-not-empty")
    os.makedirs(path, exist_ok=True)
    git = Git(git_dir=path, cwd=path, runs_no_program=True)
    git.run("init", "--quiet", "--bare")
    for name, value in SETTINGS.items():
        git.run("config", name, value)
    os.makedirs(os.path.join(path, "hooks"), exist_ok=True)
    hook = os.path.join(path, "hooks", "pre-receive")
    with open(_HOOK, "rb") as file:
        write_durably(hook, file.read())
    os.chmod(hook, 0o755)  # noqa: S103 - git runs it as each user that pushes
    return path


def examine_hub(repo: Repository, url: str, limit_s: float) -> State:
    """Try to push a ref that the hook refuses by its name; a hub without the hook takes it for a moment.

    Raises a GitError if the hub cannot be reached, or does not take a push.
    """
    hub = RemoteHub(repo, url)
    probe = f"refs/headcount/probe/{secrets.token_hex(8)}"
    try:
        hub.push({probe: _empty_commit(repo)}, limit_s)
        hub.delete([probe], limit_s)
        hooked = False
    except GitError as error:
        if f"headcount: refused {probe}" not in error.why:
            raise
        hooked = True
    if not os.path.isdir(url):
        return State(hooked, unknown="its settings cannot be read from here")
    return State(hooked, tuple(_find_faults(repo, url)))


def _empty_commit(repo: Repository) -> str:
    tree = repo.git.run("mktree", stdin=b"").text
    return repo.git.text("commit-tree", tree, "-m", "headcount: a probe")


def _find_faults(repo: Repository, path: str) -> list[str]:
    """Of a hub on a disk of this machine."""
    git = Git(git_dir=path)
    found = Repository.open(path)
    if os.path.samefile(found.common_dir, repo.common_dir):
        return ["it is the repository itself: nothing there is a second copy"]
    faults = []
    if os.path.exists(os.path.join(found.objects, "info", "alternates")):
        faults.append("it borrows objects of another repository (objects/info/alternates)")
    for name in _NEEDED:
        now = git.run("config", "--local", name, ok=(0, 1)).text
        if now != SETTINGS[name]:
            faults.append(f"{name} is {now or 'not set'}; it should be {SETTINGS[name]}")
    return faults
