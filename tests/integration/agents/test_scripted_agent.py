"""The scripted agent as a process, against a stand-in for the command line that writes down every call."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from headcount.agents.scripted import STEPS
from headcount.agents.scripted import __doc__ as scripted_doc

_STAND_IN = """
import json, os, sys
box, calls = sys.argv[1], sys.argv[2]
with open(calls, "a") as file:
    file.write(json.dumps(sys.argv[3:]) + "\\n")
if sys.argv[3] == "inbox":
    mail = json.load(open(box))
    print(json.dumps(mail[:1]))
    json.dump(mail[1:], open(box, "w"))
    if not mail:
        sys.exit(4)
"""


class Office:
    def __init__(self, directory: Path) -> None:
        self.workspace = directory / "workspace"
        self.workspace.mkdir()
        self.calls_file = directory / "calls"
        self.calls_file.touch()
        self.box = directory / "box"
        stand_in = directory / "stand_in.py"
        stand_in.write_text(_STAND_IN)
        cli = [sys.executable, "-I", "-S", str(stand_in), str(self.box), str(self.calls_file)]
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "HEADCOUNT_MEMBER": "alice",
            "HEADCOUNT_CLI": shlex.join(cli),
        }
        self.script = directory / "script.json"

    def command(self, mail: list[dict[str, Any]], script: dict[str, Any]) -> tuple[str, ...]:
        self.script.write_text(json.dumps(script))
        self.box.write_text(json.dumps(mail))
        return (sys.executable, "-m", "headcount.agents.scripted", str(self.script))

    def run(self, *mail: dict[str, Any], **script: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(list(mail), script),
            cwd=self.workspace,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def said(self) -> list[list[str]]:
        calls = [json.loads(line) for line in self.calls_file.read_text().splitlines()]
        return [call for call in calls if call[0] != "inbox"]

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.workspace, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def mail(type: str, template: str | None = None, **fields: str) -> dict[str, Any]:
    return {"id": "m1", "type": type, "template": template, "from": "lead", "body": "", **fields}


def test_every_step_is_documented() -> None:
    assert scripted_doc is not None
    table = scripted_doc.partition("do          with")[2].partition("Any step")[0]
    documented = [
        line.split()[0] for line in table.splitlines() if line.startswith("    ") and line[4] != " "
    ]
    assert sorted(documented) == sorted(STEPS)


def test_it_works_in_git_and_leaves_what_the_script_says(office: Office) -> None:
    office.git("init", "-q")
    done = office.run(
        steps=[
            {"do": "write", "path": "src/a.txt", "text": "one"},
            {"do": "commit", "message": "First"},
            {"do": "write", "path": "src/a.txt", "text": "two"},
            {"do": "stash", "message": "later"},
            {"do": "write", "path": "staged.txt", "text": "s"},
            {"do": "stage", "paths": ["staged.txt"]},
            {"do": "exit", "code": 5},
        ]
    )
    assert done.returncode == 5
    assert office.git("log", "--format=%an %s").splitlines() == ["alice First"]
    assert "later" in office.git("stash", "list")
    assert office.git("status", "--porcelain").splitlines() == ["A  staged.txt"]


def test_a_shutdown_request_is_approved_by_id_unless_the_script_says_otherwise(office: Office) -> None:
    request = mail("shutdown_request", requestId="r-7")
    assert office.run(request).returncode == 0
    assert office.said() == [["approve", "r-7"]]


def test_it_can_reject_first_and_approve_the_second_request(office: Office) -> None:
    done = office.run(
        mail("shutdown_request", requestId="r-1"),
        mail("shutdown_request", requestId="r-2"),
        on={"shutdown_request 1": [{"do": "reject", "reason": "busy with {requestId}"}]},
    )
    assert done.returncode == 0
    assert office.said() == [["reject", "r-1", "--reason", "busy with r-1"], ["approve", "r-2"]]


def test_it_can_answer_twice_and_ignore(office: Office) -> None:
    office.run(
        mail("shutdown_request", requestId="r-1"),
        mail("shutdown_request", requestId="r-2"),
        on={
            "shutdown_request 1": [],
            "shutdown_request": [{"do": "approve", "times": 2}, {"do": "exit"}],
        },
    )
    assert office.said() == [["approve", "r-2"], ["approve", "r-2"]]


def test_a_failed_verification_is_handled_by_template_with_its_metadata(office: Office) -> None:
    body = "Look:\n[TEMPLATE]: VERIFICATION_FAILED\n[ISSUE]: t-3\n\nmore"
    done = office.run(
        mail("message", "VERIFICATION_FAILED", body=body),
        steps=[{"do": "done"}, {"do": "wait_mail", "kind": "VERIFICATION_FAILED"}, {"do": "exit"}],
        on={
            "VERIFICATION_FAILED": [
                {"do": "done", "task": "{issue}"},
                {"do": "send", "to": "{from}", "subject": "s", "body": "cleaned {issue}"},
            ]
        },
    )
    assert done.returncode == 0
    assert office.said() == [["done"], ["done", "t-3"], ["send", "lead", "-s", "s", "-m", "cleaned t-3"]]


def test_it_gives_up_when_it_cannot_read_its_mail(office: Office) -> None:
    assert office.run(steps=[{"do": "wait_mail", "kind": "message", "seconds": 0.2}]).returncode == 4


def wait_until_ignored(pid: int, number: signal.Signals) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ignored = int(Path(f"/proc/{pid}/status").read_text().split("SigIgn:")[1].split()[0], 16)
        if ignored & 1 << (number - 1):
            return
        time.sleep(0.005)
    raise AssertionError(f"{number.name} is not ignored")


def test_a_stray_child_outlives_it_and_ignores_sigterm(office: Office) -> None:
    done = office.run(steps=[{"do": "stray"}])
    pid = int(done.stdout.rsplit("pid ", 1)[1])
    try:
        wait_until_ignored(pid, signal.SIGTERM)
        assert os.getsid(pid) == pid
    finally:
        os.kill(pid, 9)


def test_nudges_are_read_and_sigterm_can_be_ignored(office: Office) -> None:
    script = {
        "steps": [{"do": "ignore", "signals": ["SIGTERM"]}, {"do": "print", "text": "on"}, {"do": "hang"}]
    }
    agent = subprocess.Popen(
        office.command([], script),
        cwd=office.workspace,
        env=office.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert agent.stdin is not None
    assert agent.stdout is not None
    with agent:
        try:
            assert agent.stdout.readline() == "on\n"
            agent.terminate()
            agent.stdin.write("please commit\n")
            agent.stdin.flush()
            assert agent.stdout.readline() == "[scripted] nudged: please commit\n"
            assert agent.poll() is None
        finally:
            agent.kill()
