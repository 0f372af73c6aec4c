"""A whole team under each containment, by commands: it starts, works, speaks, is saved and proved gone."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from headcount.runtime.containment import can_make_cgroup, can_make_namespace, cgroup_of

from .lab import RunLab, wait_until

CAN = {"subreaper": True, "cgroup": can_make_cgroup(cgroup_of()), "namespace": can_make_namespace()}
TEAM = """\
from headcount import Command, Team, Teammate, define_team, define_worker
scripted = [{python!r}, "-m", "headcount.agents.scripted"]
ada = define_worker("ada", command=[*scripted, "./ada.json"])
ben = define_worker("ben", command=[*scripted, "./ben.json"])
crew = define_team("crew", [ada, ben])
doc = Command(name="x", description="y")[
    Team(team=crew, description="d")[
        Teammate(worker=ada, description="d", prompt="p"), Teammate(worker=ben, description="d", prompt="p"),
    ]
]
"""


@pytest.fixture
def team(lab: RunLab) -> str:
    """ada works, writes to the lead and approves. ben leaves unsaved work and an unmarked daemon."""
    lab.env["PATH"] = f"{os.path.dirname(sys.executable)}:{lab.env['PATH']}"
    ada = [
        {"do": "write", "path": "ada.txt", "text": "of ada\n"},
        {"do": "commit", "message": "ada"},
        {"do": "send", "to": "lead", "subject": "ready", "body": "ada is ready"},
        {"do": "listen"},
    ]
    ben = [
        {"do": "write", "path": "ben.txt", "text": "of ben\n"},
        {"do": "stray", "scrub": True},
        {"do": "send", "to": "lead", "subject": "ready", "body": "ben is ready"},
        {"do": "hang"},
    ]
    for name, steps in (("ada", ada), ("ben", ben)):
        (lab.desk / f"{name}.json").write_text(json.dumps({"steps": steps}))
    (lab.desk / "team.py").write_text(TEAM.format(python=sys.executable))
    return str(lab.desk / "team.py")


def receipt(lab: RunLab) -> dict[str, dict[str, object]]:
    [path] = (lab.repo / ".headcount/archive").glob("*/receipt.json")
    return {member["name"]: member for member in json.loads(path.read_text())["members"]}


@pytest.mark.parametrize("containment", ["subreaper", "cgroup", "namespace"])
def test_F19_a_team_works_and_is_proved_gone_by_the_containment_of_its_settings(
    lab: RunLab, team: str, containment: str
) -> None:
    if not CAN[containment]:
        pytest.skip(f"this machine gives this user no {containment}")
    lab.env |= {"HEADCOUNT_POLICY_CONTAINMENT": containment}
    _play(lab, team, f"{containment}+mark")


@pytest.mark.skipif(not CAN["namespace"], reason="this machine gives this user no namespace")
def test_F19_auto_puts_the_scripted_agent_into_a_namespace_where_there_is_no_cgroup(
    lab: RunLab, team: str
) -> None:
    """It is the one agent that was tested inside one, here. The engine sees a machine without cgroup v2."""
    site = lab.desk / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import headcount.runtime.containment as c\nc.cgroup_of = lambda pid='self': None\n"
    )
    lab.env["PYTHONPATH"] = f"{site}{os.pathsep}{lab.env.get('PYTHONPATH', '')}"
    _play(lab, team, "namespace+mark")


def _play(lab: RunLab, team: str, method: str) -> None:
    lab.env |= {"HEADCOUNT_POLICY_ANSWER_TIMEOUT_S": "2", "HEADCOUNT_POLICY_NUDGE_TIMEOUT_S": "1"}
    up = lab.headcount("up", team)
    assert up.returncode == 0, up.stdout
    heard: set[str] = set()
    wait_until(lambda: heard.update(m["from"] for m in lab.json("inbox")) or len(heard) == 2)
    done = lab.headcount("down", "crew", "--force", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["status"], answer["warnings"]) == (0, "shutdown", [])
    members = receipt(lab)
    assert {name: m["processes"]["method"] for name, m in members.items()} == {"ada": method, "ben": method}  # type: ignore[index]
    assert (members["ada"]["outcome"], members["ada"]["answer"]) == ("clean", "approved")
    assert lab.git("show", "headcount/crew/ada:ada.txt") == "of ada\n"
    [saved] = members["ben"]["salvage"]  # type: ignore[misc]
    assert lab.git("show", f"{saved['ref']}:files/ben.txt") == "of ben\n"
    wait_until(lambda: lab.marked() == [])
    assert _left(lab) == []


def _left(lab: RunLab) -> list[str]:
    """Processes in a workspace of the team, by their directory: the daemon has no mark to be found by."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{name}/cwd").startswith(f"{lab.repo}/.headcount/worktrees/"):
                found.append(Path(f"/proc/{name}/comm").read_text())
        except OSError:
            continue
    return found
