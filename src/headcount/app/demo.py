"""The whole story on a scratch repository, with scripted agents as real processes.

Three of them: one who behaves, one who says done with work lying around and is sent back, and one who never
answers, holds unsaved work in every corner of its workspace, and has a child that left its process group and
ignores SIGTERM.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.app import App, open_app
from headcount.app.progress import follow
from headcount.app.resident import driving
from headcount.app.salvages import restore_saved
from headcount.app.standing_down import stand_down
from headcount.app.starting import Plan
from headcount.app.story import tell
from headcount.app.teams import create_team, spawn
from headcount.app.up import wait_for
from headcount.app.world import make_runtimes
from headcount.errors import WorldError
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headcount.ports import Entry

TEAM = "demo"

# Short, so that nobody waits: a person who never answers gets the same treatment in minutes.
_SETTINGS = """\
[policy]
answer_timeout_s = 2
nudge_timeout_s = 1.2
exit_grace_s = 0.5
stop_grace_s = 1
on_escalation = "force-kill"
"""

_SCRIPTS: dict[str, dict[str, Any]] = {
    "ada": {
        "steps": [
            {"do": "write", "path": "parser.py", "text": "def parse(text):\n    return text.split()\n"},
            {"do": "commit", "message": "Add a parser"},
            {"do": "listen"},
        ]
    },
    "ben": {
        "steps": [
            {"do": "write", "path": "report.py", "text": "def report(words):\n    return len(words)\n"},
            {"do": "commit", "message": "Add a report"},
            {"do": "write", "path": "notes.md", "text": "Remember: empty input.\n"},
            {"do": "listen"},
        ],
        "on": {
            "shutdown_request": [{"do": "approve"}],
            "VERIFICATION_FAILED": [{"do": "commit", "message": "Keep the notes"}, {"do": "done"}],
        },
    },
    "cy": {
        "steps": [
            {"do": "write", "path": "index.py", "text": "INDEX = {}\n"},
            {"do": "commit", "message": "Start an index"},
            {"do": "write", "path": "index.py", "text": "INDEX = {'half': 'done'}\n"},
            {"do": "stash", "message": "half an index"},
            {"do": "write", "path": "index.py", "text": "INDEX = {'better': 'idea'}\n"},
            {"do": "write", "path": "todo.txt", "text": "nobody has seen this file yet\n"},
            {"do": "stray"},
            {"do": "ignore", "signals": ["SIGTERM"]},
            {"do": "hang"},
        ]
    },
}


class Line(NamedTuple):
    """Something to show: when, who, what."""

    seconds: float
    who: str
    what: str


class Ending(NamedTuple):
    """What the demo leaves and can show."""

    answer: dict[str, Any]
    directory: str
    restored: dict[str, Any]
    found_again: dict[str, str]
    processes: list[dict[str, Any]]
    left: int


def run_demo(show: Callable[[Line], None], directory: str | None = None) -> Ending:
    """Play it; `show` is called for every line of the story as it happens."""
    place = directory or tempfile.mkdtemp(prefix="headcount-demo-")
    _make_repository(place)
    app = open_app(place, {})
    with driving(app), _telling(app, show) as listen:
        create_team(app, TEAM, "Three who build a word counter", environ=_environment())
        for name in _SCRIPTS:
            command = (sys.executable, "-m", "headcount.agents.scripted", f"{place}/agents/{name}.json")
            spawn(app, TEAM, Plan(name, command=command, prompt="Build your part."))
        wait_for(app, TEAM, lambda t: all(m.state is not State.STARTING for m in t.members.values()), 15)
        _wait_for_work(app, place)
        answer = stand_down(app, TEAM, reason="Demo complete")
        for now in follow(app, TEAM, answer):
            answer = now
            listen()
    return _show_proof(app, place, answer)


def _wait_for_work(app: App, place: str) -> None:
    """Until each of them has done what its script says; then it is worth standing them down."""
    marks = {"ada": "parser.py", "ben": "notes.md", "cy": "todo.txt"}
    worktrees = f"{app.home}/worktrees/{TEAM}"
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if all(os.path.exists(f"{worktrees}/{name}/{file}") for name, file in marks.items()):
            time.sleep(0.3)  # the child of cy comes after its last file
            return
        time.sleep(0.05)
    raise WorldError("The demo's agents did not get to work", f"see {place}", code="demo")


def _show_proof(app: App, place: str, answer: dict[str, Any]) -> Ending:
    """Look again, with other eyes: processes on this machine, and the saved work restored."""
    salvage = next(m["salvage"] for m in answer["members"] if m["name"] == "cy")
    restored = restore_saved(app, salvage, f"{place}/restored-cy")
    found = {}
    for name in ("index.py", "todo.txt"):
        with open(f"{place}/restored-cy/{name}", encoding="utf-8") as file:
            found[name] = file.read().strip()
    git = ["git", "-C", f"{place}/restored-cy", "stash", "list"]
    found["git stash list"] = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    with open(f"{answer['archive']}/receipt.json", encoding="utf-8") as file:
        receipt = json.load(file)
    processes = [p for m in receipt["members"] for p in (m["processes"] or {}).get("processes", ())]
    left = sum(len(found) for found in make_runtimes(app)["plain"].list_marked().values())
    app.close()
    return Ending(answer, place, restored, found, processes, left)


@contextmanager
def _telling(app: App, show: Callable[[Line], None]) -> Iterator[Callable[[], None]]:
    """Tell what the journal has gained since the last time."""
    seen, began = 0, time.time()

    def listen() -> None:
        nonlocal seen
        with app.store.read() as tx:
            team = tx.load_team(TEAM)
            entries: list[Entry] = tx.journal(team.id, seen) if team else []
        for entry in entries:
            seen = entry.seq
            what = tell(entry)
            if what:
                show(Line(entry.at - began, entry.about.partition("#")[0], what))

    yield listen
    listen()


def _make_repository(place: str) -> None:
    git = ["git", "-C", place, "-c", "init.defaultBranch=main"]
    env = _environment()
    subprocess.run([*git, "init", "--quiet"], check=True, env=env)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "An empty start"], check=True, env=env)
    with open(f"{place}/headcount.toml", "w", encoding="utf-8") as file:
        file.write(_SETTINGS)
    os.makedirs(f"{place}/agents")
    for name, script in _SCRIPTS.items():
        with open(f"{place}/agents/{name}.json", "w", encoding="utf-8") as file:
            json.dump(script, file, indent=1)


def _environment() -> dict[str, str]:
    """The caller's, with an identity for git: the demo works on a machine where git was never used."""
    who = {"NAME": "headcount demo", "EMAIL": "demo@localhost"}
    identity = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    return {**os.environ, **identity}
