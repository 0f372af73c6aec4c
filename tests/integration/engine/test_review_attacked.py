"""Members that do their worst to the review of their work, and checkouts in every state."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headcount.app.review import find_made, merge
from headcount.errors import Declined

from .lab import Lab, git

READY = 'touch "$HEADCOUNT_HOME/ada"; sleep 1000'
ONE = 'echo one > one.txt; git add one.txt; git commit -qm "Add one";'


def start(lab: Lab, script: str) -> None:
    lab.create()
    lab.start("ada", f"{script}\n{READY}")
    lab.wait_flag("ada")


def state(lab: Lab) -> list[str]:
    shown = ("status --porcelain", "log --format=%H", "for-each-ref", "symbolic-ref HEAD")
    return [git(lab.app.root, *words.split()) for words in shown]


def test_F125_a_subject_or_an_author_with_control_characters_breaks_no_list(lab: Lab) -> None:
    start(
        lab,
        r"""printf 'a\037b\033[2Jc' > /dev/null
    git commit -q --allow-empty -m "$(printf 'one\037two\037three')"
    GIT_AUTHOR_NAME="$(printf 'e\037vil')" git commit -q --allow-empty -m "$(printf 'x\033[2J')" """,
    )
    made = find_made(lab.app, "ada")
    assert [one["subject"] for one in made.log()][1] == "one\x1ftwo\x1fthree"
    assert merge(lab.app, "ada", squash=True)["commits"] == 2


@pytest.mark.parametrize("how", ["removed", "device", "fifo"])
def test_F126_an_index_that_is_gone_or_is_none_hangs_no_diff(lab: Lab, how: str) -> None:
    trick = {"removed": "", "device": "ln -s /dev/zero $I;", "fifo": "mkfifo $I;"}[how]
    start(lab, f'{ONE} echo two > two.txt; I="$(git rev-parse --git-dir)/index"; rm "$I"; {trick}')
    text = find_made(lab.app, "ada").diff()
    assert "+one" in text and "+two" in text


def test_F126_a_repository_without_a_commit_inside_of_a_workspace_breaks_no_diff(lab: Lab) -> None:
    start(
        lab, f"{ONE} git init -q inner; echo x > inner/x; mkfifo pipe; ln -s /dev/zero zero; echo y > y.txt"
    )
    text = find_made(lab.app, "ada").diff()
    assert "+one" in text and "y.txt" in text


def test_F126_names_that_mean_something_to_git_or_a_terminal_are_text(lab: Lab) -> None:
    names = r"""-rf ':(exclude)x' "$(printf 'new\nline\033[2J')" '--output=evil' """
    start(lab, f'for n in {names}; do echo x > "./$n"; done; git add -A; git commit -qm "Odd names"')
    made = find_made(lab.app, "ada")
    assert all(name in made.diff() for name in ("--output=evil", ":(exclude)x", r"new\nline\033[2J"))
    assert merge(lab.app, "ada")["commits"] == 1
    assert Path(lab.app.root, "--output=evil").exists() and git(lab.app.root, "status", "--porcelain") == ""


def test_F127_an_untracked_file_in_the_way_is_kept_and_the_merge_refused(lab: Lab) -> None:
    start(lab, ONE)
    Path(lab.app.root, "one.txt").write_text("mine\n")
    before = state(lab)
    with pytest.raises(Declined, match="Did not merge") as refused:
        merge(lab.app, "ada")
    assert "one.txt" in refused.value.why or "overwritten" in refused.value.why
    assert state(lab) == before and Path(lab.app.root, "one.txt").read_text() == "mine\n"


def test_F127_a_branch_without_a_commit_or_in_the_middle_of_a_merge_is_refused(lab: Lab) -> None:
    start(lab, ONE)
    git(lab.app.root, "switch", "-q", "-c", "other")
    git(lab.app.root, "commit", "-q", "--allow-empty", "-m", "Other")
    git(lab.app.root, "switch", "-q", "main")
    git(lab.app.root, "merge", "-q", "--no-ff", "--no-commit", "other")
    with pytest.raises(Declined, match="Did not merge"):
        merge(lab.app, "ada")
    git(lab.app.root, "merge", "--abort")
    git(lab.app.root, "switch", "-q", "--orphan", "empty")
    with pytest.raises(Declined, match="Did not merge") as refused:
        merge(lab.app, "ada")
    assert "no commit yet" in refused.value.why


def test_F127_of_two_operators_at_once_both_merge_or_one_is_refused_and_nothing_is_torn(lab: Lab) -> None:
    start(lab, ONE)
    lab.start(
        "ben", 'echo b > b.txt; git add .; git commit -qm "Add b"; touch $HEADCOUNT_HOME/ben; sleep 1000'
    )
    lab.wait_flag("ben")
    results: dict[str, object] = {}

    def call(name: str) -> None:
        try:
            results[name] = merge(lab.app, name)
        except Declined as declined:
            results[name] = declined

    callers = [threading.Thread(target=call, args=(name,)) for name in ("ada", "ben")]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert git(lab.app.root, "status", "--porcelain") == ""
    for name, file in (("ada", "one.txt"), ("ben", "b.txt")):
        assert os.path.exists(f"{lab.app.root}/{file}") is not isinstance(results[name], Declined), results
        if isinstance(results[name], Declined):
            assert merge(lab.app, name)["commits"] == 1
    assert git(lab.app.root, "fsck", "--no-dangling") == ""


def test_F127_a_member_that_moves_its_branch_during_a_merge_changes_nothing_of_it(lab: Lab) -> None:
    start(lab, f"{ONE} (while :; do git commit -q --allow-empty -m More; git reset -q --hard HEAD~; done) &")
    merged = merge(lab.app, "ada")
    parents = git(lab.app.root, "log", "-1", "--format=%P").split()
    assert parents[0] == merged["before"] and len(parents) == 2
    assert int(git(lab.app.root, "rev-list", "--count", f"main@{{1}}..{parents[1]}")) == merged["commits"]
    assert git(lab.app.root, "status", "--porcelain") == ""


def test_F128_the_commit_of_a_merge_is_the_users(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Grace")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "grace@example.org")
    start(lab, f"{ONE} git config user.name Mallory; git config user.email m@x")
    merge(lab.app, "ada", squash=True)
    assert git(lab.app.root, "log", "-1", "--format=%an %ae %cn") == "Grace grace@example.org Grace\n"


def test_F127_a_merge_that_is_killed_ends_whole_and_can_be_repeated(lab: Lab) -> None:
    """git runs in a session of its own: it finishes when headcount is killed."""
    start(lab, "for n in $(seq 400); do echo $n > f$n.txt; done; git add .; git commit -qm Many")
    command = [os.path.join(os.path.dirname(sys.executable), "headcount"), "merge", "ada"]
    process = subprocess.Popen(command, cwd=lab.app.root, stdout=subprocess.DEVNULL)
    before = git(lab.app.root, "rev-parse", "main")
    while process.poll() is None and not os.path.exists(f"{lab.app.root}/.git/index.lock"):
        pass
    process.kill()
    process.wait()
    while os.path.exists(f"{lab.app.root}/.git/index.lock"):
        pass
    assert git(lab.app.root, "status", "--porcelain") == ""
    if git(lab.app.root, "rev-parse", "main") == before:
        assert merge(lab.app, "ada")["commits"] == 1
    assert Path(lab.app.root, "f400.txt").exists()
