"""A repository, an engine in this process, a stand-in for the model, and members that are real clients."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from standin import Standin

from headcount.app.adapters import make_runtimes
from headcount.app.app import App, open_app
from headcount.app.member_start import Plan
from headcount.app.progress import follow
from headcount.app.resident import driving
from headcount.app.standing_down import stand_down
from headcount.app.team_start import wait_for
from headcount.app.teams import create_team, spawn
from headcount.domain.policy import Policy
from headcount.domain.settings import Agents
from headcount.engine.job import PROCESS
from headcount.protocol.member import Member, State
from tests.support.lab import end_everything, make_repository

TEAM = "crew"
CLIENTS = ("claude", "codex", "gemini", "opencode")
POLICY = Policy(answer_timeout_s=30, nudge_timeout_s=20, exit_grace_s=3, stop_grace_s=5, start_timeout_s=60)
_ROOT = Path(__file__).parents[3]
_CODEX = """\
model = "stand-in"
model_provider = "standin"
[model_providers.standin]
name = "standin"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "STANDIN_KEY"
# Without a network it would try for 5 seconds, at each of its ends, to send its figures and to fetch plugins.
[analytics]
enabled = false
[features]
plugins = false
"""


def installed(*names: str) -> Path:
    """Where `.ci/clients` has put the clients. Missing where CI should have them, that is a failure."""
    place = Path(os.environ.get("HEADCOUNT_CLIENTS") or _ROOT / ".clients")
    programs = place / "node_modules" / ".bin"
    if not place.exists() and not os.environ.get("CI"):
        pytest.skip("the agent clients are not installed here: run .ci/clients")
    missing = [name for name in (*CLIENTS, *names) if not (programs / name).exists()]
    assert not missing, f"{programs} has no {', '.join(missing)}: run .ci/clients"
    return programs


def user_home(place: Path, url: str, trusted: Path | None = None) -> dict[str, str]:
    """A user who has set every client up before and trusts one folder, and the variables of that user."""
    known: dict[str, Any] = {"hasCompletedOnboarding": True, "theme": "dark", "numStartups": 7}
    if trusted is not None:
        known["projects"] = {str(trusted): {"hasTrustDialogAccepted": True}}
        _write(place / ".gemini" / "trustedFolders.json", json.dumps({str(trusted): "TRUST_FOLDER"}))
    _write(place / ".claude.json", json.dumps(known))
    _write(place / ".claude" / "settings.json", json.dumps({"env": {"FROM_THE_USER": "yes"}}))
    trust = "" if trusted is None else f'[projects.{json.dumps(str(trusted))}]\ntrust_level = "trusted"\n'
    _write(place / ".codex" / "config.toml", _CODEX.format(url=url) + trust)
    _write(place / ".gemini" / "settings.json", json.dumps({
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
    }))  # fmt: skip
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "standin",
                "models": {"stand-in": {"name": "stand-in"}},
                "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"}}  # fmt: skip
    _write(place / ".config" / "opencode" / "opencode.json", json.dumps({
        "provider": {"standin": provider}, "model": "standin/stand-in", "small_model": "standin/stand-in",
    }))  # fmt: skip
    return {
        "HOME": str(place),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy-key-for-the-stand-in",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": "dummy",
        "STANDIN_KEY": "dummy",
        "OPENAI_API_KEY": "dummy",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_MODEL": "stand-in",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "gpt-5",
        "COPILOT_OFFLINE": "true",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def fingerprint(place: Path) -> dict[str, bytes | str]:
    """Every file below, byte for byte, links by what they name; without caches, and without the directory
    of Codex for running processes, which it leaves after SIGKILL and removes with its next start."""
    return {
        str(path.relative_to(place)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(place.rglob("*"))
        if (path.is_symlink() or path.is_file())
        and path.relative_to(place).parts[0] != ".cache"
        and path.relative_to(place).parts[:2] != (".codex", "tmp")
    }


def git(path: str | Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(path), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


class Lab:
    """One team, whose members talk to one stand-in."""

    def __init__(self, app: App, standin: Standin, home: Path) -> None:
        self.app = app
        self.standin = standin
        self.home = home

    def permit(self, permissions: str) -> None:
        self.app.settings = replace(self.app.settings, agents=Agents(permissions=permissions))

    def start(self, name: str, agent: str, **more: Any) -> str:
        (key,) = self.start_all(Plan(name, agent, **more))
        return key

    def start_all(self, *plans: Plan) -> list[str]:
        """At once, as a team is."""
        keys = [spawn(self.app, TEAM, plan).key for plan in plans]
        for key in keys:
            self.wait(key, lambda m: m.state is not State.STARTING, 60)
        return keys

    def member(self, key: str) -> Member:
        with self.app.store.read() as tx:
            return self.app.load(tx, TEAM).members[key]

    def wait(self, key: str, condition: Callable[[Member], bool], limit_s: float = 60) -> Member:
        team = wait_for(self.app, TEAM, lambda t: condition(t.members[key]), limit_s)
        assert condition(team.members[key]), (
            f"{team.members[key]}\n{self.output(key)}\n{self.standin.requests[-3:]}"
        )
        return team.members[key]

    def stand_down(self, *names: str, **more: Any) -> dict[str, Any]:
        return stand_down(self.app, TEAM, names or None, "enough", **more)

    def finish(self, answer: dict[str, Any]) -> dict[str, Any]:
        for now in follow(self.app, TEAM, answer):
            answer = now
        return answer

    def journal(self, *kinds: str) -> list[Any]:
        with self.app.store.read() as tx:
            return tx.journal(f"{TEAM}#1", kinds=kinds or None)

    def wait_note(self, kind: str, limit_s: float = 60) -> Any:
        deadline = time.monotonic() + limit_s
        while not (found := self.journal(kind)):
            assert time.monotonic() < deadline, f"no {kind} in the journal"
            time.sleep(0.05)
        return found[-1]

    def start_fact(self, key: str) -> Any:
        with self.app.store.read() as tx:
            return tx.fact(f"{TEAM}#1", key, "start")

    def workspace(self, key: str) -> str:
        with self.app.store.read() as tx:
            fact = tx.fact(f"{TEAM}#1", key, "workspace")
        assert fact is not None
        return str(fact["path"])

    def output(self, key: str) -> str:
        fact = self.start_fact(key)
        runtime = make_runtimes(self.app)[fact["runtime"]]
        handle = runtime.adopt(fact["mark"])
        return runtime.capture(handle) if handle else ""

    def terminal(self, key: str) -> tuple[Any, Any]:
        """The runtime, and the handle of a member in a terminal, as an engine has it."""
        runtime = make_runtimes(self.app)["tmux"]
        with self.app.store.read() as tx:
            known = tx.fact(f"{TEAM}#1", key, PROCESS)
        return runtime, runtime.adopt(self.start_fact(key)["mark"], known)

    def person_types(self, key: str, *keys: str) -> None:
        """Somebody who is attached to its terminal; keys by tmux's names."""
        runtime, handle = self.terminal(key)
        runtime._tmux("send-keys", "-t", handle.record.pane, *keys)

    def processes(self, key: str) -> list[Any]:
        return make_runtimes(self.app)["plain"].list_marked().get(self.start_fact(key)["mark"], [])

    def alive(self) -> list[str]:
        return list(make_runtimes(self.app)["plain"].list_marked())


