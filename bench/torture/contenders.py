"""How each contender starts the six agents, and how its user ends them. Each in its most thorough setting.

A contender is a class with `start` and `stop`; `stop` returns what it told its user. What it needs is
installed into an environment of its own below the cache directory.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from torture.agent import SHAPES
from torture.scene import Scene

GRACE_S = 5
GIVE_UP_S = 40


class Contender:
    name = ""
    package = ""
    own_workspaces = False  # it makes worktrees and cleans them up; for the others they were made before

    def __init__(self, scene: Scene, cache: str) -> None:
        self.scene = scene
        self._cache = cache

    @classmethod
    def install(cls, cache: str) -> None:
        place = f"{cache}/{cls.package}"
        if cls.package and not os.path.exists(f"{place}/.installed"):
            subprocess.run([sys.executable, "-m", "venv", place], check=True)
            pip = [f"{place}/bin/pip", "install", "--quiet", "--disable-pip-version-check", cls.package]
            subprocess.run(pip, check=True)
            Path(f"{place}/.installed").touch()

    def tool(self, name: str) -> str:
        return f"{self._cache}/{self.package}/bin/{name}"

    def version(self) -> str:
        if not self.package:
            return ""
        code = f"from importlib.metadata import version; print(version('{self.package}'))"
        return self.scene.run(self.tool("python"), "-c", code).stdout.strip()

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> str:
        raise NotImplementedError

    def close(self) -> None:
        """End what the contender itself needs."""


def told(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return f"exit {done.returncode}" + (f", “{' '.join(lines[-1].split())[:70]}”" if lines else ", nothing")


class Headcount(Contender):
    """`up` and `down --force`, with a decision for whoever stays silent."""

    name = "headcount"
    own_workspaces = True

    def version(self) -> str:
        return self._headcount("--version").stdout.split()[-1]

    def _headcount(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.scene.run(sys.executable, "-m", "headcount", *words, timeout=180)

    def start(self) -> None:
        settings = f"[policy]\nanswer_timeout_s = 2\nexit_grace_s = 1\nstop_grace_s = {GRACE_S}\n"
        Path(f"{self.scene.repo}/headcount.toml").write_text(settings)
        workers = "\n".join(
            f"w{n} = define_worker({shape!r}, command={self.scene.command(shape)!r})"
            for n, shape in enumerate(SHAPES)
        )
        names = [f"w{n}" for n in range(len(SHAPES))]
        mates = ", ".join(f"Teammate(worker={w}, description='d', prompt='p')" for w in names)
        Path(f"{self.scene.repo}/team.py").write_text(
            "from headcount import Command, Team, Teammate, define_team, define_worker\n"
            f"{workers}\ncrew = define_team('torture', [{', '.join(names)}])\n"
            f"doc = Command(name='t', description='d')[Team(team=crew, description='d')[{mates}]]\n"
        )
        done = self._headcount("up", "team.py")
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    def stop(self) -> str:
        done = self._headcount("down", "torture", "--force", "--json")
        answer = json.loads(done.stdout)
        gone = sum(m["outcome"] not in (None, "stuck") for m in answer["members"])
        saved = sum(m["salvage"] is not None for m in answer["members"])
        return f"exit {done.returncode}, {answer['status']}: {gone} gone with proof, {saved} saved"


class Tmux(Contender):
    """A session for each; `kill-session`."""

    name = "tmux"

    def version(self) -> str:
        return self.scene.run("tmux", "-V").stdout.split()[-1]

    def start(self) -> None:
        for shape in SHAPES:
            place, command = self.scene.worktree(shape), shlex.join(self.scene.command(shape))
            self.scene.run("tmux", "new-session", "-d", "-s", shape, "-c", place, command)

    def stop(self) -> str:
        return told([self.scene.run("tmux", "kill-session", "-t", f"={shape}") for shape in SHAPES][-1])


class Supervisord(Contender):
    """With `stopasgroup` and `killasgroup`; `supervisorctl stop all`, then `shutdown`."""

    name = "supervisord"
    package = "supervisor"

    def start(self) -> None:
        place = self.scene.place
        lines = [
            f"[supervisord]\nlogfile={place}/log\npidfile={place}/pid\nnodaemon=true\n"
            f"[unix_http_server]\nfile={place}/s\n[supervisorctl]\nserverurl=unix://{place}/s\n"
            "[rpcinterface:supervisor]\n"
            "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"
        ]
        lines += [
            f"[program:{shape}]\ncommand={shlex.join(self.scene.command(shape))}\nautorestart=false\n"
            f"directory={self.scene.worktree(shape)}\nstopasgroup=true\nkillasgroup=true\n"
            f"stopwaitsecs={GRACE_S}\n"
            for shape in SHAPES
        ]
        Path(f"{place}/conf").write_text("".join(lines))
        command = [self.tool("supervisord"), "-c", f"{place}/conf"]
        self._daemon = subprocess.Popen(
            command, env=self.scene.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def stop(self) -> str:
        ctl = (self.tool("supervisorctl"), "-c", f"{self.scene.place}/conf")
        stopped = self.scene.run(*ctl, "stop", "all", timeout=GIVE_UP_S)
        self.scene.run(*ctl, "shutdown", timeout=GIVE_UP_S)
        self._daemon.wait(GIVE_UP_S)
        count = stopped.stdout.count(": stopped")
        return f"exit {stopped.returncode}, “stopped” {count} of {len(SHAPES)}"


class Circus(Contender):
    """With `stop_children`; `circusctl quit --waiting`."""

    name = "circus"
    package = "circus"

    def start(self) -> None:
        place = self.scene.place
        self._endpoint = f"ipc://{place}/c"
        lines = [
            f"[circus]\nendpoint = {self._endpoint}\npubsub_endpoint = ipc://{place}/p\n"
            "stats_endpoint = \nstatsd = False\n"
        ]
        lines += [
            f"[watcher:{shape}]\ncmd = {shlex.join(self.scene.command(shape))}\nrespawn = False\n"
            f"working_dir = {self.scene.worktree(shape)}\nstop_children = True\ncopy_env = True\n"
            f"graceful_timeout = {GRACE_S}\n"
            for shape in SHAPES
        ]
        Path(f"{place}/conf.ini").write_text("".join(lines))
        command = [self.tool("circusd"), f"{place}/conf.ini"]
        self._daemon = subprocess.Popen(
            command, env=self.scene.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def stop(self) -> str:
        ctl = (self.tool("circusctl"), "--endpoint", self._endpoint, "--timeout", str(GIVE_UP_S))
        done = self.scene.run(*ctl, "quit", "--waiting", timeout=GIVE_UP_S + 10)
        return told(done) + _end(self._daemon)


class Honcho(Contender):
    """`honcho start`, ended by SIGTERM, as a service manager would."""

    name = "honcho"
    package = "honcho"

    def start(self) -> None:
        lines = [
            f"{shape}: cd {self.scene.worktree(shape)} && exec {shlex.join(self.scene.command(shape))}\n"
            for shape in SHAPES
        ]
        Path(f"{self.scene.place}/Procfile").write_text("".join(lines))
        command = [self.tool("honcho"), "start"]
        self._daemon = subprocess.Popen(
            command,
            env=self.scene.env,
            cwd=self.scene.place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> str:
        self._daemon.send_signal(signal.SIGTERM)
        try:
            return f"exit {self._daemon.wait(GIVE_UP_S)}, nothing"
        except subprocess.TimeoutExpired:
            return "nothing" + _end(self._daemon)


class Clawteam(Contender):
    """`spawn subprocess` with its own worktrees; `request-shutdown` for each, then `team cleanup --force`."""

    name = "clawteam"
    package = "clawteam"
    own_workspaces = True

    def _clawteam(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.scene.run(self.tool("clawteam"), *words)

    def start(self) -> None:
        self._clawteam("team", "spawn-team", "torture", "-n", "lead")
        for shape in SHAPES:
            done = self._clawteam(
                "spawn", "--team", "torture", "--agent-name", shape, "--workspace", "--repo", self.scene.repo,
                "--no-skip-permissions", "subprocess", "--", *self.scene.command(shape),
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)

    def stop(self) -> str:
        for shape in SHAPES:
            self._clawteam("lifecycle", "request-shutdown", "torture", "lead", shape)
        return told(self._clawteam("team", "cleanup", "torture", "--force"))


class Cao(Contender):
    """`cao-server`, its own `mock_cli` provider with our agent in its place; `cao shutdown --all`."""

    name = "cli-agent-orchestrator"
    package = "cli-agent-orchestrator"
    PORT = 9889

    def start(self) -> None:
        binaries = f"{self.scene.place}/bin"
        os.makedirs(binaries)
        chosen = "\n".join(f"*/{shape}) exec {shlex.join(self.scene.command(shape))} ;;" for shape in SHAPES)
        script = f"#!/bin/sh\nprintf '\\n\\342\\235\\257 '\ncase $PWD in\n{chosen}\nesac\n"
        Path(f"{binaries}/mock_cli").write_text(script)
        os.chmod(f"{binaries}/mock_cli", 0o755)
        # Its panes are login shells, which forget the PATH that they were given.
        Path(f"{self.scene.place}/home/.bash_profile").write_text(f'export PATH="{binaries}:$PATH"\n')
        self._env = env = {**self.scene.env, "PATH": f"{binaries}:{os.environ['PATH']}"}
        self._daemon = subprocess.Popen(
            [self.tool("cao-server")],
            env=env,
            cwd=self.scene.repo,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_listening(self.PORT)
        for shape in SHAPES:
            done = subprocess.run(
                [self.tool("cao"), "launch", "--agents", "developer", "--headless", "--auto-approve",
                 "--provider", "mock_cli", "--session-name", shape,
                 "--working-directory", self.scene.worktree(shape)],
                env=env, cwd=self.scene.repo, capture_output=True, text=True, timeout=90, check=False,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError((done.stdout + done.stderr)[-600:])

    def stop(self) -> str:
        done = subprocess.run(
            [self.tool("cao"), "shutdown", "--all"], env=self._env, capture_output=True, text=True,
            timeout=GIVE_UP_S, check=False,
        )  # fmt: skip
        return told(done)

    def close(self) -> None:
        _end(self._daemon)


def _wait_listening(port: int) -> None:
    deadline = time.monotonic() + GIVE_UP_S
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)


def _end(daemon: subprocess.Popen[bytes]) -> str:
    """Whether it had to be killed by us."""
    try:
        daemon.wait(2)
        return ""
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
        return f"; did not end itself in {GIVE_UP_S} s"


CONTENDERS: tuple[type[Contender], ...] = (Headcount, Tmux, Supervisord, Circus, Honcho, Clawteam, Cao)
