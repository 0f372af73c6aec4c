"""What `headcount escalations` tells a person to type next can be typed, and is about that very one."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from headcount.app import caller
from headcount.app.app import App
from headcount.app.standing_down import decide, escalations
from headcount.cli import stand_down_commands
from headcount.cli.command_parser import main
from headcount.domain.policy import Policy
from headcount.domain.settings import Settings
from headcount.engine.apply import apply
from headcount.errors import Declined, UsageError
from headcount.protocol import events as ev
from headcount.store.sqlite import InMemoryStore


@pytest.fixture
def app(tmp_path: Path) -> App:
    """With `crew`, in which `ada` is escalated under the stand-down of the team."""
    store = InMemoryStore()
    app = App(str(tmp_path), store, Settings(), caller.identify(store, {}, str(tmp_path)))
    _escalate(app, "crew", None)
    return app


def _escalate(app: App, name: str, targets: tuple[str, ...] | None) -> None:
    with app.store.write() as tx:
        team = tx.create_team(name, "", {"policy": {"max_attempts": 1}})
        asked = (ev.Spawn("ada"), ev.Registered("ada#1"), ev.StandDown("r1", targets),
                 ev.Answered("ada#1", "r1", True))  # fmt: skip
        team = apply(tx, team, asked, Policy()).team
        dirty = ev.Inspected("ada#1", team.members["ada#1"].epoch, False, False, ("1 changed: a",))
        apply(tx, team, [dirty], Policy(max_attempts=1))


def _shown(app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(stand_down_commands, "open_app", lambda **_: app)
    assert stand_down_commands.run_escalations(argparse.Namespace(team=None, all=False, json=False)) == 0
    return capsys.readouterr().out


def test_only_what_can_be_decided_now_is_offered(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Decide it with `headcount decide e1 force-kill|human|wait`." in _shown(app, monkeypatch, capsys)
    with pytest.raises(Declined, match="Did not decide") as refused:
        decide(app, "e1", "reassign")
    assert refused.value.code == "draining"


def test_a_namesake_in_another_team_is_told_apart(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _escalate(app, "shop", ("ada",))
    shown = _shown(app, monkeypatch, capsys)
    assert "`headcount decide e1 force-kill|human|wait --team crew`" in shown
    assert "`headcount decide e1 force-kill|reassign|human|wait --team shop`" in shown
    with pytest.raises(UsageError, match="Which"):
        decide(app, "e1", "human")
    assert decide(app, "e1", "human", team="shop")["team"] == "shop"


def test_the_only_team_in_which_it_waits_need_not_be_named(app: App) -> None:
    with app.store.write() as tx:
        tx.create_team("other", "", {})
    assert decide(app, "e1", "human")["state"] == "parked"
    with pytest.raises(UsageError, match="Which team"):
        decide(app, "e9", "human")


def _decide_by_command(app: App, decision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_down_commands, "open_app", lambda **_: app)
    monkeypatch.setattr(stand_down_commands, "ensure_driven", lambda _: None)
    asked = argparse.Namespace(
        id="e1", all=False, cause=None, decision=decision, reason="", always=False, team="crew", json=False
    )
    assert stand_down_commands.run_decide(asked) == 0


def _decided(app: App) -> str | None:
    """The decision that was taken, as the store has it."""
    with app.store.read() as tx:
        return app.load(tx, "crew").escalations["e1"].decision


def test_F55_a_decision_is_printed_only_when_it_was_taken(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another operator decides as soon as the first one lets go of the store."""
    turn, others = App.turn, ["wait"]

    @contextmanager
    def turn_then_the_other(self: App, name: str) -> Iterator[Any]:
        with turn(self, name) as held:
            yield held
        if others:
            with suppress(Declined):
                decide(self, "e1", others.pop(), team="crew")

    monkeypatch.setattr(App, "turn", turn_then_the_other)
    _decide_by_command(app, "force-kill", monkeypatch)
    assert _decided(app) == "force-kill"
    assert capsys.readouterr().out.startswith("Decided e1: force-kill for ada")


def test_F55_a_later_decision_is_refused_with_who_decided_what(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    decide(app, "e1", "wait")
    with pytest.raises(Declined) as refused:
        _decide_by_command(app, "force-kill", monkeypatch)
    assert refused.value.code == "already-decided"
    assert refused.value.why == "escalation e1 is decided: operator chose wait"
    assert capsys.readouterr().out == ""


def test_F55_a_report_that_came_before_the_decision_is_applied_first(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The member exited, and no engine has applied it yet: nothing is left to decide."""
    with app.store.write() as tx:
        tx.add_input("crew#1", ev.Exited("ada#1"))
    with pytest.raises(Declined) as refused:
        _decide_by_command(app, "force-kill", monkeypatch)
    assert refused.value.why == "escalation e1 is moot"
    assert (capsys.readouterr().out, _decided(app)) == ("", None)
    with app.store.read() as tx:
        assert app.load(tx, "crew").members["ada#1"].state != "escalated"


def _decide_all(app: App, monkeypatch: pytest.MonkeyPatch, decision: str, cause: str | None = None) -> int:
    monkeypatch.setattr(stand_down_commands, "open_app", lambda **_: app)
    monkeypatch.setattr(stand_down_commands, "ensure_driven", lambda _: None)
    args = argparse.Namespace(
        id=None, decision=decision, all=True, cause=cause, reason="", team=None, always=False, json=False
    )
    return stand_down_commands.run_decide(args)


def test_all_escalations_of_a_cause_are_decided_at_once(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _escalate(app, "tools", None)
    assert _decide_all(app, monkeypatch, "force-kill", "silence") == 0
    assert capsys.readouterr().out == "Nothing waits for such a decision.\n"
    assert _decide_all(app, monkeypatch, "force-kill", "dirty") == 0
    assert capsys.readouterr().out == (
        "Decided e1: force-kill for crew/ada.\nDecided e1: force-kill for tools/ada.\n"
    )
    assert escalations(app) == []


def test_F129_decide_all_continues_after_one_that_another_operator_has_decided(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _escalate(app, "tools", None)
    listed = escalations(app)
    decide(app, "e1", "human", team="crew")  # after the other has listed them
    decide(app, "e1", "force-kill", team="crew")
    monkeypatch.setattr(stand_down_commands, "escalations", lambda *_: listed)
    assert _decide_all(app, monkeypatch, "force-kill") == 1
    shown = capsys.readouterr()
    assert shown.out == "Decided e1: force-kill for tools/ada.\n"
    assert "Not decided e1 of crew/ada" in shown.err
    assert escalations(app) == []


def test_those_for_which_a_decision_is_not_possible_are_named(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _decide_all(app, monkeypatch, "reassign") == 1
    assert capsys.readouterr().out == ("Not decided e1 of crew/ada: now only force-kill or human or wait.\n")


@pytest.mark.parametrize("given", [{}, {"id": "e1", "all": True}, {"id": "e1", "cause": "dirty"}])
def test_one_id_or_all_of_them(given: dict[str, Any]) -> None:
    asked = {"id": None, "all": False, "cause": None, "decision": "wait", **given}
    with pytest.raises(UsageError, match="Which escalation"):
        stand_down_commands.run_decide(argparse.Namespace(**asked))


@pytest.mark.parametrize("word", ["0", "-1", "nan", "inf", "soon"])
def test_a_time_limit_that_is_none_is_refused_in_words(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down", f"--timeout={word}"]) == 2
    assert "it must be a number of seconds above 0" in capsys.readouterr().err
