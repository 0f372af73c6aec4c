"""Look at the work of a member, compare it with another's, and merge it into the user's branch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headcount.app.caller import Caller
from headcount.app.review import compare, find_made, merge
from headcount.cli import review_commands
from headcount.cli.command_parser import main
from headcount.errors import Declined, NotAllowed, UsageError

from .lab import TEAM, Lab, git

WORK = r"""
echo one > one.txt; git add one.txt; git commit -qm "$(printf 'Add one\037')"
echo two > two.txt; git add two.txt; git commit -qm "Add two"
printf 'loose \033[31mred\n' > loose.txt; touch "$HEADCOUNT_HOME/$HEADCOUNT_MEMBER"; sleep 1000
"""


def start(lab: Lab, name: str = "ada", script: str = WORK) -> None:
    lab.start(name, script)
    lab.wait_flag(name)


def test_the_diff_of_a_member_has_its_commits_and_what_is_in_none(lab: Lab) -> None:
    lab.create()
    start(lab)
    before = (
        Path(lab.workspace("ada#1"), ".git").read_text(),
        git(lab.workspace("ada#1"), "status", "--porcelain"),
    )
    made = find_made(lab.app, "ada")
    assert [name in made.diff() for name in ("+one", "+two", "+loose")] == [True, True, True]
    assert [one["subject"] for one in made.log()] == ["Add two", "Add one\x1f"]
    assert before[1] == git(lab.workspace("ada#1"), "status", "--porcelain")  # its index was not touched


def test_what_a_member_wrote_reaches_the_terminal_as_text(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.create()
    start(lab)
    review_commands._print_diff(find_made(lab.app, "ada").diff())
    assert "\x1b" not in capsys.readouterr().out


def test_a_merge_brings_the_commits_to_the_branch_that_is_checked_out(lab: Lab) -> None:
    lab.create()
    start(lab)
    merged = merge(lab.app, "ada")
    assert (merged["branch"], merged["commits"], merged["unsaved"]) == ("main", 2, 1)
    assert {"one.txt", "two.txt"} <= set(os.listdir(lab.app.root)) and "loose.txt" not in os.listdir(
        lab.app.root
    )
    assert git(lab.app.root, "status", "--porcelain") == ""
    assert git(lab.app.root, "log", "-1", "--format=%P").split()[0] == merged["before"]
    assert git(lab.app.root, "log", "-1", "--format=%s") == f"Merge work of ada#1 ({TEAM}) into main\n"


def test_a_squash_is_one_commit_with_one_parent(lab: Lab) -> None:
    lab.create()
    start(lab)
    merged = merge(lab.app, "ada", squash=True)
    assert git(lab.app.root, "rev-list", "--parents", "-1", "HEAD").split() == [
        merged["commit"],
        merged["before"],
    ]
    message = git(lab.app.root, "log", "-1", "--format=%B")
    assert "* Add one" in message and "\n* Add two" in message


@pytest.mark.parametrize("how", ["conflict", "dirty", "detached"])
def test_a_merge_that_is_refused_leaves_everything_as_it_was(lab: Lab, how: str) -> None:
    lab.create()
    start(lab)
    mine = Path(lab.app.root, "one.txt")
    if how == "detached":
        git(lab.app.root, "checkout", "-q", "--detach")
    else:
        mine.write_text("mine\n")
        git(lab.app.root, "add", "one.txt")
    if how == "conflict":
        git(lab.app.root, "commit", "-qm", "Mine")
    before = [
        git(lab.app.root, *words.split())
        for words in ("status --porcelain", "log --format=%H", "for-each-ref")
    ]
    with pytest.raises(Declined, match="Did not merge") as refused:
        merge(lab.app, "ada")
    assert refused.value.code == "not-merged"
    after = [
        git(lab.app.root, *words.split())
        for words in ("status --porcelain", "log --format=%H", "for-each-ref")
    ]
    assert after == before
    assert not mine.exists() if how == "detached" else mine.read_text() == "mine\n"


def test_after_the_close_the_work_is_found_on_its_branch(lab: Lab) -> None:
    lab.create()
    start(lab)
    assert lab.finish(lab.ask(now=True))["status"] == "shutdown"
    made = find_made(lab.app, "ada")
    assert "+two" in made.diff() and made.workspace is None
    assert merge(lab.app, "ada")["commits"] == 2


def test_two_members_are_compared(lab: Lab) -> None:
    lab.create()
    start(lab)
    start(
        lab,
        "ben",
        'echo other > one.txt; git add .; git commit -qm "Other"; touch $HEADCOUNT_HOME/ben; sleep 1000',
    )
    one, other, text = compare(lab.app, "ada", "ben")
    assert (one.key, other.key) == ("ada#1", "ben#1")
    assert "-one\n+other" in text and "-two" in text


def test_nobody_but_the_operator_merges(lab: Lab) -> None:
    lab.create()
    start(lab)
    lab.app.caller = Caller("lead", "lea#1", f"{TEAM}#1")
    with pytest.raises(NotAllowed):
        merge(lab.app, "ada")


def test_nothing_to_merge_and_nobody_of_that_name_are_said(lab: Lab) -> None:
    lab.create()
    start(lab, "cy", "touch $HEADCOUNT_HOME/cy; sleep 1000")
    with pytest.raises(Declined, match="There is nothing of"):
        merge(lab.app, "cy")
    with pytest.raises(UsageError, match="There is no member"):
        find_made(lab.app, "nobody")
    assert main(["diff"]) == 2
