"""A scripted agent, started by headcount in its workspace with the arguments SPEC and TOKEN.

SPEC is a JSON file: what it is to make (`work`), what it is to start (`strays`), how it answers (`answer`).
It does its work, writes `made` to its ledger and waits while the observer takes a snapshot. Then it starts
its strays and writes `ready`. After `made` it only adds: everything in the snapshot must be
found later. Standard library only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from .ledger import Ledger
from .strays import LIFE_S, STARTS, Post, hold
from .work import SHAPES, Desk, git, write

ANSWERS = ("polite", "stays", "silent", "refuses", "tidies", "exits", "stops")
_BEGAN = time.monotonic()


def main(spec_path: str, token: str) -> None:
    with open(spec_path) as file:
        spec: dict[str, Any] = json.load(file)
    os.umask(0o022)
    ledger = Ledger(spec["ledger"])
    post = Post(token, spec["name"], spec["locks"], spec["side"], ledger)
    hold(post.lock("agent"))
    git_dir = git("rev-parse", "--absolute-git-dir", check=False)
    ledger.add(
        "began", cwd=os.getcwd(), git_dir=git_dir, generation=os.environ.get("HEADCOUNT_GENERATION", "1")
    )
    # Without its `.git` file, git would find the user's repository around the workspace and commit there.
    os.environ["GIT_CEILING_DIRECTORIES"] = os.path.dirname(os.getcwd())
    _attempt(ledger, spec["work"], lambda name: SHAPES[name](Desk(token, spec["side"])))
    ledger.add("made", cwd=os.getcwd())
    _wait_for(spec["go"])  # the observer takes its snapshot here
    _attempt(ledger, spec["strays"], lambda name: STARTS[name](post))
    ledger.add("ready")
    if spec["task"]:
        _do_task(ledger, token)
    _answer(spec["answer"])


def _wait_for(path: str) -> None:
    while not os.path.exists(path) and time.monotonic() - _BEGAN < LIFE_S:
        time.sleep(0.02)


def _attempt(ledger: Ledger, names: list[str], act: Any) -> None:
    """Perform each; two shapes that exclude each other leave the second one out, and the ledger says so."""
    for name in names:
        try:
            act(name)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            ledger.add("left_out", shape=name, why=str(error)[:300])


def _do_task(ledger: Ledger, token: str) -> None:
    """Commit a file of its own and a line in a file that all of them change, then signal done."""
    name = f"task-{os.environ['HEADCOUNT_MEMBER']}.txt"
    ledger.write(name, f"task of {token}\n".encode())
    with open("shared.txt", "a") as file:
        file.write(token + "\n")
    git("add", "-f", name, "shared.txt", check=False)
    git("commit", "-q", "-m", "task", "--", name, "shared.txt", check=False)
    _headcount("done")


def _headcount(*words: str) -> str:
    done = subprocess.run(["headcount", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout


def _answer(how: str) -> None:
    if how == "exits":
        sys.exit(0)
    if how == "stops":
        os.kill(os.getpid(), 19)
    while time.monotonic() - _BEGAN < LIFE_S:
        if how in ("silent", "stops"):
            time.sleep(0.5)
            continue
        for message in _unread():
            _react(how, message)


def _unread() -> list[dict[str, Any]]:
    began = time.monotonic()
    try:
        found = json.loads(_headcount("inbox", "--unread", "--wait", "5", "--json"))
    except ValueError:
        found = None
    if isinstance(found, dict):
        found = found.get("messages")
    if not isinstance(found, list):
        time.sleep(max(0.0, 0.5 - (time.monotonic() - began)))
        return []
    return found


def _react(how: str, message: dict[str, Any]) -> None:
    if message.get("template") == "VERIFICATION_FAILED" and how == "tidies":
        _tidy()
        _headcount("done")
    if message.get("type") != "shutdown_request":
        return
    if how == "refuses":
        _headcount("reject", "--reason", "not yet")
        return
    _headcount("approve")
    if how == "polite":
        sys.exit(0)


def _tidy() -> None:
    """Commit what is staged, then all the rest: nothing that was there is replaced."""
    write("tidied.txt", b"tidied\n")
    git("commit", "-q", "-m", "staged", check=False)
    if subprocess.run(["git", "diff", "--cached", "--quiet"], capture_output=True).returncode == 0:
        git("add", "--all", check=False)
        git("commit", "-q", "-m", "the rest", check=False)
