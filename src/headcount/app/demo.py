"""The whole story on a scratch repository, with scripted agents as real processes.

Three workers build a word counter. Two tasks are reviewed and merged. One of their workers reported done with
an uncommitted file and was sent back. The third worker hangs: it answers nothing, has unsaved work of every
kind, and has a child that left its process group and ignores SIGTERM. Then the team is stood down.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.adapters import make_runtimes
from headcount.app.app import App, open_app
from headcount.app.definition import read_definition
from headcount.app.journal_sentences import tell
from headcount.app.progress import follow
from headcount.app.resident import driving, ensure_driven
from headcount.app.salvages import restore_saved
from headcount.app.standing_down import stand_down
from headcount.app.task_run import begin_run, read_run
from headcount.errors import UsageError, WorldError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.app.stand_down_answer import StandDownAnswer
    from headcount.ports import Entry

TEAM = "demo"
SILENT = "cy"
_PATIENCE_S = 30.0

# Short, so that nobody waits: an agent that never answers gets the same treatment in minutes.
_SETTINGS = """\
[policy]
answer_timeout_s = 2
nudge_timeout_s = 1
exit_grace_s = 0.5
stop_grace_s = 1
on_escalation = "force-kill"
"""

_DEFINITION = """\
import sys

from headcount import (Command, ShutdownSequence, TaskDef, TaskPipeline, Team, Teammate, Workflow,
                       define_task, define_team, define_worker)

scripted = [sys.executable, "-m", "headcount.agents.scripted"]
ada = define_worker("ada", command=[*scripted, "./agents/ada.json"])
ben = define_worker("ben", command=[*scripted, "./agents/ben.json"])
cy = define_worker("cy", command=[*scripted, "./agents/cy.json"])
spec = define_worker("spec", command=[*scripted, "./agents/reviewer.json"], role="spec-reviewer")
quality = define_worker("quality", role="code-quality-reviewer",
                        command=[*scripted, "./agents/reviewer.json"])
team = define_team("demo", [ada, ben, cy, spec, quality])

