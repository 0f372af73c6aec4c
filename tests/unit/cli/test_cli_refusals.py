"""What cannot be done is refused at once, in words that say why, and leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.app import caller, members, salvages, standing_down, witness
from headcount.app import task_run as run
from headcount.app.app import App, open_app
from headcount.cli import main
from headcount.domain.policy import Policy
from headcount.domain.settings import Gates, Settings
from headcount.engine.apply import apply
from headcount.errors import Bug, Declined, UsageError
from headcount.protocol import events as ev
from headcount.protocol.codec import phase_as_json
from headcount.protocol.phase import open_phase
from headcount.protocol.task import Task
from headcount.store.sqlite import InMemoryStore


@pytest.fixture
def app(tmp_path: Path) -> App:
    """With `crew`, in which `ada` runs."""
    store = InMemoryStore()
    with store.write() as tx:
        team = tx.create_team("crew", "", {})
        apply(tx, team, [ev.Spawn("ada"), ev.Registered("ada#1")], Policy())
    return App(str(tmp_path), store, Settings(), caller.identify(store, {}, str(tmp_path)))


def _hear(app: App, *events: ev.Event) -> None:
    with app.turn("crew") as (tx, team, policy):
        apply(tx, team, events, policy)


def test_who_is_paused_is_not_paused_again_and_who_is_not_is_not_resumed(app: App) -> None:
    with pytest.raises(Declined) as refused:
        members.pause(app, "ada", resume=True)
    assert refused.value.why == "it is not paused"
    _hear(app, ev.Paused("ada#1"))
    with pytest.raises(Declined) as refused:
        members.pause(app, "ada")
    assert refused.value.why == "it is paused already"


def test_who_is_on_its_way_out_is_told_to_be_so(app: App) -> None:
    _hear(app, ev.StandDown("r1", ("ada",)))
    with pytest.raises(Declined) as refused:
        members.pause(app, "ada")
    assert refused.value.why == "it is asked"


def test_a_run_that_is_over_is_not_aborted(app: App) -> None:
    with app.turn("crew") as (tx, team, policy):
        phase, _ = open_phase("crew", [Task("1")], Gates(), "2026-01-01T00:00:00+00:00", policy)
        tx.put_fact(team.id, "", "phase", {**phase_as_json(phase), "state": "blocked"})
    with pytest.raises(Declined) as refused:
        run.abort(app, "crew", "enough")
    assert (refused.value.code, refused.value.why) == ("run-over", "its run is blocked already")


def test_nothing_is_handed_over_to_a_closed_team(tmp_path: Path) -> None:
    store = InMemoryStore()
    with store.write() as tx:
        team = tx.create_team("crew", "", {})
        for step in ("finalizers", "workspaces", "archive", "tombstone"):
            events = [ev.StandDown("r1", None)] if step == "finalizers" else []
            team = apply(tx, team, [*events], Policy()).team
            team = apply(tx, team, [ev.StepEnded(step, team.close_epoch, True)], Policy()).team
    app = App(str(tmp_path), store, Settings(), caller.identify(store, {}, str(tmp_path)))
    with pytest.raises(Declined) as refused:
        witness.handoff(app, team="crew")
    assert refused.value.code == "team-closed"


def test_who_decides_after_the_team_was_closed_hears_where_to_look(tmp_path: Path) -> None:
    store = InMemoryStore()
    app = App(str(tmp_path), store, Settings(), caller.identify(store, {}, str(tmp_path)))
    with pytest.raises(UsageError) as refused:
        standing_down.decide(app, "e1", "wait")
    assert refused.value.code == "unknown-escalation"
    assert "headcount escalations --all --team TEAM" in refused.value.hints[0]


def test_of_a_team_that_never_was_it_is_not_said_that_nothing_was_saved(app: App) -> None:
    assert salvages.verify_saved(app, team="crew") == []
    for use in (salvages.list_saved, salvages.verify_saved):
        with pytest.raises(UsageError) as refused:
            use(app, team="crw")
        assert (refused.value.code, refused.value.hints[0]) == ("unknown-team", 'Did you mean "crew"?')
        assert refused.value.hints[1] == "Open teams: crew. Closed ones: none"


def test_without_a_team_all_commands_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADCOUNT_HOME", str(tmp_path / "state"))
    open_app(str(tmp_path)).close()
    said = []
    for words in (["down"], ["inbox"], ["task", "list"]):
        assert main([*words, "--json"]) == 2
        said.append(json.loads(capsys.readouterr().out))
    assert said[0]["error"]["code"] == "no-team"
    assert said[1:] == [said[0], said[0]]


def test_looking_for_leftovers_makes_no_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HEADCOUNT_HOME", str(tmp_path / "state"))
    assert main(["sweep", "--dry-run"]) == 0
    assert capsys.readouterr().out == "Found 0 leftovers.\n"
    assert main(["prune", "--dry-run"]) == 0
    assert capsys.readouterr().out == "Would remove nothing.\n"
    assert main(["prune"]) == 0
    assert capsys.readouterr().out == "Removed nothing.\n"
    assert not (tmp_path / "state").exists()


def test_a_shell_that_is_not_known_is_told_which_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "there is no 'tcsh' here (choose from bash, zsh, fish)" in capsys.readouterr().err


def test_a_bug_says_what_to_do_about_it() -> None:
    assert "`headcount explain bug`" in Bug("A transaction was opened inside another one").render()
