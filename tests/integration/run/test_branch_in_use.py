"""A user who checks the integration branch out in the middle of a run: nothing moves under their feet."""

from __future__ import annotations

from .lab import TEAM, RunLab

BRANCH = f"headcount/{TEAM}/integration"


def test_what_cannot_be_merged_says_why_and_what_to_do_and_goes_on_with_what_the_user_left_there(
    lab: RunLab,
) -> None:
    lab.plan({1: {"work": ["wait"]}})
    definition = lab.define({1: ()}, reviewers=())
    run = lab.start("run", definition)
    lab.wait_entry("moved", about="ada#1", to="running")
    lab.git("checkout", "--quiet", BRANCH)
    (lab.repo / "README").write_text("theirs\n")
    lab.git("commit", "--quiet", "-a", "-m", "by hand")
    (lab.repo / "README").write_text("half an idea\n")
    before = lab.git("rev-parse", BRANCH)
    (lab.desk / "go").touch()
    out, _ = run.communicate(timeout=100)
    assert run.returncode == 1
    assert f"Did not touch branch {BRANCH}: it is checked out in {lab.repo}. Check out another branch" in out
    assert lab.git("rev-parse", BRANCH) == before
    assert (lab.repo / "README").read_text() == "half an idea\n"
    lab.git("checkout", "--quiet", "README")
    lab.git("checkout", "--quiet", "main")
    assert lab.run(definition)["status"] == "complete"
    assert lab.git("show", f"{BRANCH}:README") == "theirs\n"
    assert "done by" in lab.merged_file(1)
