"""Change the policy of an open team: what waits follows it, and the journal has who did it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from headcount.app.caller import Caller
from headcount.app.policy_changes import change_policy, list_policy
from headcount.cli import team_commands
from headcount.cli.command_parser import main
from headcount.errors import Declined, NotAllowed, UsageError
from headcount.protocol.member import State

from .lab import LIMIT_S, PATIENT, Lab

SILENT = "trap '' TERM; touch $HEADCOUNT_HOME/ada; while :; do sleep 1000; done"


def test_a_limit_that_is_running_follows_a_change(lab: Lab) -> None:
    lab.create(replace(PATIENT, answer_timeout_s=10_000, stop_grace_s=10_000, exit_grace_s=0))
    lab.start("ada", SILENT)
    lab.wait_flag("ada")
    answer = lab.ask()
    lab.wait_state("ada#1", lambda m: m.state is State.ASKED)
    change_policy(lab.app, ["answer_timeout_s=0.2"])
    lab.wait_state("ada#1", lambda m: m.state is State.STOPPING and m.terminated)
    change_policy(lab.app, ["policy.stop_grace_s=0.2"])
    assert lab.finish(answer)["status"] == "shutdown"
    [first, second] = lab.journal("policy_changed")
    assert first.data == {"key": "answer_timeout_s", "old": 10_000, "new": 0.2, "by": "operator"}
    assert second.data["old"] == 10_000


def test_a_policy_that_decides_escalations_also_decides_the_open_ones(lab: Lab) -> None:
    lab.create(replace(PATIENT, answer_timeout_s=0.2, nudge_timeout_s=0.1))
    lab.start("ada", f"echo x > dirty.txt; {SILENT}")
    lab.wait_flag("ada")
    assert lab.finish(lab.ask())["status"] == "escalated"
    change_policy(lab.app, ["on_escalation=force-kill", "stop_grace_s=0.5"])
    assert lab.wait_state("ada#1", lambda m: m.settled, LIMIT_S).outcome == "forced"
    assert [entry.data["by"] for entry in lab.journal("decided")] == ["policy"]


def test_what_is_wrong_is_refused_as_in_the_settings_and_nothing_changes(lab: Lab) -> None:
    lab.create()
    before = list_policy(lab.app)
    wrong = (
        "answer_timeout_s=-1",
        "answer_timeout_s=soon",
        "answer_timeuot_s=1",
        "max_members=1.5",
        "x",
        "=1",
    )
    for word in wrong:
        with pytest.raises(UsageError) as refused:
            change_policy(lab.app, ["max_waits=7", word])
        assert refused.value.code in ("wrong-setting", "unknown-setting")
    for word in ("containment=cgroup", "keep_days=1", "agents.default=codex", "gates.verify=true"):
        with pytest.raises(Declined) as declined:
            change_policy(lab.app, ["max_waits=7", word])
        assert declined.value.code == "fixed-setting"
    assert list_policy(lab.app) == before and not lab.journal("policy_changed")


def test_nobody_but_the_operator_changes_it(lab: Lab) -> None:
    lab.create()
    lab.app.caller = Caller("lead", "lea#1", "crew#1")
    with pytest.raises(NotAllowed):
        change_policy(lab.app, ["max_waits=7"])


def test_a_closed_team_keeps_its_policy(lab: Lab) -> None:
    lab.create()
    assert lab.finish(lab.ask())["status"] == "shutdown"
    with pytest.raises(Declined, match="Did not change"):
        change_policy(lab.app, ["max_waits=7"], "crew")


def test_set_shows_every_value_and_where_it_comes_from(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(team_commands, "open_app", lambda make: lab.app)
    lab.create(PATIENT)
    assert main(["set", "max_waits=7", "max_attempts=3"]) == 0
    assert capsys.readouterr().out == "crew: max_waits is 7 now; it was 1.\n"
    assert main(["set", "--json"]) == 0
    listed = {one["key"]: one for one in json.loads(capsys.readouterr().out)["policy"]}
    assert listed["max_waits"] == {"key": "max_waits", "value": 7, "default": 1, "origin": "set by operator"}
    assert listed["max_members"]["origin"] == "default"
    assert main(["set"]) == 0
    assert "fixed while the team is open" in capsys.readouterr().out
