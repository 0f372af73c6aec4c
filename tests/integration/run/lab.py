"""A laboratory for runs: a repository, a definition of tasks, and `headcount run` as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from engine.lab import environment_of

from headcount.app.adapters import make_runtimes
from headcount.app.app import App, open_app
from headcount.app.standing_down import decide, escalations
from headcount.ports import Entry
from tests.support.lab import end_engine, end_everything, make_repository

TEAM = "crew"
# Whatever is waited for comes at once, or is waited for on a machine that has other things to do.
LIMIT_S = 60.0
AGENT = Path(__file__).with_name("crew_agent.py")
REVIEWERS = (("spec", "spec-reviewer"), ("quality", "code-quality-reviewer"))

# Twelve: two roots, a diamond (3 → 4, 5 → 6), a second layer on both, and one that waits for everything.
TWELVE: dict[int, tuple[int, ...]] = {
    1: (), 2: (), 3: (1,), 4: (3,), 5: (3,), 6: (4, 5), 7: (2,), 8: (2,), 9: (7, 8), 10: (6,), 11: (9,),
    12: (10, 11),
}  # fmt: skip

_NAMES = """\
Command, ShutdownSequence, TaskDef, TaskPipeline, Team, Teammate, Workflow, define_task, define_team, \
define_worker\
"""
SETTINGS = """\
[policy]
answer_timeout_s = 60
nudge_timeout_s = 60
exit_grace_s = 1
stop_grace_s = 4
"""


class RunLab:
    def __init__(self, directory: Path, env: Mapping[str, str]) -> None:
        self.repo = directory / "repo"
        self.desk = directory / "desk"  # what the agents plan by, and what they said
        self.env = dict(env)
        self.runtime = "plain"
        self.desk.mkdir()
        make_repository(self.repo)
        self.settings()
        self.plan({})

    # --- setting it up

    def settings(self, text: str = "", **policy: object) -> None:
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in policy.items())
        terminal = "[agents]\nterminal = true\n" if self.runtime == "tmux" else ""
        (self.repo / "headcount.toml").write_text(SETTINGS + lines + terminal + text)

    def plan(self, by_task: Mapping[int, Mapping[str, Sequence[str]]], pace: float = 0) -> None:
        plan = {"pace": pace, **{str(task): turns for task, turns in by_task.items()}}
        (self.desk / "plan.json").write_text(json.dumps(plan))

    def define(
        self,
        tasks: Mapping[int, Sequence[int]],
        workers: Sequence[str] = ("ada", "ben", "cy"),
        reviewers: Sequence[tuple[str, str]] = REVIEWERS,
        workflow: str = "",
        more: Sequence[tuple[str, str]] = (),
    ) -> str:
        everyone = [(name, "worker") for name in workers] + [*reviewers, *more]
        command = [sys.executable, str(AGENT), str(self.desk / "plan.json")]
        lines = [f"from headcount import {_NAMES}"]
        lines += [f"{n} = define_worker({n!r}, command={command!r}, role={role!r})" for n, role in everyone]
        names = ", ".join(name for name, _ in everyone)
        lines += [f"crew = define_team({TEAM!r}, [{names}])"]
        lines += [f"t{n} = define_task('Part {n}', 't{n}')" for n in tasks]
        mates = ", ".join(
            f"Teammate(worker={n}, description='d', prompt='You are {n}.')" for n, _ in everyone
        )
        defs = ", ".join(
            f"TaskDef(task=t{n}, prompt='Write part {n}.', blocked_by=[{', '.join(f't{d}' for d in needs)}])"
            for n, needs in tasks.items()
        )
        lines += [
            "doc = Command(name='go', description='d')[",
            f"  Workflow(name='W', team=crew{', ' + workflow if workflow else ''})[",
            f"    Team(team=crew, description='d')[{mates}],",
            f"    TaskPipeline(title='Steps')[{defs}],",
            f"    ShutdownSequence(workers=[{names}], reason='Done')]]",
        ]
        path = self.desk / "team.py"
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    # --- using it

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.repo, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout

    def headcount(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "headcount", *words], cwd=self.repo, env={**self.env, **env},
            capture_output=True, text=True, timeout=110,
        )  # fmt: skip

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "headcount", *words], cwd=self.repo, env=self.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def engine(self) -> int | None:
        """The process that drives, if one does."""
        lock = self.repo / ".headcount/engine.lock"
        pid = lock.read_text() if lock.exists() else ""
        try:
            command = Path(f"/proc/{int(pid)}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return int(pid) if b"engine" in command else None

    def kill_run(self, run: subprocess.Popen[str]) -> None:
        """SIGKILL to the command that watches and to the engine."""
        for pid in filter(None, (run.pid, self.engine())):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        run.communicate()

    def run(self, file: str, code: int = 0) -> dict[str, Any]:
        done = self.headcount("run", file, "--json")
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def json(self, *words: str, **env: str) -> Any:
        done = self.headcount(*words, "--json", **env)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def decide_all(self, decision: str) -> list[str]:
        """As the operator, whatever is open; the ids."""
        if not (self.repo / ".headcount" / "state.db").exists():
            return []
        with self.app() as app:
            waiting = [e["id"] for e in escalations(app)]
            return [decide(app, escalation, decision)["id"] for escalation in waiting]

    # --- looking at it

    @contextmanager
    def app(self) -> Iterator[App]:
        app = open_app(str(self.repo), {})
        try:
            yield app
        finally:
            app.close()

    def journal(self, *kinds: str) -> list[Entry]:
        with self.app() as app, app.store.read() as tx:
            return tx.journal(f"{TEAM}#1", kinds=kinds or None)

    def wait_entry(self, kind: str, limit_s: float = LIMIT_S, **data: object) -> Entry:
        """The first line of the journal of this kind that says so."""
        found: list[Entry] = []

        def there() -> bool:
            found[:] = [e for e in self.journal(kind) if data.items() <= {"about": e.about, **e.data}.items()]
            return bool(found)

        wait_until(there, limit_s)
        return found[0]

    def said(self) -> list[dict[str, str]]:
        path = self.desk / "said.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def merges(self) -> Counter[str]:
        """How often each task was merged, as git tells it."""
        words = "log", "--grep=^Merge task ", "--format=%s", f"headcount/{TEAM}/integration"
        return Counter(line.removeprefix("Merge task ") for line in self.git(*words).splitlines())

    def merged_file(self, task: int) -> str:
        return self.git("show", f"headcount/{TEAM}/integration:task-{task}.txt")

    def file(self, name: str) -> Any:
        """A file of the team: in its directory while it is open, in its archive after a complete closing."""
        return json.loads(self.path_of(name).read_text())

    def path_of(self, name: str) -> Path:
        home = self.repo / ".headcount"
        archives = sorted(home.glob(f"archive/{TEAM}-*/team/{name}"))
        return archives[-1] if archives else home / "teams" / TEAM / name

    def started_in(self) -> set[str]:
        """The runtimes of all who were ever started, as it was recorded."""
        with self.app() as app, app.store.read() as tx:
            return {str(start["runtime"]) for start in tx.facts(f"{TEAM}#1", "start").values()}

    def environment_of(self, key: str) -> dict[str, str]:
        with self.app() as app:
            found = environment_of(app, key)
        return {name: value for name, value in found.items() if name.startswith("HEADCOUNT_")}

    def marked(self) -> list[str]:
        """What is alive on this machine with a mark of this state directory."""
        with self.app() as app:
            found = make_runtimes(app)["plain"].list_marked()
        return [f"{mark}: {process.name}" for mark, processes in found.items() for process in processes]

    def end_everything(self) -> None:
        """Whatever a failed test left; only what carries a mark of this very state directory."""
        if not (self.repo / ".headcount").exists():
            return
        with self.app() as app:
            end_everything(app)
        end_engine(self.repo / ".headcount")


def wait_until(condition: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.05)


# --- checks from the journal alone -----------------------------------------------------------------------


def most_alive(journal: Sequence[Entry]) -> int:
    """The most incarnations that were there at once, from the intent to start until proved gone."""
    here: set[str] = set()
    most = 0
    for entry in journal:
        if entry.kind == "starting":
            here.add(entry.about)
        elif entry.kind == "gone":
            here.discard(entry.about)
        most = max(most, len(here))
    return most


def check_I4(journal: Sequence[Entry], slots: int) -> None:
    """No more tasks than slots ever have a member that is there; escalated and stuck ones hold no slot."""
    task_of: dict[str, str] = {}
    holding: set[str] = set()
    for entry in journal:
        if entry.kind == "task_member":
            task_of[entry.data["key"]] = entry.about
            holding.add(entry.data["key"])
        elif entry.kind in ("gone", "stuck", "escalated"):
            holding.discard(entry.about)
        tasks = {task_of[key] for key in holding}
        assert len(tasks) <= slots, (entry, sorted(holding))
