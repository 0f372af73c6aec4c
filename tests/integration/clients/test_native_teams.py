"""Claude Code's own teams: seen, read by their rules, saved on request; nobody is ended unnamed."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from client_lab import fingerprint, git

from headcount.app import native_teams
from headcount.app.app import open_app
from headcount.app.native_teams import end_native, observe, read_patiently, salvage_native
from headcount.errors import Declined
from headcount.runtime.reaper import start_time


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "T")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "t@localhost")
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "--quiet", "-b", "main")
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "first")
    git(repo, "worktree", "add", "--quiet", "-b", "mate", str(tmp_path / "mate"))
    return tmp_path


# Of this process alone: its teammates are looked for among all processes, those of other tests included.
TEAM = f"session-{secrets.token_hex(4)}"


@pytest.fixture
def mate() -> Iterator[subprocess.Popen[bytes]]:
    """A process with the command line of a teammate."""
    sleep = "import time; time.sleep(600)"
    words = [sys.executable, "-c", sleep, "--agent-id", f"ann@{TEAM}", "--team-name", TEAM]
    with subprocess.Popen(words) as process:
        yield process
        process.kill()


def write_team(place: Path, lead: dict[str, Any] | None) -> dict[str, str]:
    ann = {"agentId": f"ann@{TEAM}", "name": "ann", "tmuxPaneId": "%7", "backendType": "tmux",
           "cwd": str(place / "mate"), "isActive": True}  # fmt: skip
    head = {"agentId": f"team-lead@{TEAM}", "name": "team-lead", "cwd": str(place / "repo")}
    config = {"name": TEAM, "leadAgentId": f"team-lead@{TEAM}", "members": [head, ann]}
    if lead is not None:
        config["leadProcess"] = lead
    path = place / "home" / ".claude" / "teams" / TEAM / "config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(config))
    return {"HOME": str(place / "home")}


def test_a_teammate_whose_lead_is_dead_is_named_with_process_pane_and_dirt(
    place: Path, mate: subprocess.Popen[bytes]
) -> None:
    (place / "mate" / "half.txt").write_text("half")
    environ = write_team(place, {"pid": os.getpid(), "procStart": "1"})  # the pid lives, and is another's
    before = fingerprint(place / "home")
    (team,) = observe(environ)
    assert team.lead_alive is False
    (ann,) = team.orphans
    assert (ann.name, ann.pane, ann.pids) == ("ann", "%7", (mate.pid,))
    assert any("half.txt" in issue for issue in ann.issues)
    assert fingerprint(place / "home") == before


def test_a_lead_that_lives_has_no_orphans_and_its_teammates_are_not_ended(
    place: Path, mate: subprocess.Popen[bytes]
) -> None:
    environ = write_team(place, {"pid": os.getpid(), "procStart": str(start_time(os.getpid()))})
    (team,) = observe(environ)
    assert team.lead_alive is True and team.orphans == ()
    app = open_app(str(place / "repo"), {})
    with pytest.raises(Declined, match="Did not end"):
        end_native(app, team.name, mate.pid, environ)
    assert mate.poll() is None
    app.close()


def test_an_orphan_is_ended_only_when_it_is_named(place: Path, mate: subprocess.Popen[bytes]) -> None:
    environ = write_team(place, {"pid": os.getpid(), "procStart": "1"})
    app = open_app(str(place / "repo"), {})
    with pytest.raises(Declined):
        end_native(app, TEAM, os.getpid(), environ)
    assert end_native(app, TEAM, mate.pid, environ)["signalled"]
    assert mate.wait(60) == -15
    app.close()


def test_a_dirty_worktree_is_saved_on_request_and_not_touched(place: Path) -> None:
    (place / "mate" / "half.txt").write_text("half")
    environ = write_team(place, None)
    app = open_app(str(place / "repo"), {})
    (saved,) = salvage_native(app, TEAM, environ)
    kept = git(place / "repo", "ls-tree", "-r", "--name-only", saved["salvage"])
    assert any(path.endswith("half.txt") for path in kept.splitlines())
    assert (place / "mate" / "half.txt").read_text() == "half"
    app.close()


def test_a_file_that_is_being_written_is_read_when_its_writer_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_teams, "_PATIENCE_S", 60.0)
    path, lock = tmp_path / "config.json", tmp_path / "config.json.lock"
    lock.mkdir()
    path.write_text('{"name": "ha')

    def finish() -> None:
        time.sleep(0.2)
        path.write_text('{"name": "half"}')
        lock.rmdir()

    writer = threading.Thread(target=finish)
    writer.start()
    assert read_patiently(str(path)) == {"name": "half"}
    writer.join()


def test_a_stale_lock_and_a_broken_file_do_not_hold_us_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock = tmp_path / "config.json", tmp_path / "config.json.lock"
    lock.mkdir()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    path.write_text('{"name": "x"}')
    with monkeypatch.context() as patient:
        patient.setattr(native_teams, "_PATIENCE_S", 60.0)
        began = time.monotonic()
        assert read_patiently(str(path)) == {"name": "x"} and time.monotonic() - began < 50
    path.write_text("{")
    assert read_patiently(str(path)) is None
