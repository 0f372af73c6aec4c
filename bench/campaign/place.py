"""The directory of one trial: a repository of a user, a home, and the commands that are run there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .plan import Mate, Plan
from .strays import command

TEAM = "crew"
SETTINGS = """\
[policy]
answer_timeout_s = 2
nudge_timeout_s = 1
inspect_timeout_s = 20
salvage_timeout_s = 60
exit_grace_s = 0.5
stop_grace_s = 1.5
finalizer_timeout_s = 10
max_attempts = 1
salvage_ignored_max_mb = 3
on_escalation = "{escalation}"

[integration]
sync = "{sync}"

[gates]
verify = "{verify}"
"""


class Ran(NamedTuple):
    """A command that has ended: its exit code, None when it overran its limit and was killed by us."""

    code: int | None
    output: str
    error: str
    seconds: float

    @property
    def answer(self) -> dict[str, Any]:
        try:
            found = json.loads(self.output)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


class Place:
    """Everything of one trial is below one directory; `close` is called by the trial that owns it."""

    def __init__(self, plan: Plan, headcount: str, scratch: str | None = None) -> None:
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="hcc-", dir=scratch))
        self.plan = plan
        self.repo = f"{self.top}/repo"
        self.locks = f"{self.top}/locks"
        self.token = f"tok{os.path.basename(self.top)}x{plan.seed}x{plan.number}"
        self._headcount = headcount
        self._outputs = 0
        self.running: subprocess.Popen[str] | None = None
        for name in ("home", "locks", "side", "ledger", "out", "tmux", "restored"):
            os.mkdir(f"{self.top}/{name}")
        self.environment = self._environment()

    def _environment(self) -> dict[str, str]:
        """Nothing of the user who runs the campaign: no home, no git settings, no tmux server."""
        path = f"{os.path.dirname(self._headcount)}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        return {
            "PATH": path, "HOME": f"{self.top}/home", "LANG": "C.UTF-8", "TMUX_TMPDIR": f"{self.top}/tmux",
            "TERM": "xterm", "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip

    # --- the user's repository

    def make_repository(self) -> None:
        """Make a repository with a submodule, ignored names, an executable, a stash and a tag."""
        with open(f"{self.top}/home/.gitconfig", "w") as file:
            file.write("[user]\n name = u\n email = u@example.invalid\n[init]\n defaultBranch = main\n")
            file.write('[protocol "file"]\n allow = always\n[gc]\n auto = 0\n')
        self._write("library/lib.txt", "a library\n")
        self.git("init", "-q", ".", cwd=f"{self.top}/library")
        self.git("add", ".", cwd=f"{self.top}/library")
        self.git("commit", "-q", "-m", "library", cwd=f"{self.top}/library")
        os.makedirs(self.repo)
        self.git("init", "-q", ".")
        for path, text in {
            "a.txt": "as it was\n", "list.txt": "one\ntwo\nthree\n",
            "shared.txt": "one\n", "src/m.py": "print()\n",
            "tool.sh": "#!/bin/sh\n", "data.bin": "x" * 8192,
            ".gitignore": "*.log\nbuild/\n.env\nnode_modules/\n",
            ".gitattributes": "shared.txt merge=fmt\n",
        }.items():  # fmt: skip
            self._write(f"repo/{path}", text)
        os.chmod(f"{self.repo}/tool.sh", 0o755)
        self._write("repo/headcount.toml", self._settings())
        self.git("submodule", "--quiet", "add", f"{self.top}/library", "lib")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")
        self.git("tag", "v1")
        self._write("repo/a.txt", "stashed by the user\n")
        self.git("stash", "push", "-q")
        self._write("repo/mine.txt", "the user's own untracked file\n")
        if self.plan.caller == "worktree":
            self.git("worktree", "add", "-q", "-b", "feature", f"{self.top}/linked")

    def _write(self, path: str, text: str) -> None:
        whole = f"{self.top}/{path}"
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w") as file:
            file.write(text)

    def _settings(self) -> str:
        code = {self.plan.gate: self._script(self.plan.gate)} if self.plan.gate else {}
        text = SETTINGS.format(
            escalation=self.plan.escalation, sync=code.get("sync", ""), verify=code.get("verify", "")
        )
        terminals = [mate.name for mate in self.plan.mates if mate.terminal]
        return text + "".join(f"\n[agents.{name}]\nterminal = true\n" for name in terminals)

    def _script(self, name: str) -> str:
        """Write code of the project that succeeds and leaves a daemon behind."""
        path = f"{self.top}/side/{name}"
        words = " ".join(
            f"'{word}'" for word in command("strays", "sleeper", self.token, f"{self.locks}/{name}")
        )
        with open(path, "w") as file:
            file.write(f"#!/bin/bash\n(setsid {words} </dev/null >/dev/null 2>&1 &)\nexit 0\n")
        os.chmod(path, 0o755)
        return path

    # --- members

    def ledger(self, name: str) -> str:
        return f"{self.top}/ledger/{name}.jsonl"

    def go(self, name: str) -> str:
        return f"{self.top}/side/{name}.go"

    def agent(self, mate: Mate, task: bool) -> list[str]:
        """Write the specification of a scripted agent and return its command."""
        side = f"{self.top}/side/{mate.name}"
        os.makedirs(side, exist_ok=True)
        spec = {
            "name": mate.name, "answer": mate.answer, "work": mate.work, "strays": mate.strays, "task": task,
            "ledger": self.ledger(mate.name), "locks": self.locks, "side": side, "go": self.go(mate.name),
        }  # fmt: skip
        with open(f"{side}.json", "w") as file:
            json.dump(spec, file)
        return command("agent", f"{side}.json", self.token)

    def definition(self, mates: list[Mate], run: bool) -> str:
        """Write a definition of the team and return its path."""
        names = [mate.name for mate in mates]
        workers = [f"{m.name} = define_worker({m.name!r}, command={self.agent(m, run)!r})" for m in mates]
        team = ", ".join(f"Teammate(worker={name}, description='d', prompt='p')" for name in names)
        parts = f"Team(team=crew, description='d')[{team}]"
        if run:
            tasks = ", ".join(
                f"TaskDef(task=define_task({n!r}, {n!r}), prompt='p', worker={n})" for n in names
            )
            parts = (
                f"Workflow(name='w', team=crew, tasks_at_once={len(names)})[{parts}, "
                f"TaskPipeline(title='t')[{tasks}], "
                f"ShutdownSequence(workers=[{', '.join(names)}], reason='r')]"
            )
        text = "\n".join(
            [
                "from headcount import (Command, ShutdownSequence, TaskDef, TaskPipeline, Team, Teammate,",
                "                       Workflow, define_task, define_team, define_worker)",
                *workers,
                f"crew = define_team({TEAM!r}, [{', '.join(names)}])",
                f"doc = Command(name='x', description='y')[{parts}]",
            ]
        )
        self._write("team.py", text + "\n")
        return f"{self.top}/team.py"

    # --- commands

    def git(self, *words: str, cwd: str | None = None) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=cwd or self.repo,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            raise RuntimeError(f"git {' '.join(words)}: {done.stderr[:500]}")
        return done.stdout

    def headcount(
        self,
        *words: str,
        limit_s: float = 60.0,
        given: dict[str, str] | None = None,
        cwd: str | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Ran:
        """Run a command of headcount to its end. Output goes to files: an inherited pipe delays nothing."""
        self._outputs += 1
        out = f"{self.top}/out/{self._outputs}-{words[0]}"
        began = time.monotonic()
        with open(out + ".out", "w") as output, open(out + ".err", "w") as error:
            self.running = running = subprocess.Popen(
                [self._headcount, *words], stdin=subprocess.DEVNULL, stdout=output, stderr=error, text=True,
                cwd=cwd or self.repo, env={**self.environment, **(given or {})},
            )  # fmt: skip
            code = self._wait(running, limit_s, stop)
        self.running = None
        seconds = time.monotonic() - began
        ran = Ran(code, _text(out + ".out"), _text(out + ".err"), seconds)
        self.note(f"headcount {' '.join(words)}: exit {code} after {seconds:.1f} s")
        return ran

    def _wait(self, running: subprocess.Popen[str], limit_s: float, stop: Callable[[], bool]) -> int | None:
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline and not stop():
            try:
                return running.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        running.send_signal(signal.SIGKILL)
        running.wait()
        return None

    def note(self, line: str) -> None:
        """Keep a line in the diary of the trial, for whoever reads a failure."""
        with open(f"{self.top}/diary.txt", "a") as file:
            file.write(f"{time.strftime('%H:%M:%S')} {line}\n")


def _text(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read()


def default_headcount() -> str:
    return os.path.join(os.path.dirname(sys.executable), "headcount")
