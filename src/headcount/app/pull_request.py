"""Push the branch of a member to a remote, and open a pull request for it with `gh` or `glab`.

Members can write to the repository's configuration and hooks. So git, and the git that `gh` calls, reads the
configuration that was recorded when the team began, and runs no hook. headcount never forces a push.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from headcount.app.adapters import checkout_git_dir
from headcount.app.review import find_made, refuse_nothing
from headcount.domain.display import escaped
from headcount.domain.names import show
from headcount.errors import Declined, UsageError
from headcount.workspace.git import execute

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from headcount.app.app import App
    from headcount.app.review import Made
    from headcount.workspace.git import Git

    class Published(TypedDict):
        member: str
        remote: str
        branch: str
        commit: str
        commits: int
        unsaved: int
        """Files of the member's workspace that are in no commit, and so not pushed."""
        url: str | None
        """Of the pull request, if `gh` or `glab` opened one, or found one that is open."""
        command: str | None
        """What opens it, where neither program is installed."""


_TIME_S = 600.0
_PROTOCOLS = "file:git:http:https:ssh"
# What the operator's shell may say about how git reaches a host.
_OF_THE_OPERATOR = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_PROXY_SSL_CAINFO")
_SECRET = re.compile(r"(?<=://)[^/@\s]*@")
_NO_LOGIN = re.compile(
    r"could not read (Username|Password)|Authentication failed|Permission denied|terminal prompts disabled"
    r"|Host key verification failed|error: 40[13]",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://\S+")
_MOST_SUBJECTS = 100


def publish(
    app: App, name: str, team: str | None = None, *, remote: str = "", title: str = "", base: str = ""
) -> Published:
    """Push the commits of a member to a branch of the same name, then open a pull request."""
    app.check("publish")
    made = find_made(app, name, team)
    log = made.log()
    if not log or not made.branch:
        raise refuse_nothing(made.key, "it has no commit of its own on a branch")
    git_dir = checkout_git_dir(app, made.repo)
    place = app.checkout if git_dir is not None else made.repo.work_tree
    git = replace(made.repo.git.on(git_dir or made.repo.common_dir, place), timeout_s=_TIME_S)
    remote = remote or _find_remote(git, made)
    address = _text_of(git, "ls-remote", "--get-url", "--", remote) or remote
    _push(git, made, remote)
    subjects = [one["subject"] for one in reversed(log)]
    words = title or (subjects[0] if len(subjects) == 1 else f"Work of {made.key} ({made.team})")
    tool = _choose_tool(address)
    argv = _call(tool, made.branch, words, subjects, base)
    url = _open_request(git, made, argv) if shutil.which(tool) else None
    return {
        "member": made.key, "remote": _SECRET.sub("", remote), "branch": made.branch, "commit": made.head,
        "commits": len(log), "unsaved": made.count_unsaved(), "url": url,
        "command": None if shutil.which(tool) else shlex.join(argv),
    }  # fmt: skip


def _find_remote(git: Git, made: Made) -> str:
    """Return the remote of the branch that is checked out, else the only one, else `origin`."""
    names = _text_of(git, "remote").split("\n")
    names = [name for name in names if name]
    branch = git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1, 128)).text
    tracked = _text_of(git, "for-each-ref", "--format=%(upstream:remotename)", f"refs/heads/{branch}")
    if branch and tracked in names:
        return tracked
    if len(names) == 1:
        return names[0]
    if "origin" in names:
        return "origin"
    why = f"there are {', '.join(names)}" if names else "there was none when the team began"
    raise _not_pushed(made, why, "Name it with `--remote NAME` or `--remote URL`")


