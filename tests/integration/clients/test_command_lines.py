"""No prompt, no mail and no instructions on a command line: another user of the machine can read those."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from client_lab import CLIENTS, POLICY, TEAM, Lab

from headcount.app.member_start import Plan
from headcount.app.teams import spawn
from headcount.ports import Mail

NOBODY = 65534
PATIENT = replace(POLICY, start_timeout_s=150)
# Reads words, then prints each command line that holds one of them, until its standard input ends.
WATCH = """
import json, os, select, sys
words = [word.encode() for word in json.loads(sys.stdin.readline())]
print(os.getuid(), flush=True)
while not select.select([0], [], [], 0)[0]:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = open(f"/proc/{pid}/cmdline", "rb").read()
        except OSError:
            continue
        if any(word in line for word in words):
            print(line[:2000], flush=True)
"""


class AnotherUser:
    """Somebody without any rights, who reads every command line of the machine again and again."""

    def __init__(self, *words: str) -> None:
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
        self._process = subprocess.Popen(
            [*user, "/usr/bin/env", "python3", "-c", WATCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, cwd="/",
        )  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline().strip() == str(NOBODY)

    def seen(self) -> list[str]:
        return self._process.communicate(timeout=30)[0].splitlines()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("runtime", ["plain", "tmux"])
@pytest.mark.parametrize("client", CLIENTS)
def test_another_user_sees_no_prompt_mail_or_instructions_on_a_command_line(
    client: str, runtime: str, open_lab: Callable[..., Lab]
) -> None:
    some = secrets.token_hex(8)
    name, task, letter = f"ann-{some}", f"task-{some}", f"letter-{some}"
    told = f"You are {name},"
    lab = open_lab([{"when": told, "steps": []}], PATIENT)
    user = AnotherUser(told, task, letter)
    key = spawn(lab.app, TEAM, Plan(name, client, prompt=f"- Do {task}.", runtime=runtime)).key
    member = lab.wait(key, lambda m: _is_told(lab, task) or m.settled, 200)
    assert not member.settled, member.failure
    with lab.app.store.write() as tx:
        tx.post(Mail("", f"{TEAM}#1", "lead", key, "More", f"Do {letter}, too."))
    lab.app.store.ring([f"{TEAM}#1/{key}"])
    if runtime == "plain":  # in a terminal the engine nudges it when it is idle, by typing
        lab.wait(key, lambda m: _is_told(lab, letter) or m.settled, 120)
    assert _is_told(lab, task) and _is_told(lab, told), lab.output(key)
    assert user.seen() == []


def test_the_watcher_sees_what_is_on_a_command_line() -> None:
    """Otherwise the test above would show nothing."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    word = secrets.token_hex(8)
    user = AnotherUser(word)
    code = "import sys; print(1, flush=True); sys.stdin.read()"
    shown = subprocess.Popen(
        [sys.executable, "-c", code, word], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert shown.stdin is not None and shown.stdout is not None
    shown.stdout.readline()
    assert user._process.stdout is not None and word in user._process.stdout.readline()
    shown.communicate()
    user.seen()


def _is_told(lab: Lab, word: str) -> bool:
    return any(word in request["all"] for request in lab.standin.requests)
