"""A run's tasks as the list shows them to members and to the operator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .lab import TEAM, RunLab, wait_until


def listed(lab: RunLab) -> dict[str, Any]:
    [task] = lab.json("task", "list", "--team", TEAM)
    found: dict[str, Any] = task
    return found


def test_a_task_belongs_to_its_worker_from_the_first_moment_and_is_done_by_its_id(lab: RunLab) -> None:
    lab.plan({1: {"work": ["hang"]}})
    run = lab.start("run", lab.define({1: ()}), "--json")
    lab.wait_entry("moved", about="ada#1", to="running")
    assert (listed(lab)["status"], listed(lab)["owner"]) == ("in_progress", "ada#1")
    ada = lab.environment_of("ada#1")
    workspace = lab.repo / ".headcount" / "worktrees" / TEAM / "ada"
    done = lab.json("done", "1", **ada)
    assert done == {"status": "inspection_started", "task": "1"}
    lab.wait_entry("task_moved", about="1", to="working")  # nothing was committed, so it goes back
    wait_until(lambda: listed(lab)["status"] == "in_progress")
    (workspace / "part.txt").write_text("done\n")
    lab.git("-C", str(workspace), "add", "part.txt")
    lab.git("-C", str(workspace), "commit", "--quiet", "-m", "part")
    lab.json("done", "1", **ada)
    out, err = run.communicate(timeout=100)
    assert run.returncode == 0, (out, err)
    assert json.loads(out)["status"] == "complete"


def test_what_a_definition_says_about_a_task_is_on_the_list(lab: RunLab) -> None:
    file = Path(lab.define({1: ()}))
    file.write_text(file.read_text().replace("blocked_by=[]", "metadata={'area': 'parser', 'size': 3}"))
    lab.run(str(file))
    assert listed(lab)["metadata"] == {"area": "parser", "size": 3}


def test_a_task_has_one_shape_in_the_list_and_in_the_status(lab: RunLab) -> None:
    lab.run(lab.define({1: ()}, reviewers=()))
    [team] = lab.json("status", TEAM)
    assert team["tasks"] == [listed(lab)]