def _push(git: Git, made: Made, remote: str) -> None:
    """Push the very commit that was looked at: the member may go on with its branch."""
    if remote.startswith("-"):
        raise UsageError(f"{show(remote)} is not a remote", "it begins with a dash", code="usage")
    variables = {name: os.environ[name] for name in _OF_THE_OPERATOR if name in os.environ}
    done = git.run(
        "push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no",
        "--", remote, f"{made.head}:refs/heads/{made.branch}",
        ok=range(256), env={**variables, "GIT_ALLOW_PROTOCOL": _PROTOCOLS},
    )  # fmt: skip
    if done.code == 0:
        return
    said = _SECRET.sub("", (done.err + done.out).decode("utf-8", "replace"))
    if (refused := _NO_LOGIN.search(said)) is not None:
        line = next(line for line in said.splitlines() if refused[0] in line)
        raise _not_pushed(
            made,
            f"{escaped(line.strip(' .'))}; headcount never asks for a password",
            f"Log in first, such that `git push --dry-run {shlex.quote(remote)}` asks for nothing",
        )
    if "[rejected]" in said or "[remote rejected]" in said:
        raise _not_pushed(
            made,
            f"{show(remote)} has refused it: {_reason(said)}; headcount never forces a push",
            f"Compare with `git fetch {shlex.quote(remote)} {made.branch}`",
        )
    raise _not_pushed(made, _last(said) or f"exit status {done.code}", "See the remotes with `git remote -v`")


def _reason(said: str) -> str:
    refused = [line for line in said.splitlines() if "rejected]" in line]
    return escaped(refused[-1].partition("rejected]")[2].strip())


def _last(said: str) -> str:
    lines = [line for line in said.splitlines() if line.startswith(("fatal:", "error:", "remote:"))]
    lines = lines or said.splitlines()
    return escaped(lines[0].strip()) if lines else ""


def _choose_tool(address: str) -> str:
    """`glab` for a host that is called so; on other hosts `gh`, unless only the other one is installed."""
    host = _SECRET.sub("", address).partition("://")[2] or address
    if "gitlab" in host.partition("/")[0].lower():
        return "glab"
    return "glab" if shutil.which("glab") and not shutil.which("gh") else "gh"


def _call(tool: str, branch: str, title: str, subjects: Sequence[str], base: str) -> list[str]:
    listed = [f"* {subject}" for subject in subjects[:_MOST_SUBJECTS]]
    body = "\n".join([*listed, *(["* …"] if len(subjects) > _MOST_SUBJECTS else [])])
    if tool == "gh":
        argv = ["gh", "pr", "create", f"--head={branch}", f"--title={title}", f"--body={body}"]
        return [*argv, f"--base={base}"] if base else argv
    argv = ["glab", "mr", "create", "--yes", f"--source-branch={branch}", f"--title={title}",
            f"--description={body}"]  # fmt: skip
    return [*argv, f"--target-branch={base}"] if base else argv


def _open_request(git: Git, made: Made, argv: Sequence[str]) -> str | None:
    """Call it. A request that is open already is the answer, too: the push has updated it."""
    with git.environment_for({"GH_PROMPT_DISABLED": "1", "NO_PROMPT": "1"}) as env:
        done = execute(argv, cwd=git.work_tree or git.git_dir, env=env, stdin=None, timeout_s=_TIME_S)
    said = _SECRET.sub("", (done.out + b"\n" + done.err).decode("utf-8", "replace"))
    found = _ADDRESS.findall(said)
    if done.code == 0 or (found and "already exists" in said):
        return escaped(found[0]) if found else None
    raise Declined(
        f"Pushed the work of {show(made.key)} to {made.branch}, but no pull request was opened",
        f"{argv[0]} failed: {_last(said.strip()) or f'exit status {done.code}'}",
        (f"Open it with `{shlex.join(argv)}`",),
        code="no-pull-request",
    )


def _text_of(git: Git, *args: str) -> str:
    return git.run(*args, ok=range(256)).text


def _not_pushed(made: Made, why: str, hint: str) -> Declined:
    return Declined(f"Did not push the work of {show(made.key)}", why, (hint,), code="not-pushed")
