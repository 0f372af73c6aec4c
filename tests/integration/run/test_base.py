"""A run does not begin with old code in silence: an integration branch that lacks commits of the user."""

from __future__ import annotations

import subprocess
from pathlib import Path

from headcount.app.adapters import read_checked_out
from headcount.app.app import App
from headcount.app.caller import OPERATOR
from headcount.domain.settings import Settings
from headcount.store.sqlite import InMemoryStore
from headcount.workspace.repository import Repository

from .lab import TEAM, RunLab

BRANCH = f"headcount/{TEAM}/integration"


def commit(lab: RunLab, file: str) -> None:
    (lab.repo / file).write_text("by the user\n")
    lab.git("add", file)
    lab.git("commit", "--quiet", "-m", file)


def test_F80_after_a_squash_merge_a_run_says_what_its_branch_lacks_and_begins_where_it_is_told(
    lab: RunLab,
) -> None:
    definition = lab.define({1: ()}, reviewers=())
    assert lab.run(definition)["status"] == "complete"
    old = lab.git("rev-parse", BRANCH).strip()
    lab.git("merge", "--quiet", "--squash", BRANCH)
    lab.git("commit", "--quiet", "-m", "squashed")
    commit(lab, "later")

    refused = lab.start("run", definition)
    _, told = refused.communicate(timeout=100)
    assert refused.returncode == 1
    assert "[stale-integration]" in told
    assert f"{BRANCH} lacks 2 commits of " in told
    assert "--rebase-onto HEAD`" in told and "--keep-base`" in told
    assert lab.git("rev-parse", BRANCH).strip() == old

    run = lab.start("run", definition, "--rebase-onto", "HEAD")
    out, told = run.communicate(timeout=100)
    assert run.returncode == 0, (out, told)
    assert f"Its commits: {BRANCH}.old." in told
    assert lab.git("rev-parse", f"{BRANCH}.old").strip() == old
    assert lab.git("show", f"{BRANCH}:later") == "by the user\n"
    assert lab.git("merge-base", "--is-ancestor", "main", BRANCH) == ""


def test_a_run_that_keeps_its_base_says_what_is_missing(lab: RunLab) -> None:
    definition = lab.define({1: ()}, reviewers=())
    assert lab.run(definition)["status"] == "complete"
    commit(lab, "later")
    run = lab.start("run", definition, "--keep-base")
    out, told = run.communicate(timeout=100)
    assert run.returncode == 0, (out, told)
    assert f"The run begins without your last changes: {BRANCH} lacks 1 commit of " in told
    assert "later" not in lab.git("ls-tree", "--name-only", BRANCH).split()


def test_a_name_of_a_commit_means_what_it_means_where_the_command_was_called(tmp_path: Path) -> None:
    """`--rebase-onto HEAD~1` in a linked worktree of the user's is about that worktree."""
    top, linked = tmp_path / "repo", tmp_path / "linked"

    def git(where: Path, *words: str) -> str:
        who = ("-c", "user.name=u", "-c", "user.email=u@localhost")
        return subprocess.run(
            ["git", *who, *words], cwd=where, check=True, capture_output=True, text=True
        ).stdout.strip()

    git(tmp_path, "init", "-q", "-b", "main", str(top))
    for place, messages in ((top, ("one", "two", "three")), (linked, ("four", "five"))):
        if place == linked:
            git(top, "worktree", "add", "-q", str(linked), "-b", "mine", "HEAD~2")
        for message in messages:
            git(place, "commit", "-q", "--allow-empty", "-m", message)
    app = App(f"{top}/.headcount", InMemoryStore(str(tmp_path)), Settings(), OPERATOR, str(linked))
    repo = Repository.open(str(top))
    for name in ("HEAD", "@", "HEAD~1", "mine", "main", "HEAD@{1}"):
        assert read_checked_out(app, repo, name) == git(linked, "rev-parse", name), name
    assert read_checked_out(app, repo, "--all") is None
