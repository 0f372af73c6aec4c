"""`headcount todo` lists everything that waits for a person, and `headcount reply` answers a question."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.app import caller, tasks
from headcount.app.app import App
from headcount.app.caller import Caller
from headcount.app.desk import reply, todo
from headcount.app.mail import inbox, send
from headcount.app.session import Session
from headcount.app.team_status import status
from headcount.cli import desk_commands, status_commands
from headcount.cli.command_parser import add_json, configure
from headcount.domain.asks import Ask
from headcount.domain.policy import Policy
from headcount.domain.settings import Settings
from headcount.engine.apply import apply
from headcount.errors import Declined, NotAllowed, UsageError
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.store.sqlite import InMemoryStore


@pytest.fixture
def app(tmp_path: Path) -> App:
    """With `crew`: ada at work, and ben that could not be started."""
    store = InMemoryStore()
    app = App(str(tmp_path), store, Settings(), caller.identify(store, {}, str(tmp_path)))
    with app.store.write() as tx:
        team = tx.create_team("crew", "", {"policy": {"max_attempts": 1}})
        begun = (ev.Spawn("ada"), ev.Registered("ada#1"), ev.Spawn("ben"), ev.StartFailed("ben#1", "no bash"))
        apply(tx, team, begun, Policy())
    return app


def member(app: App, key: str = "ada#1") -> Session:
    return Session(app.home, app.store, Caller("worker", key, "crew#1"))


def run(command: str, app: App, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(desk_commands, "open_app", lambda **_: app)
    parser = argparse.ArgumentParser()
    configure(parser, command)
    add_json(parser)
    args = parser.parse_args(words)
    return int(args.run(args))


def test_a_question_to_the_operator_is_in_todo_and_in_status(app: App) -> None:
    send(member(app), "operator", "Tabs or spaces?", "I cannot decide")
    failure, question = sorted(todo(app), key=lambda need: need["kind"])
    assert (question["kind"], question["member"], question["text"]) == (
        "question",
        "ada#1",
        "Tabs or spaces?",
    )
    assert question["command"] == f'headcount reply {question["id"]} "…"'
    assert (failure["kind"], failure["member"], failure["text"]) == ("failure", "ben#1", "no bash")
    shown = "\n".join(status_commands.describe_team(status(app)[0]))
    assert f'ada#1 asks: Tabs or spaces? (answer with `headcount reply {question["id"]} "…"`)' in shown


def test_a_finished_task_waits_for_a_review_until_its_member_is_gone(app: App) -> None:
    for number in range(5):
        task = tasks.create(app, f"Task {number}", "", team="crew").id
        tasks.claim(member(app), task)
        tasks.complete(app, task, "crew")
    (finished,) = [need for need in todo(app) if need["kind"] == "finished"]
    assert (finished["member"], finished["text"]) == ("ada#1", "Task 2; Task 3; Task 4; and 2 more")
    assert finished["command"] == "headcount diff ada --team crew" and finished["at"]
    with app.store.write() as tx:
        team = app.load(tx, "crew")
        gone = replace(team.members["ada#1"], state=State.GONE, settled=True)
        tx.save_team(team, replace(team, members={**team.members, "ada#1": gone}))
    assert [need["kind"] for need in todo(app)] == ["failure"]


def test_a_member_whose_client_failed_is_on_the_desk_with_the_cause(app: App) -> None:
    with app.store.write() as tx:
        exited = ev.Exited("ada#1", code=137, cause="killed by SIGKILL")
        apply(tx, app.load(tx, "crew"), [exited], Policy())
    (need,) = [one for one in todo(app) if one["member"] == "ada#1"]
    assert (need["kind"], need["text"]) == ("failure", "killed by SIGKILL") and need["at"]
    assert need["command"] == "headcount logs ada --team crew"


def test_the_operator_has_the_questions_to_a_lead_that_is_not_there(app: App) -> None:
    send(member(app), "lead", "Which file?", "There are two")
    assert [need["text"] for need in todo(app) if need["kind"] == "question"] == ["Which file?"]


def test_a_reply_reaches_the_member_and_the_question_is_off_the_desk(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = send(member(app), "operator", "Tabs or spaces?", "I cannot decide").ids[0]
    assert run("reply", app, monkeypatch, asked, "Spaces") == 0
    assert capsys.readouterr().out == "Replied to ada#1.\n"
    (answer,) = inbox(member(app), unread=True)
    assert (answer.sender, answer.subject, answer.body) == ("operator", "Re: Tabs or spaces?", "Spaces")
    assert [need["kind"] for need in todo(app)] == ["failure"]


def test_a_reply_to_a_message_that_is_no_question_of_a_member_is_refused(app: App) -> None:
    mine = send(app, "ada", "Do it", "now").ids[0]
    with pytest.raises(Declined, match="Did not reply"):
        reply(app, mine, "again")
    with pytest.raises(UsageError, match="There is no message") as unknown:
        reply(app, "m99", "again")
    assert unknown.value.code == "unknown-message"


def test_F119_a_permission_request_is_on_the_desk_with_the_command_that_answers_it(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with app.store.write() as tx:
        tx.add_ask(Ask("", "crew#1", "ada#1", "command", "make\x1b[2J all", "", "make all", "", 1.0, 2e9))
    assert run("todo", app, monkeypatch) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "a1  crew/ada#1  requests permission: make [2J all" in shown
    assert "  Answer it with `headcount decide a1 allow|deny`." in shown


def test_a_member_has_no_desk(app: App) -> None:
    theirs: Any = App(app.home, app.store, app.settings, Caller("worker", "ada#1", "crew#1"))
    with pytest.raises(NotAllowed):
        todo(theirs)


def test_an_escalation_is_listed_with_its_decision_newest_first(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with app.store.write() as tx:
        team = apply(
            tx, app.load(tx, "crew"), (ev.StandDown("r1"), ev.Answered("ada#1", "r1", True)), Policy()
        ).team
        dirty = ev.Inspected("ada#1", team.members["ada#1"].epoch, False, False, ("1 changed: a",))
        apply(tx, team, [dirty], Policy(max_attempts=1))
    assert run("todo", app, monkeypatch, "--json") == 0
    needs = json.loads(capsys.readouterr().out)
    assert [need["kind"] for need in needs] == ["escalation", "failure"]
    assert needs[0]["command"].startswith("headcount decide e1 force-kill|")
    assert run("todo", app, monkeypatch) == 0
    assert capsys.readouterr().out.startswith(
        "e1  crew/ada#1  needs your decision: 1 changed: a\n  Decide it with `headcount "
    )


def test_an_empty_desk_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = InMemoryStore()
    app = App(str(tmp_path), store, Settings(), caller.identify(store, {}, str(tmp_path)))
    assert run("todo", app, monkeypatch) == 0
    assert capsys.readouterr().out == "Nothing waits for you.\n"
