"""A run does not begin with old code in silence: an integration branch that lacks commits of the user."""

from __future__ import annotations

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
