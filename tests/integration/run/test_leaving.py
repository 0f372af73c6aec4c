"""Ctrl-C, SIGTERM, a closed terminal: whoever watches or drives leaves within seconds, whatever is under way,
and the run goes on, or the next engine continues it."""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.lab import engine_pid

from .lab import RunLab, wait_until

LEAVES_S = 30  # five, and what a loaded machine needs


def make_gate(lab: RunLab) -> str:
    """A definition with a gate that waits for `go`, and writes its process id to `began`."""
    gate = lab.desk / "gate"
    gate.write_text(f"#!/bin/sh\ncd '{lab.desk}'\necho $$ >> began\n[ -e go ] || exec sleep 1000\n")
    gate.chmod(0o755)
    return lab.define({1: ()}, reviewers=(), workflow=f"verify={str(gate)!r}")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_run_whose_terminal_is_closed_goes_on(lab: RunLab, number: signal.Signals, code: int) -> None:
    lab.plan({1: {"work": ["wait"]}})
    run = lab.start("run", lab.define({1: ()}, reviewers=()))
    lab.wait_entry("moved", about="ada#1", to="running")
    run.send_signal(number)
    _, err = run.communicate(timeout=LEAVES_S)
    assert (run.returncode, "Traceback" in err) == (code, False)
    assert "The run continues in the background." in err
    assert "Continue it with" not in lab.headcount("status").stdout
    (lab.desk / "go").touch()
    assert lab.json("run", "--follow")["status"] == "complete"


def test_a_gate_ends_with_the_engine_that_was_told_to_leave_and_is_run_again_by_the_next(lab: RunLab) -> None:
    definition = make_gate(lab)
    lab.headcount("run", definition, "--detach")
    wait_until((lab.desk / "began").exists, 60)
    engine = lab.engine()
    assert engine is not None
    os.kill(engine, signal.SIGTERM)
    wait_until(lambda: not _lives(engine), LEAVES_S)
    [gate_pid] = (lab.desk / "began").read_text().split()
    wait_until(lambda: not _lives(int(gate_pid)))
    assert lab.journal("gate") == [], "what was broken off has neither passed nor failed"
    assert not [line for line in lab.git("worktree", "list").splitlines() if "headcount-gate" in line]
    status = lab.headcount("status").stdout
    assert "run: verifying\n  No engine runs it. Continue it with `headcount run FILE`." in status
    (lab.desk / "go").touch()
    assert lab.run(definition)["status"] == "complete"
    assert lab.headcount("status", "crew").stdout.count("run: complete") == 1
    assert len((lab.desk / "began").read_text().split()) == 2


def test_a_gate_that_was_broken_off_is_not_run_for_a_team_that_is_stood_down(lab: RunLab) -> None:
    gate = f"echo >> {lab.desk}/began; sleep 1000"
    run = lab.start("run", lab.define({1: ()}, reviewers=(), workflow=f"verify={gate!r}"))
    wait_until((lab.desk / "began").exists, 60)
    lab.kill_run(run)
    assert lab.json("down", "crew")["status"] == "shutdown"
    assert (lab.desk / "began").read_text() == "\n"


def test_an_engine_leaves_although_git_hangs_and_the_next_one_goes_on(lab: RunLab, tmp_path: Path) -> None:
    """As git does on the disk of a machine that is gone: it answers nobody, whoever asks."""
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin" / "git"
    slow.write_text(
        f"#!/bin/sh\nwhile [ -e '{tmp_path}/dead' ]; do : > '{tmp_path}/hangs'; sleep 0.1; done\n"
        f"PATH='{os.environ['PATH']}'\nexec git \"$@\"\n"
    )
    slow.chmod(0o755)
    lab.env["PATH"] = f"{tmp_path}/bin{os.pathsep}{lab.env['PATH']}"
    lab.env["HEADCOUNT_POLICY_ANSWER_TIMEOUT_S"] = "1"
    lab.env["HEADCOUNT_POLICY_CHECKPOINT_S"] = "0"  # the inspection is the first to call git
    (lab.repo / "team.py").write_text(_ONE)
    lab.json("up", "team.py")
    engine = engine_pid(lab.repo / ".headcount")
    (tmp_path / "dead").touch()
    lab.headcount("down", "crew", "--no-wait")
    wait_until((tmp_path / "hangs").exists, 60)

    os.kill(engine, signal.SIGTERM)
    wait_until(lambda: not _lives(engine), LEAVES_S)
    [team] = lab.json("status")
    assert (team["driven"], team["members"][0]["state"]) == (False, "inspecting")

    (tmp_path / "dead").unlink()
    assert lab.json("down", "crew")["status"] == "shutdown"
    assert [entry.data["outcome"] for entry in lab.journal("gone")] == ["clean"]


def _lives(pid: int) -> bool:
    """A zombie does not: it holds nothing, and only waits for somebody to read its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


_ONE = """\
from headcount import Command, Team, Teammate, define_team, define_worker
ada = define_worker("ada", command=["sleep", "1000"])
crew = define_team("crew", [ada])
doc = Command(name="go", description="d")[
    Team(team=crew, description="d")[Teammate(worker=ada, description="d", prompt="p")]]
"""


def test_a_demo_that_is_interrupted_leaves_no_agent_and_loses_no_work(tmp_path: Path) -> None:
    place = tmp_path / "demo"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HEADCOUNT_")}
    words = [sys.executable, "-u", "-m", "headcount"]
    demo = subprocess.Popen(
        [*words, "demo", "--dir", str(place)], env=environ, stdout=subprocess.PIPE, text=True
    )
    assert demo.stdout is not None
    for line in demo.stdout:
        if "cy" in line and "sent back" in line:
            break
    demo.send_signal(signal.SIGINT)
    assert demo.wait(60) == 130
    status = ["status", "demo", "--json"]

    def closed() -> bool:
        done = subprocess.run([*words, *status], cwd=place, env=environ, capture_output=True, text=True)
        return '"shutdown"' in done.stdout

    wait_until(closed, 60)
    saved = subprocess.run(
        [*words, "salvage", "list"], cwd=place, env=environ, capture_output=True, text=True
    )
    assert "refs/headcount/salvage/demo/cy/1" in saved.stdout
    commands = (Path(path).read_bytes() for path in glob.glob("/proc/[0-9]*/cmdline") if os.path.exists(path))
    assert not [one for one in commands if f"{place}/agents".encode() in one]
