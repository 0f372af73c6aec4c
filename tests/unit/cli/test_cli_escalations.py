"""What `headcount escalations` tells a person to type next can be typed, and is about that very one."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from headcount.app import caller
from headcount.app.app import App
from headcount.app.standing_down import decide
from headcount.cli import escalations
from headcount.domain.policy import Policy
from headcount.domain.settings import Settings
from headcount.engine.hear import hear
from headcount.errors import Declined, UsageError
from headcount.protocol import events as ev
from headcount.store.memory import MemoryStore


@pytest.fixture
def app(tmp_path: Path) -> App:
    """With `crew`, in which `ada` is escalated under the stand-down of the team."""
    store = MemoryStore()
    app = App(str(tmp_path), store, Settings(), caller.identify(store, {}, str(tmp_path)))
    _escalate(app, "crew", None)
    return app


def _escalate(app: App, name: str, targets: tuple[str, ...] | None) -> None:
    with app.store.write() as tx:
        team = tx.create_team(name, "", {"policy": {"max_attempts": 1}})
        asked = (ev.Spawn("ada"), ev.Registered("ada#1"), ev.StandDown("r1", targets),
                 ev.Answered("ada#1", "r1", True))  # fmt: skip
        team = hear(tx, team, asked, Policy()).team
        dirty = ev.Inspected("ada#1", team.members["ada#1"].epoch, False, False, ("1 changed: a",))
        hear(tx, team, [dirty], Policy(max_attempts=1))


def _shown(app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(escalations, "open_app", lambda **_: app)
    assert escalations.run(argparse.Namespace(team=None, all=False, json=False)) == 0
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
