"""A run whose members are real clients, one of which hits its usage limit in the middle of a review."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from client_lab import POLICY, Lab, git
from test_limits import LIMITS
from test_two_members import APPROVE, commit_file

from headcount.app.definition import read_definition
from headcount.app.task_run import begin_run, follow_run
from headcount.cli.run_commands import _progress_lines

TEAM = """\
from headcount import (
    Command, ShutdownSequence, TaskDef, TaskPipeline, Team, Teammate, Workflow, define_task, define_team,
    define_worker,
)
ada = define_worker("ada", agent="claude")
spec = define_worker("spec", agent="claude", model="haiku", role="spec-reviewer")
pair = define_team("pair", [ada, spec])
one, two = define_task("One", "one"), define_task("Two", "two")
doc = Command(name="go", description="d")[
    Workflow(name="W", team=pair)[
        Team(team=pair, description="d")[
            Teammate(worker=ada, description="d", prompt="Write."),
            Teammate(worker=spec, description="d", prompt="Review."),
        ],
        TaskPipeline(title="Steps")[
            TaskDef(task=one, prompt="Write one.txt."),
            TaskDef(task=two, prompt="Write two.txt.", blocked_by=[one]),
        ],
        ShutdownSequence(workers=[ada, spec], reason="Done"),
    ]
]
"""
LEAVE = [{"if_last": "You are asked to stand down", "do": [APPROVE], "again": True}]


def worker(task: str) -> dict[str, Any]:
    steps = [[{"shell": commit_file(task)}], [{"call": "member_done"}]]
    return {"when": f"Write {task}.txt.", "react": LEAVE, "steps": steps}


def reviewer(task: str, number: int, *first: dict[str, Any]) -> dict[str, Any]:
    verdict = {"call": "review_submit", "with": {"task_id": str(number), "verdict": "pass"}}
    steps = [*([block] for block in first), [verdict]]
    return {"when": f"# Review task {number}: ", "react": LEAVE, "steps": steps}


@pytest.mark.timeout(180)
def test_a_reviewer_at_its_limit_is_parked_holds_the_run_and_the_run_completes(
    open_lab: Callable[..., Lab], tmp_path: Path
) -> None:
    lanes = [reviewer("one", 1, LIMITS["claude"]), reviewer("two", 2), worker("one"), worker("two")]
    policy = replace(POLICY, limit_wait_s=3, require_merged="never")
    lab = open_lab(lanes, policy)
    (tmp_path / "team.py").write_text(TEAM)
    begin_run(lab.app, read_definition(str(tmp_path / "team.py")))
    shown: list[str] = []
    for now in follow_run(lab.app, "pair"):
        shown += _progress_lines(now)

    assert now["status"] == "complete", (now, lab.standin.missing)
    assert any("Usage limit: spec#1 is parked until" in line for line in shown)
    with lab.app.store.read() as tx:
        kinds = [(e.kind, e.about) for e in tx.journal("pair#1", kinds=("starting", "limited", "limit_over"))]
    parked, lifted = kinds.index(("limited", "spec#1")), kinds.index(("limit_over", "spec#1"))
    assert not [about for kind, about in kinds[parked:lifted] if kind == "starting"]
    assert [about for kind, about in kinds if kind == "starting"] == ["ada#1", "spec#1", "ada#2", "spec#2"]
    for task in ("one", "two"):
        assert git(lab.app.root, "show", f"headcount/pair/integration:{task}.txt") == f"by {task}"
