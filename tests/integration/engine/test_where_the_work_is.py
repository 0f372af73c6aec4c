"""What `up` and `down` say about commits: where they are, and what nobody sees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headcount.app.branches import Made, count_unseen, read_made
from headcount.app.definition import Definition
from headcount.app.lock import drive_lock
from headcount.app.member_start import Plan
from headcount.app.team_start import check_repository, start_team
from headcount.app.team_status import status
from headcount.cli.start_commands import _where_they_begin
from headcount.errors import HeadcountError, UsageError

from .lab import POLITE, QUICK, Lab, git


def test_commits_of_those_who_are_home_are_told_by_branch(lab: Lab) -> None:
    lab.create(QUICK)
    commits = "echo work > work.txt; git add work.txt; git commit -qm work"
    lab.wait_file(lab.start("ada", f"{commits}; mkdir said; {POLITE}").key, "said")
    lab.start("bob")
    answer = lab.finish(lab.ask(force=True))
    assert answer["status"] == "shutdown"
    made = read_made(lab.app, answer["teamId"], {"ada", "bob"})
    assert made == [Made("ada", "headcount/crew/ada", 1)]
    assert read_made(lab.app, answer["teamId"], {"bob"}) == []
    git(lab.app.root, "branch", "-D", "headcount/crew/ada")
    assert read_made(lab.app, answer["teamId"], {"ada"}) == []


@pytest.mark.parametrize("place", ["lab", "lab_without_git"])
def test_what_was_taken_away_under_a_member_is_not_said_to_be_saved(
    place: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    lab: Lab = request.getfixturevalue(place)
    lab.create(QUICK)
    workspace = lab.workspace(lab.start("ada").key)
    Path(workspace).rename(tmp_path / "elsewhere")

    answer = lab.finish(lab.ask(force=True))

    assert answer["status"] == "shutdown"
    assert answer["warnings"] == [
        f"ada: {workspace} was removed or moved away; what stood in it is not in a salvage, "
        "but `headcount checkpoints ada` may have it"
    ]


def test_what_is_uncommitted_in_the_users_checkout_is_counted(lab: Lab) -> None:
    assert count_unseen(lab.app) == 0
    assert _where_they_begin(lab.app) == []
    Path(lab.app.root, "README").write_text("changed\n")
    Path(lab.app.root, "new").touch()
    assert count_unseen(lab.app) == 2
    assert "Your 2 uncommitted files are not included" in _where_they_begin(lab.app)[0]


def test_without_a_repository_it_is_said_that_members_begin_with_nothing(lab_without_git: Lab) -> None:
    assert "members start in empty directories" in _where_they_begin(lab_without_git.app)[0]


@pytest.mark.parametrize(
    ("prompts", "code"), [(("a", "b", "c"), "too-many-members"), (("a", "b" * 100_001), "too-long")]
)
def test_a_team_that_could_not_be_started_whole_is_not_begun(
    lab: Lab, prompts: tuple[str, ...], code: str
) -> None:
    lab.app.settings = replace(lab.app.settings, policy=replace(QUICK, max_members=2))
    members = tuple(Plan(f"w{n}", command=("true",), prompt=text) for n, text in enumerate(prompts))
    with pytest.raises(HeadcountError) as refused:
        start_team(lab.app, Definition("team.py", "crew", "", members, (), None))
    assert refused.value.code == code
    assert status(lab.app) == []


def test_a_state_directory_outside_of_the_users_repository_is_refused(
    lab_without_git: Lab, tmp_path: Path
) -> None:
    here = tmp_path / "project"
    here.mkdir()
    check_repository(lab_without_git.app, str(here))
    git(str(here), "init", "--quiet")
    with pytest.raises(UsageError, match="would not see") as refused:
        check_repository(lab_without_git.app, str(here))
    assert refused.value.code == "home-elsewhere"


def test_who_has_driven_is_not_found_in_the_lock_file_afterwards(tmp_path: Path) -> None:
    with drive_lock(str(tmp_path)) as lock:
        assert lock is not None and (tmp_path / "engine.lock").read_text()
    assert (tmp_path / "engine.lock").read_text() == ""