@contextlib.contextmanager
def laboratory(
    place: Path,
    script: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    policy: Policy = POLICY,
    environ: Mapping[str, str] | None = None,
    programs: Path | None = None,
) -> Iterator[Lab]:
    """`environ` is what the user has besides; an empty value: has not. `programs`: instead of the clients."""
    programs = programs or installed()
    repo, home = place / "repo", place / "home"
    home.mkdir()
    standin = Standin(script)
    for name, value in {**user_home(home, standin.url, repo), **(environ or {})}.items():
        monkeypatch.setenv(name, value)
        if not value:
            monkeypatch.delenv(name)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "T")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "t@localhost")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    repo.mkdir()
    # Whatever a client takes for its place, it is none of the developer's.
    monkeypatch.chdir(repo)
    monkeypatch.setenv("PWD", str(repo))
    make_repository(repo)
    app = open_app(str(repo), {})
    # A sandbox inside of the machine that tests run in may not work; what is tested is not the sandbox.
    app.settings = type(app.settings)(policy=policy, agents=Agents(permissions="full"))
    monkeypatch.setenv("IS_SANDBOX", "1")
    try:
        with driving(app):
            create_team(app, TEAM, environ=os.environ)
            yield Lab(app, standin, home)
            end_everything(app)
    finally:
        app.close()
        standin.close()
        shutil.rmtree(place / "repo", ignore_errors=True)
