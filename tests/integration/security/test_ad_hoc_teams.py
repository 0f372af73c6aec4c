"""Start without a definition, and see the teams of all repositories, with the installed command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

from tests.support.lab import make_repository

from .conftest import COMMAND, Desk

QUICK = "[policy]\nanswer_timeout_s = 1\nexit_grace_s = 0.2\n"
TEAM = """
from headcount import Command, Team, Teammate, define_team, define_worker
ann = define_worker("ann", command=["sleep", "1000"])
crew = define_team("crew", [ann])
doc = Command(name="c", description="d")[Team(team=crew, description="d")[
    Teammate(worker=ann, description="d", prompt="p")]]
"""


def test_a_spawn_makes_a_team_by_itself_and_says_how_to_end_it(desk: Desk) -> None:
    (desk.repo / "headcount.toml").write_text(QUICK)
    done = desk.run("spawn", "ann", "--prompt", "Fix it", "--", "sleep", "1000")
    assert done.stdout == (
        "Made the team team. End it with `headcount down team`.\nStarted ann#1 in team.\n"
    ), done.stderr
    assert desk.run("spawn", "bob", "--", "sleep", "1000").stdout == "Started bob#1 in team.\n"
    assert "[unknown-team]" in desk.run("spawn", "cy", "--team", "tema", "--", "true").stderr
    assert desk.answer("down", "--now")["status"] == "shutdown"
    [row] = desk.answer("teams")
    assert (row["team"], row["state"], row["members"], row["alive"]) == ("team", "shutdown", 2, 0)
    assert row["startedAt"] and row["endedAt"] and row["result"]


def test_up_without_a_file_takes_team_py_and_members_in_terminals(desk: Desk) -> None:
    refused = desk.answer("up")["error"]
    assert refused["code"] == "no-source" and "team.py" in refused["why"]
    (desk.repo / "team.py").write_text(TEAM)
    (desk.repo / "headcount.toml").write_text(QUICK)
    assert desk.answer("up", "--tmux")["team"] == "crew"
    assert (
        "headcount attach ann" in json.dumps(desk.answer("status")) or desk.answer("logs", "ann") is not None
    )
    shown = desk.run("teams").stdout
    assert shown.splitlines()[0].split() == ["TEAM", "STATE", "ALIVE", "STARTED", "ENDED", "RESULT"]
    assert desk.answer("down", "--now")["status"] == "shutdown"


def test_teams_and_pages_of_all_repositories_of_this_user(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other <b>"
    make_repository(other)
    for repo in (desk.repo, other):
        (repo / "headcount.toml").write_text(QUICK)
        assert desk.run("spawn", "ann", "--", "sleep", "1000", cwd=repo).returncode == 0
    found = desk.answer("teams", "--all", cwd=tmp_path)
    assert {one["repository"]: [row["team"] for row in one["teams"]] for one in found} == {
        str(desk.repo): ["team"], str(other): ["team"],
    }  # fmt: skip
    opened = subprocess.Popen(
        [COMMAND, "open", "--json"], cwd=tmp_path, env=desk.environ, stdout=subprocess.PIPE, text=True
    )
    assert opened.stdout is not None
    pages = json.loads(opened.stdout.readline())
    page = Path(pages["page"])
    assert page.stat().st_mode & 0o777 == 0o600 and "other &lt;b&gt;" in page.read_text()
    urls = [one["url"] for one in pages["repositories"]]
    assert len(set(urls)) == 2
    for url in urls:
        with urllib.request.urlopen(url.partition("#")[0]) as answer:
            assert answer.status == 200
    assert "shutdown" not in page.read_text()
    assert desk.answer("down", "--now", cwd=other)["status"] == "shutdown"
    deadline = time.monotonic() + 60
    while "<td>shutdown" not in page.read_text():  # it follows
        assert time.monotonic() < deadline, page.read_text()
        time.sleep(0.1)
    opened.send_signal(signal.SIGINT)
    assert opened.wait(30) == 0 and not page.exists()
    assert desk.answer("down", "--now", cwd=desk.repo)["status"] == "shutdown"
    os.rename(other, tmp_path / "moved")
    assert len(desk.answer("teams", "--all", cwd=tmp_path)) == 1
