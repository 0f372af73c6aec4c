"""Every command and every JSON of the generated pages, carried out against a live team."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine.lab import TEAM, Lab, git

from headcount.app.definition import read_definition
from headcount.app.task_run import begin_run
from headcount.domain.settings import Settings
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.skills import pages, write_skills

from .stage import Stage, Step, steps

PAGES = {page.name: page.body for page in pages(Settings())}


class Story:
    """The steps of one page in order. `before` and `after` are by the beginning of a command."""

    def __init__(self, stage: Stage, who: str | None) -> None:
        self.stage = stage
        self.who = who
        self.before: dict[str, Callable[[], None]] = {}
        self.after: dict[str, Callable[[], None]] = {}
        self.codes: dict[str, int] = {}
        self.own_json: list[dict[str, Any]] = []
        self.last: list[Step] = []  # what ends the team

    def tell(self, page: str) -> None:
        for step in steps(page):
            if '"team_shutdown"' in step.text:
                self.last.append(step)
            else:
                self.carry_out(step)
        for step in self.last:
            self.carry_out(step)

    def carry_out(self, step: Step) -> None:
        _look_up(self.before, step.text)()
        if step.kind == "bash":
            done = self.stage.shell(step.text, self.who)
            assert done.returncode == self.code(step.text), (step.text, done.stdout, done.stderr)
        else:
            self.json(json.loads(self.stage.filled(step.text)))
        _look_up(self.after, step.text)()

    def code(self, text: str) -> int:
        return next((code for start, code in self.codes.items() if text.startswith(start)), 0)

    def json(self, value: dict[str, Any]) -> None:
        if "name" not in value:
            self.own_json.append(value)
            return
        answer = self.stage.call(value, self.who)
        if "requestId" in answer:
            self.stage.names["request"] = answer["requestId"]


def _look_up(table: dict[str, Callable[[], None]], text: str) -> Callable[[], None]:
    flat = " ".join(text.split())
    return next((deed for start, deed in table.items() if start in flat), lambda: None)


def test_every_step_of_the_lead_skill_can_be_carried_out(lab: Lab) -> None:
    stage = Stage(lab, max_attempts=1)
    lead = stage.member("boss", role="lead").key
    stage.names["task"] = json.loads(stage.shell("headcount task create 'Add a parser' --json", lead).stdout)[
        "id"
    ]
    story = Story(stage, lead)

    def work() -> None:
        claimed = stage.shell("headcount task claim <task>", "worker#1")
        assert claimed.returncode == 0, claimed.stderr
        git(lab.workspace("worker#1"), "commit", "--quiet", "--allow-empty", "-m", "work")
        assert stage.shell("headcount done --verified", "worker#1").returncode == 0
        stage.wait("worker#1", lambda m: m.state is State.VERIFIED)
        stage.names["commit"] = git(lab.workspace("worker#1"), "rev-parse", "HEAD").strip()

    def review() -> None:
        for reviewer in ("spec-reviewer#1", "code-quality-reviewer#1"):
            seen = git(lab.workspace(reviewer), "rev-parse", "HEAD").strip()
            assert seen == stage.names["commit"], "it looks at what the worker has done"
            assert stage.shell("headcount review pass <task>", reviewer).returncode == 0
            assert stage.shell("headcount send lead -s Review -m passed", reviewer).returncode == 0

    def approve() -> None:
        for name in ("worker", "spec-reviewer", "code-quality-reviewer"):
            assert stage.shell("headcount approve", f"{name}#1").returncode == 0
            stage.wait(f"{name}#1", lambda m: m.settled)

    def another_worker() -> None:
        stage.member("worker")

    def escalate() -> None:
        key = stage.member("messy", script="touch dirty.txt; sleep 1000 & wait").key
        lab.wait_file(key, "dirty.txt")
        lab.say(ev.DoneSignalled(key))
        stage.wait(key, lambda m: m.state is State.ESCALATED)
        stage.names["escalation"] = str(lab.team().members[key].escalation)

    def run_to_abort() -> None:
        _begin_a_run(lab)
        stage.names["team"] = "runners"
        story.who = None  # its own lead would be a member of that team

    def back() -> None:
        stage.names["team"] = TEAM
        story.who = lead

    def look_at_shapes() -> None:
        _check_shapes(lab, story.own_json, stage.shell("headcount inbox --json", lead).stdout)

    story.before = {
        "headcount task list --status in_review": work,
        "headcount inbox": review,
        "headcount task complete": approve,
        "headcount down": another_worker,
        "headcount escalations": escalate,
        "headcount abort": run_to_abort,
        "team_shutdown": look_at_shapes,
    }
    story.after = {"headcount abort": back}
    story.tell(PAGES["lead"])
    lab.wait_state(lead, lambda m: m.request is not None)
    assert {e.data["commit"] for e in lab.journal("reviewed")} == {stage.names["commit"]}
    assert git(lab.app.root, "rev-parse", "HEAD").strip() == stage.names["commit"], "and that was merged"


def _begin_a_run(lab: Lab) -> None:
    file = Path(lab.app.root, "..", "runners.py")
    file.write_text(
        "from headcount import *\n".replace("*", "Command, TaskDef, TaskPipeline, Team, Teammate, Workflow, "
        "define_task, define_team, define_worker")
        + "w = define_worker('walt', command=['sleep', '1000'])\n"
        "t = define_team('runners', [w])\n"
        "doc = Command(name='go', description='d')[Workflow(name='W', team=t)[\n"
        "  Team(team=t, description='d')[Teammate(worker=w, description='d', prompt='p')],\n"
        "  TaskPipeline(title='S')[TaskDef(task=define_task('One', 'one'), prompt='p')]]]\n"
    )  # fmt: skip
    begin_run(lab.app, read_definition(str(file)))


def _check_shapes(lab: Lab, shown: list[dict[str, Any]], inbox: str) -> None:
    """What the page shows of a message and of a file is how such a one really looks."""
    [status, answer] = sorted(shown, key=lambda value: "type" in value)
    real = next(m for m in json.loads(inbox) if m["type"] == "shutdown_response")
    assert answer.keys() <= real.keys()
    assert (answer["type"], answer["subject"]) == (real["type"], real["subject"])
    written = json.loads(Path(lab.app.home, "teams", "runners", "status.json").read_text())
    assert set(status) - {"completed_at"} <= set(written)


def test_every_step_of_the_witness_instructions_can_be_carried_out(lab: Lab) -> None:
    stage = Stage(lab, judge="witness")
    witness = stage.member("eve", role="witness").key
    story = Story(stage, witness)
    count = iter(range(1, 100))

    def somebody() -> None:
        stage.names["member"] = stage.member(f"m{next(count)}", awaits_review=True).name

    def to_judge() -> None:
        somebody()
        key = f"{stage.names['member']}#1"
        lab.say(ev.DoneSignalled(key))
        stage.wait(key, lambda m: m.judging)

    def cycled() -> None:
        stage.wait("eve#2", lambda m: m.state is State.RUNNING)
        story.who = "eve#2"

    story.before = {"witness findings": somebody, "witness verdict": to_judge, "witness nudge": somebody}
    story.after = {"headcount cycle": cycled}
    story.codes = {"headcount witness nudge": 1}  # it runs without a terminal: said, not claimed
    story.tell(PAGES["witness"])


def test_every_step_of_the_members_checklist_can_be_carried_out(lab: Lab) -> None:
    stage = Stage(lab)
    stage.member("boss", role="lead")
    worker = stage.member("ada").key
    place = lab.workspace(worker)
    git(place, "commit", "--quiet", "--allow-empty", "-m", "work")

    def asked() -> None:
        stage.names["request"] = lab.ask("ada")["requestId"]

    for step in steps(PAGES["member"]):
        if "approve" in step.text or "reject" in step.text:
            asked()
        if "done" in step.text or "approve" in step.text:
            continue  # they end the member: below
        done = stage.shell(step.text, worker, place)
        assert done.returncode == 0, (step.text, done.stderr)
    for last in ("headcount approve <request>", "headcount done --verified"):
        assert last in PAGES["member"]
        key = stage.member(f"last-{last.split()[1]}").key
        if "approve" in last:
            stage.names["request"] = lab.ask(key.partition("#")[0])["requestId"]
        done = stage.shell(last, key)
        assert done.returncode == 0, (last, done.stderr)
        stage.wait(key, lambda m: m.settled)


def test_the_plugin_is_valid_for_claude_code(tmp_path: Path) -> None:
    place = Path(os.environ.get("HEADCOUNT_CLIENTS") or Path(__file__).parents[3] / ".clients")
    if not place.exists() and not os.environ.get("CI"):
        pytest.skip("the agent clients are not installed here: run .ci/clients")
    claude = str(place / "node_modules" / ".bin" / "claude")
    for name, content in write_skills(Settings(), "1.0.0").items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    env = {**os.environ, "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    done = subprocess.run(
        [claude, "plugin", "validate", str(tmp_path / "claude")],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
