"""A usage limit in the middle of a run: who hits it is parked, nobody is started, then it goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from headcount.ports import Entry

from .lab import SETTINGS, TEAM, RunLab, wait_until


@contextmanager
def at_its_limit(lab: RunLab, file: str, key: str) -> Iterator[None]:
    """A run whose member `key` is parked; goes on afterwards, and must end well."""
    running = lab.start("run", file)
    lab.wait_entry("limited", about=key)
    try:
        yield
    finally:
        (lab.desk / "limit-over").touch()
        said, shown = running.communicate(timeout=100)
    assert running.returncode == 0, (said, shown)
    assert f"Usage limit: {key} is parked until" in shown and "You have hit your limit" in shown
    assert f"headcount down {TEAM} --member {key.partition('#')[0]}" in shown


def started(journal: list[Entry]) -> list[str]:
    return [entry.about for entry in journal if entry.kind == "starting"]


def during_limit(lab: RunLab) -> list[str]:
    """Who was started while somebody was parked."""
    kinds = [(entry.kind, entry.about) for entry in lab.journal("limited", "limit_over", "starting")]
    first, last = (
        next(n for n, (kind, _) in enumerate(kinds) if kind == "limited"),
        max(n for n, (kind, _) in enumerate(kinds) if kind == "limit_over"),
    )
    return [about for kind, about in kinds[first:last] if kind == "starting"]


def test_a_worker_at_its_limit_is_parked_and_holds_the_other_tasks(lab: RunLab) -> None:
    lab.settings(tasks_at_once=2)
    lab.plan({1: {"work": ["limit"]}, 2: {"work": ["wait"]}})
    with at_its_limit(lab, lab.define({1: (), 2: ()}), "ada#1"):
        [team] = lab.json("status", TEAM)
        assert [(one["member"], one["reason"]) for one in team["limits"]] == [
            ("ada#1", "You have hit your limit")
        ]
        shown = lab.headcount("status", TEAM).stdout
        assert "ada#1" in shown and "limited" in shown and "parked until" in shown
        assert "You have hit your limit" in json.dumps(lab.json("report", TEAM)["limits"])
        # The worker of the other task has gone on meanwhile; its reviewers are not started.
        (lab.desk / "go").touch()
        wait_until(lambda: [e.data["task"] for e in lab.journal("held")] == ["2", "2"])
    assert during_limit(lab) == []
    assert lab.merges() == {"1": 1, "2": 1}
    assert started(lab.journal()).count("ada#1") == 1 and "ada#2" not in started(lab.journal())
    wait_until(lambda: lab.marked() == [])


def test_a_reviewer_at_its_limit_is_parked_and_no_other_task_begins(lab: RunLab) -> None:
    lab.settings(tasks_at_once=2)
    lab.plan({1: {"spec": ["limit"]}})
    with at_its_limit(lab, lab.define({1: (), 2: (1,), 3: (1,)}, workers=("ada",)), "spec#1"):
        assert lab.headcount("spawn", "dee", "--team", TEAM, "--", "true").returncode == 1
    assert during_limit(lab) == []
    assert lab.merges() == {"1": 1, "2": 1, "3": 1}
    assert lab.journal("task_restarted") == []


def test_a_run_that_is_aborted_at_a_limit_starts_nobody_and_ends(lab: RunLab) -> None:
    quick = SETTINGS.replace("answer_timeout_s = 60", "answer_timeout_s = 2\ntasks_at_once = 2")
    (lab.repo / "headcount.toml").write_text(quick)
    lab.plan({1: {"work": ["limit"]}, 2: {"work": ["wait"]}})
    running = lab.start("run", lab.define({1: (), 2: ()}), "--json")
    lab.wait_entry("limited", about="ada#1")
    (lab.desk / "go").touch()
    wait_until(lambda: len(lab.journal("held")) == 2)
    lab.json("abort", TEAM, "--reason", "enough")
    said, shown = running.communicate(timeout=100)
    assert running.returncode == 1, (said, shown)
    assert [task["state"] for task in json.loads(said)["tasks"]] == ["blocked", "blocked"]
    assert {key.partition("#")[0] for key in started(lab.journal())} <= {"ada", "ben"}
    wait_until(lambda: lab.marked() == [])