doc = Command(name="demo", description="Build a word counter")[
    Workflow(name="Demo", team=team, tasks_at_once=3)[
        Team(team=team, description="Three who build, two who review")[
            Teammate(worker=ada, description="Parser", prompt="You are ada."),
            Teammate(worker=ben, description="Report", prompt="You are ben."),
            Teammate(worker=cy, description="Index", prompt="You are cy."),
            Teammate(worker=spec, description="Spec review", prompt="Compare it with the task."),
            Teammate(worker=quality, description="Quality review", prompt="Look at the code."),
        ],
        TaskPipeline(title="Word counter")[
            TaskDef(task=define_task("Parse words", "parse"), prompt="Split text into words.", worker=ada),
            TaskDef(task=define_task("Report counts", "report"), prompt="Print the counts.", worker=ben),
            TaskDef(task=define_task("Keep an index", "index"), prompt="Remember the words.", worker=cy),
        ],
        ShutdownSequence(workers=[ada, ben, cy, spec, quality], reason="Demo complete"),
    ],
]
"""

_LISTEN = {"do": "listen"}
_SCRIPTS: dict[str, dict[str, Any]] = {
    "ada": {
        "steps": [
            {"do": "write", "path": "parser.py", "text": "def parse(text):\n    return text.split()\n"},
            {"do": "commit", "message": "Add a parser"},
            {"do": "done"},
            _LISTEN,
        ]
    },
    "ben": {
        "steps": [
            {"do": "write", "path": "report.py", "text": "def report(words):\n    return len(words)\n"},
            {"do": "commit", "message": "Add a report"},
            {"do": "write", "path": "notes.md", "text": "Remember: empty input.\n"},
            {"do": "done"},
            _LISTEN,
        ],
        "on": {"VERIFICATION_FAILED": [{"do": "commit", "message": "Keep the notes"}, {"do": "done"}]},
    },
    SILENT: {
        "steps": [
            {"do": "write", "path": "index.py", "text": "INDEX = {}\n"},
            {"do": "commit", "message": "Start an index"},
            {"do": "write", "path": "index.py", "text": "INDEX = {'half': 'done'}\n"},
            {"do": "stash", "message": "half an index"},
            {"do": "write", "path": "index.py", "text": "INDEX = {'better': 'idea'}\n"},
            {"do": "stray"},
            {"do": "ignore", "signals": ["SIGTERM"]},
            {"do": "write", "path": "todo.txt", "text": "nobody has seen this file yet\n"},
            {"do": "hang"},
        ]
    },
    "reviewer": {"steps": [{"do": "headcount", "args": ["review", "pass", "{task}"]}, _LISTEN]},
}


class Line(NamedTuple):
    """Something to show: when, who, what."""

    seconds: float
    who: str
    what: str


class Ending(NamedTuple):
    """The results of the demo that can be shown."""

    answer: StandDownAnswer
    directory: str
    found_again: dict[str, str]
    processes: list[dict[str, Any]]
    left: int


def run_demo(show: Callable[[Line], None], directory: str | None = None) -> Ending:
    """Play it; `show` is called for every line of the story as it happens."""
    place = _scratch(directory)
    _make_repository(place)
    app = open_app(place, {})
    story = _Story(app, show)
    try:
        with driving(app):
            begin_run(app, read_definition(f"{place}/team.py"), environ=_environment())
            _wait_for_work(app, story)
            answer = stand_down(app, TEAM, reason="Demo complete")
            for now in follow(app, TEAM, answer):
                answer = now
                story.go_on()
    except KeyboardInterrupt:
        if _leave(app):
            show(Line(story.age_s(), "team", f"interrupted; an engine stops the agents in {place}"))
        raise
    story.go_on()
    return _look_again(app, place, answer)


def _leave(app: App) -> bool:
    """Stand the team down without waiting for it. Return whether there was a team."""
    with app.store.read() as tx:
        if tx.load_team(TEAM) is None:
            return False
    stand_down(app, TEAM, reason="Demo interrupted", force=True)
    ensure_driven(app)
    return True


def _scratch(directory: str | None) -> str:
    """A directory of its own: what somebody has there is neither overwritten nor committed."""
    if directory is None:
        return tempfile.mkdtemp(prefix="headcount-demo-")
    try:
        os.makedirs(directory, exist_ok=True)
        taken = bool(os.listdir(directory))
    except OSError as error:
        raise WorldError(
            f"Cannot use {directory}", error.strerror or str(error), code="unwritable"
        ) from error
    if taken:
        raise UsageError(
            f"{directory} is not empty",
            "the demo creates its own repository",
            ("Name a new or empty directory, or none",),
            code="target-not-empty",
        )
    return os.path.abspath(directory)


class _Story:
    """Tells what the journal has gained since the last time."""

    def __init__(self, app: App, show: Callable[[Line], None]) -> None:
        self._app = app
        self._show = show
        self._seen = 0
        self._began = time.time()

    def age_s(self) -> float:
        return time.time() - self._began

    def go_on(self) -> None:
        with self._app.store.read() as tx:
            team = tx.load_team(TEAM)
            entries = tx.journal(team.id, self._seen) if team else []
        for entry in entries:
            self._seen = entry.seq
            what = tell(entry) if _is_worth_telling(entry) else None
            if what:
                who = (
                    f"task {entry.about}" if entry.kind.startswith("task_") else entry.about.partition("#")[0]
                )
                self._show(Line(entry.at - self._began, who, what))


# The receipt has everything; on the screen, what happens to tasks, and what goes otherwise than it should.
_TOLD = frozenset((
    "task_moved", "task_reviewed", "found_dirty", "stand_down", "answered", "escalated", "decided",
    "salvaged", "moved", "gone", "shutdown",
))  # fmt: skip


def _is_worth_telling(entry: Entry) -> bool:
    data = entry.data
    if entry.kind == "moved":
        return bool(data["to"] == "killing" or (data["from"] == "nudged" and data["to"] == "inspecting"))
    if entry.kind == "stand_down":
        return bool(data["whole_team"])
    if entry.kind == "task_reviewed":
        return bool(data["verdict"] == "changes")  # that both passed is told of the task
    if entry.kind == "answered":
        return bool(data["answer"] == "unanswered")
    return entry.kind in _TOLD


def _wait_for_work(app: App, story: _Story) -> None:
    """Until two tasks are complete and the third worker hangs over its unsaved work."""
    last_file = f"{app.home}/worktrees/{TEAM}/{SILENT}/todo.txt"
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        story.go_on()
        done = sum(task["state"] == "complete" for task in read_run(app, TEAM)["tasks"])
        if done == 2 and os.path.exists(last_file):
            return
        app.store.wait(f"team/{TEAM}", 0.2)
    raise WorldError(
        "The agents of the demo did not start to work",
        f"they had {_PATIENCE_S:g} s; this machine may be very busy",
        (f"See their output with `cd {app.root} && headcount logs ada`", "Try again"),
        code="demo",
    )


def _look_again(app: App, place: str, answer: StandDownAnswer) -> Ending:
    """With other eyes: what runs on this machine, and what is in the saved work."""
    salvage = next(m["salvage"] for m in answer["members"] if m["name"] == SILENT and m["salvage"])
    restore_saved(app, salvage, f"{place}/restored-{SILENT}")
    found = {}
    for name in ("index.py", "todo.txt"):
        with open(f"{place}/restored-{SILENT}/{name}", encoding="utf-8") as file:
            found[name] = file.read().strip()
    git = ["git", "-C", f"{place}/restored-{SILENT}", "stash", "list"]
    found["git stash list"] = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    with open(f"{answer['archive']}/receipt.json", encoding="utf-8") as file:
        receipt = json.load(file)
    processes = [p for m in receipt["members"] for p in (m["processes"] or {}).get("processes", ())]
    left = sum(len(found) for found in make_runtimes(app)["plain"].list_marked().values())
    app.close()
    return Ending(answer, place, found, processes, left)


def _make_repository(place: str) -> None:
    git = ["git", "-C", place, "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "--quiet"], check=True, env=_environment())
    _write(f"{place}/headcount.toml", _SETTINGS)
    _write(f"{place}/team.py", _DEFINITION)
    os.makedirs(f"{place}/agents")
    for name, script in _SCRIPTS.items():
        _write(f"{place}/agents/{name}.json", json.dumps(script, indent=1))
    subprocess.run([*git, "add", "--all"], check=True, env=_environment())
    subprocess.run([*git, "commit", "--quiet", "-m", "A team and its agents"], check=True, env=_environment())


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _environment() -> dict[str, str]:
    """The caller's, with an identity for git: the demo works on a machine where git was never used."""
    who = {"NAME": "headcount demo", "EMAIL": "demo@localhost"}
    identity = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    return {**os.environ, **identity}
