"""Push the branch of a member to a real remote, and open a pull request with a program on PATH."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from headcount.app.pull_request import publish
from headcount.cli import review_commands
from headcount.cli.command_parser import main
from headcount.errors import Declined, UsageError

from .lab import TEAM, Lab, git

BRANCH = f"headcount/{TEAM}/ada"
WORK = """
echo one > one.txt; git add one.txt; git commit -qm "$SUBJECT"; echo loose > loose.txt
touch "$HEADCOUNT_HOME/ada"; sleep 1000
"""


@pytest.fixture
def remote(lab: Lab, tmp_path: Path) -> str:
    place = str(tmp_path / "remote.git")
    git(lab.app.root, "init", "-q", "--bare", place)
    git(lab.app.root, "remote", "add", "origin", place)
    return place


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is first on PATH."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return place


def put_tool(place: Path, name: str, script: str) -> None:
    tool = place / name
    tool.write_text(f"#!/bin/bash\n{script}\n")
    tool.chmod(0o755)


def start(lab: Lab, subject: str = "Add one", before: str = "") -> None:
    lab.create()
    lab.start("ada", f"SUBJECT={shlex.quote(subject)}\n{before}\n{WORK}")
    lab.wait_flag("ada")


def test_the_branch_is_pushed_and_gh_opens_the_pull_request(lab: Lab, remote: str, tools: Path) -> None:
    put_tool(tools, "gh", f'printf "%s\\n" "$@" > {tools}/words; echo https://example.org/pull/7')
    start(lab, "--title=\x1b[31mevil\u202e $(touch /tmp/never) `x`")
    done = publish(lab.app, "ada", base="main")
    assert (done["url"], done["command"], done["commits"]) == ("https://example.org/pull/7", None, 1)
    assert git(remote, "rev-parse", BRANCH).strip() == done["commit"]
    words = (tools / "words").read_text().splitlines()
    assert words[:3] == ["pr", "create", f"--head={BRANCH}"] and words[-1] == "--base=main"
    assert words[3].startswith("--title=--title=")  # one word, whatever the member wrote
    assert done["unsaved"] == 1


def test_an_open_pull_request_is_updated(lab: Lab, remote: str, tools: Path) -> None:
    put_tool(tools, "gh", 'echo "a pull request already exists: https://example.org/pull/7" >&2; exit 1')
    start(lab)
    publish(lab.app, "ada")
    git(lab.workspace("ada#1"), "commit", "-q", "--allow-empty", "-m", "More")
    done = publish(lab.app, "ada")
    assert done["url"] == "https://example.org/pull/7"
    assert git(remote, "rev-parse", BRANCH).strip() == done["commit"]


def test_a_gh_that_fails_is_an_error_that_says_what_was_pushed(lab: Lab, remote: str, tools: Path) -> None:
    put_tool(tools, "gh", 'echo "error: not logged in to https://me:secret@example.org" >&2; exit 4')
    start(lab)
    with pytest.raises(Declined, match="no pull request was opened") as refused:
        publish(lab.app, "ada")
    assert refused.value.code == "no-pull-request" and "not logged in" in refused.value.why
    assert "secret" not in refused.value.render()
    assert git(remote, "rev-parse", BRANCH).strip()


def test_without_a_program_the_command_is_printed_and_its_words_are_quoted(
    lab: Lab, remote: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start(lab, "Add; rm -rf $HOME")
    monkeypatch.setattr("headcount.app.pull_request.shutil.which", lambda name: None)
    monkeypatch.setattr(review_commands, "open_app", lambda make: lab.app)
    assert main(["pr", "ada", "--json"]) == 0
    command = json.loads(capsys.readouterr().out)["command"]
    assert shlex.split(command)[4] == "--title=Add; rm -rf $HOME"


def test_a_push_is_never_forced(lab: Lab, remote: str, tools: Path) -> None:
    put_tool(tools, "gh", "exit 0")
    start(lab)
    git(lab.app.root, "push", "-q", "origin", f"HEAD:refs/heads/{BRANCH}")
    other = git(lab.app.root, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "Other").strip()
    git(lab.app.root, "push", "-q", "origin", f"{other}:refs/heads/{BRANCH}")
    with pytest.raises(Declined, match="Did not push") as refused:
        publish(lab.app, "ada")
    assert "never forces" in refused.value.why
    assert git(remote, "rev-parse", BRANCH).strip() == other


def test_no_configuration_or_hook_of_a_member_runs(
    lab: Lab, remote: str, tools: Path, tmp_path: Path
) -> None:
    put_tool(tools, "gh", "git status --porcelain > /dev/null; git remote get-url origin; true")
    trap, elsewhere = tmp_path / "trap", tmp_path / "elsewhere.git"
    hook = f"printf '#!/bin/sh\\ntouch {trap}\\n' > \"$(git rev-parse --git-common-dir)/hooks/pre-push\""
    before = f"""
    {hook}; chmod +x "$(git rev-parse --git-common-dir)/hooks/pre-push"
    git init -q --bare {elsewhere}; git config remote.origin.url {elsewhere}
    git config remote.origin.receivepack "touch {trap}; git-receive-pack"
    git config core.fsmonitor "touch {trap}"; git config core.sshCommand "touch {trap}"
    git config url.{elsewhere}.insteadOf {remote}; git config credential.helper "!touch {trap}"
    """
    start(lab, before=before)
    trap.unlink(missing_ok=True)  # its own git has called its own programs
    done = publish(lab.app, "ada")
    assert git(remote, "rev-parse", BRANCH).strip() == done["commit"]
    assert not trap.exists() and git(str(elsewhere), "for-each-ref") == ""


def test_a_remote_without_a_login_is_a_clear_error(lab: Lab, tmp_path: Path, tools: Path) -> None:
    put_tool(tools, "ssh", 'echo "me@example.org: Permission denied (publickey)." >&2; exit 255')
    git(lab.app.root, "remote", "add", "origin", "ssh://me:secret@example.org/repo.git")
    start(lab)
    with pytest.raises(Declined, match="Did not push") as refused:
        publish(lab.app, "ada")
    assert "Permission denied" in refused.value.why and "secret" not in refused.value.render()
    assert "Log in first" in refused.value.hints[0]


def test_no_remote_and_a_wrong_one_are_said(lab: Lab, tmp_path: Path) -> None:
    start(lab)
    with pytest.raises(Declined, match="Did not push") as refused:
        publish(lab.app, "ada")
    assert "none when the team began" in refused.value.why
    with pytest.raises(Declined, match="Did not push"):
        publish(lab.app, "ada", remote=str(tmp_path / "nowhere"))
    with pytest.raises(UsageError):
        publish(lab.app, "ada", remote="--upload-pack=touch x")
