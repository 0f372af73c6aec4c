"""What is sent to the page: everything once, then only what changed, and never what was before."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from weblab import TEAM, WebLab

from headcount.app import doing, tasks
from headcount.app.doing import DoingFile
from headcount.app.file_diffs import read_files
from headcount.app.mail import send
from headcount.app.page import Onlooker, TeamList, make_patch
from headcount.app.progress import follow
from headcount.app.standing_down import stand_down
from headcount.protocol.codec import phase_as_json
from headcount.protocol.effects import Note
from headcount.protocol.member import Member, State
from headcount.protocol.phase import Phase
from headcount.workspace.work_count import Work
from tests.support.lab import add_ask


def two_members(lab: WebLab) -> list[Member]:
    lab.create()
    members = [Member(name, 1, state=State.RUNNING) for name in ("ada", "ben")]
    lab.put(
        {m.key: m for m in members},
        [Note("starting", m.key, {"role": "worker", "by": "x"}) for m in members],
    )
    return members


def test_the_first_patch_is_everything_and_the_next_only_the_member_that_changed(idle_lab: WebLab) -> None:
    ada, _ = two_members(idle_lab)
    onlooker = Onlooker(idle_lab.app, TEAM)
    first = onlooker.look()
    assert make_patch(None, first)["whole"] is True
    moved = {"from": "running", "to": "asked", "cue": "request"}
    idle_lab.put({ada.key: replace(ada, state=State.ASKED)}, [Note("moved", ada.key, moved)])
    second = onlooker.look()
    patch = make_patch(first, second)
    assert set(patch) == {"members", "log"}
    assert list(patch["members"]) == ["ada#1"]
    assert patch["members"]["ada#1"]["lane"][-1][0] == "asked"
    assert [line["kind"] for line in patch["log"]] == ["moved"]


def test_nothing_new_is_the_very_same_view(idle_lab: WebLab) -> None:
    two_members(idle_lab)
    onlooker = Onlooker(idle_lab.app, TEAM)
    assert onlooker.look() is onlooker.look()


def test_one_that_was_slow_is_sent_all_that_it_missed_in_one_patch(idle_lab: WebLab) -> None:
    ada, ben = two_members(idle_lab)
    onlooker = Onlooker(idle_lab.app, TEAM)
    seen = onlooker.look()
    for member in (ada, ben, ada):
        moved = {"from": "running", "to": "asked", "cue": "request"}
        idle_lab.put({member.key: replace(member, epoch=9)}, [Note("moved", member.key, moved)])
        latest = onlooker.look()
    patch = make_patch(seen, latest)
    assert (sorted(patch["members"]), len(patch["log"])) == (["ada#1", "ben#1"], 3)


def test_mail_is_in_the_next_view_without_a_word_in_the_journal(idle_lab: WebLab) -> None:
    two_members(idle_lab)
    onlooker = Onlooker(idle_lab.app, TEAM)
    seen = onlooker.look()
    send(idle_lab.app, "ada", "Hello", "there", team=TEAM)
    patch = make_patch(seen, onlooker.look())
    assert [mail["subject"] for mail in patch["mail"].values()] == ["Hello"]
    assert patch["members"]["ada#1"]["unread"] == 1


def test_a_count_of_unsaved_files_changes_its_row_alone(idle_lab: WebLab) -> None:
    two_members(idle_lab)
    onlooker = Onlooker(idle_lab.app, TEAM)
    seen = onlooker.look()
    onlooker.seen["ben#1"] = Work(2, 4)
    patch = make_patch(seen, onlooker.look())
    shown = {key: (row["ahead"], row["dirty"]) for key, row in patch["members"].items()}
    assert shown == {"ben#1": (2, 4)}
    assert set(patch) == {"members"}


def test_F111_an_activity_changes_its_row_alone_and_reads_no_other_file(
    idle_lab: WebLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_members(idle_lab)
    os.makedirs(f"{idle_lab.app.home}/teams/{TEAM}", exist_ok=True)
    DoingFile(idle_lab.app.home, TEAM, "ada#1").report("editing a.py")
    onlooker = Onlooker(idle_lab.app, TEAM)
    seen = onlooker.look()
    assert seen.members["ada#1"]["doing"]["text"] == "editing a.py"
    DoingFile(idle_lab.app.home, TEAM, "ben#1").report("running <b>pytest</b>\x1b[2J")
    opened: list[str] = []
    read = doing._read_line
    monkeypatch.setattr(doing, "_read_line", lambda path: (opened.append(path), read(path))[1])
    patch = make_patch(seen, onlooker.look())
    assert {key: row["doing"]["text"] for key, row in patch["members"].items()} == {
        "ben#1": "running <b>pytest</b> [2J"
    }
    assert set(patch) == {"members"} and [os.path.basename(path) for path in opened] == ["ben-1.json"]


def test_a_name_that_is_used_again_shows_nothing_of_the_team_before(lab: WebLab) -> None:
    lab.create()
    lab.start("ada")
    onlooker = Onlooker(lab.app, TEAM)
    seen = onlooker.look()
    *_, last = follow(lab.app, TEAM, stand_down(lab.app, TEAM, force=True))
    assert last["status"] == "shutdown"
    onlooker.look()
    lab.create()
    patch = make_patch(seen, onlooker.look())
    assert patch["whole"] is True
    assert (patch["about"]["teamId"], patch["members"], patch["mail"]) == (f"{TEAM}#2", {}, {})
    assert [line["kind"] for line in patch["log"]] == ["team_created"]


def test_a_team_that_runs_tasks_is_shown_with_its_run(idle_lab: WebLab) -> None:
    """All of a view is one look at the store: there is no second transaction in it."""
    idle_lab.create()
    with idle_lab.app.store.write() as tx:
        team = idle_lab.app.load(tx, TEAM)
        phase = Phase(TEAM, "2026-01-01T00:00:00+00:00")
        tx.put_fact(team.id, "", "phase", phase_as_json(phase))
        tx.put_fact(team.id, "", "roster", {"workers": [], "reviewers": [], "tasks": {}})
    about = Onlooker(idle_lab.app, TEAM).look().about
    assert (about["run"]["team"], about["run"]["status"]) == (TEAM, "running")


def test_a_task_has_the_words_of_its_reviewers_and_the_desk_has_what_waits(idle_lab: WebLab) -> None:
    two_members(idle_lab)
    task = tasks.create(idle_lab.app, "Count", "", team=TEAM).id
    onlooker = Onlooker(idle_lab.app, TEAM)
    seen = onlooker.look()
    words = [("ben#1", "changes", "Test it"), ("ben#1", "pass", "")]
    notes = [
        Note("task_reviewed", task, {"key": key, "commit": "c", "verdict": verdict, "words": said})
        for key, verdict, said in words
    ]
    idle_lab.put({}, notes)
    add_ask(idle_lab.app, TEAM, "ada#1")
    patch = make_patch(seen, onlooker.look())
    (row,) = patch["tasks"]
    assert [(one["key"], one["verdict"], one["words"]) for one in row["reviews"]] == words
    assert [(need["kind"], need["member"]) for need in patch["needs"]] == [("ask", "ada#1")]


def test_past_teams_are_listed_with_their_ends_and_read_once(lab: WebLab) -> None:
    lab.create()
    lab.start("ada")
    teams = TeamList(lab.app)
    assert [(row["team"], row["status"], row["members"]) for row in teams.read()] == [("crew", "active", 1)]
    *_, last = follow(lab.app, TEAM, stand_down(lab.app, TEAM, force=True))
    assert last["status"] == "shutdown"
    lab.create()
    current, past = teams.read()
    assert (current["team"], past["team"], past["status"]) == ("crew", "crew#1", "shutdown")
    assert sum(past["outcomes"].values()) == 1 and past["ended"] >= past["began"]
    assert teams.read()[1] is past
    assert read_files(lab.app, "ada", "crew#1")["commits"] == []
