"""Both promises while a gate runs, by the commands that a user calls."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from tests.support.lab import engine_pid

from .lab import RunLab, wait_until

HEADCOUNT = shlex.join([sys.executable, "-m", "headcount"])

# Commits the script that the gate will run, and then behaves.
WORKER = """\
cp {script} gate.sh; git add gate.sh; git commit -qm gate; headcount done
while :; do headcount inbox --wait 5 --unread > /dev/null; headcount approve > /dev/null 2>&1 && exit 0; done
"""
TEAM = """\
from headcount import Command, ShutdownSequence, TaskDef, TaskPipeline, Team, Teammate, Workflow
from headcount import define_task, define_team, define_worker
ada = define_worker("ada", command=["bash", {worker!r}])
crew = define_team("crew", [ada])
doc = Command(name="go", description="d")[
    Workflow(name="W", team=crew, verify="sh gate.sh")[
        Team(team=crew, description="d")[Teammate(worker=ada, description="d", prompt="p")],
        TaskPipeline(title="Steps")[TaskDef(task=define_task("Write it", "t"), prompt="Write it.")],
        ShutdownSequence(workers=[ada], reason="Done"),
    ]
]
"""


def define(lab: RunLab, script: str) -> str:
    """A run whose gate is a script that its member has written."""
    (lab.desk / "gate.sh").write_text(script)
    (lab.desk / "worker.sh").write_text(WORKER.format(script=lab.desk / "gate.sh"))
    (lab.desk / "team.py").write_text(TEAM.format(worker=str(lab.desk / "worker.sh")))
    lab.env["PATH"] = f"{os.path.dirname(sys.executable)}:{lab.env['PATH']}"
    return str(lab.desk / "team.py")


@pytest.mark.parametrize(
    "call",
    [HEADCOUNT, f'setsid -w env -i HOME="$HOME" PATH="$PATH" {HEADCOUNT}'],
    ids=["with its mark", "scrubbed, in a session of its own"],
)
def test_F8_a_script_of_a_member_that_a_gate_runs_is_not_the_operator(lab: RunLab, call: str) -> None:
    said = lab.desk / "said"
    # The gate's checkout is outside of the repository, as a caller without a mark would be.
    script = f"cd {lab.repo}\n{call} spawn eve --team crew -- true > {said} 2>&1\necho $? >> {said}\n"
    assert lab.run(define(lab, script))["status"] == "complete"
    *refused, code = said.read_text().split()
    assert ("[code-of-a-team]" in refused, code) == (True, "5")
    assert [entry.about for entry in lab.journal("starting")] == ["ada#1"]


def test_F8_a_gate_that_the_settings_name_as_the_operator_may_call_headcount(lab: RunLab) -> None:
    lab.settings("[gates]\nas_operator = true\n")
    said = lab.desk / "said"
    assert lab.run(define(lab, f"cd {lab.repo}\n{HEADCOUNT} status crew > {said}\n"))["status"] == "complete"
    assert "ada" in said.read_text()


@pytest.mark.parametrize("ends_with", [["sweep"], ["down", "crew", "--force"]], ids=lambda words: words[0])
def test_F52_sweep_and_closing_remove_what_a_gate_of_a_killed_engine_left(
    lab: RunLab, ends_with: list[str]
) -> None:
    before = lab.git("worktree", "list")
    at, go = lab.desk / "at", lab.desk / "go"
    script = f"pwd >> {at}; echo $$ >> {at}; while [ ! -e {go} ]; do sleep 0.05; done\n"
    run = lab.start("run", define(lab, script), "--json")
    wait_until(lambda: at.exists() and at.read_text().count("\n") == 2)
    place, pid = at.read_text().split()
    assert place in lab.git("worktree", "list")
    for holder in {run.pid, engine_pid(lab.repo / ".headcount")}:
        os.kill(holder, signal.SIGKILL)
    run.communicate()
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))  # the reaper ends the gate with its engine
    assert os.path.isdir(place)
    go.touch()  # so that a gate which begins again ends at once
    answer = lab.json(*ends_with)
    if ends_with == ["sweep"]:
        assert answer["checkouts"] == [os.path.dirname(place)]
        lab.json("down", "crew", "--force")
    assert not Path(place).parent.exists()
    assert lab.git("worktree", "list") == before
    assert os.listdir(lab.repo / ".headcount/gates") == []


def test_F53_up_warns_of_a_fetch_that_would_delete_salvages_and_its_command_prevents_it(lab: RunLab) -> None:
    origin = lab.desk / "origin"
    lab.git("clone", "--quiet", "--bare", ".", str(origin))
    lab.git("remote", "add", "origin", str(origin))
    lab.git("config", "remote.origin.fetch", "+refs/headcount/*:refs/headcount/*")
    lab.git("config", "fetch.prune", "true")
    lab.env |= {"HEADCOUNT_POLICY_ANSWER_TIMEOUT_S": "1", "HEADCOUNT_POLICY_NUDGE_TIMEOUT_S": "1"}
    (lab.desk / "dirty.sh").write_text(f"echo work > work.txt; touch {lab.desk}/ready; sleep 1000 & wait\n")
    (lab.desk / "team.py").write_text(TEAM.format(worker=str(lab.desk / "dirty.sh")))
    up = lab.headcount("up", str(lab.desk / "team.py"))
    assert up.returncode == 0, up.stderr
    [warning] = [line for line in up.stderr.splitlines() if "deletes salvages" in line]
    assert "+refs/headcount/*:refs/headcount/*" in warning
    prevents = "git config remote.origin.prune false"
    assert prevents in up.stderr
    lab.git(*shlex.split(prevents)[1:])
    wait_until((lab.desk / "ready").exists)
    [member] = lab.json("down", "crew", "--force")["members"]
    lab.git("fetch", "--quiet", "origin")
    assert lab.git("show", f"{member['salvage']}:files/work.txt") == "work\n"
    assert lab.headcount("salvage", "verify").returncode == 0
    again = lab.headcount("up", str(lab.desk / "team.py"))
    assert (again.returncode, "deletes salvages" in again.stderr) == (0, False)
    assert lab.headcount("down", "crew", "--force").returncode == 0
