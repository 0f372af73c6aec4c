"""Five minutes with Claude Code, as the guide tells them: it asks, runs the tests, and you merge."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from client_lab import Lab, git
from test_client_asks import wait_ask

from headcount.app.permissions import decide_ask
from headcount.app.review import find_made, merge
from headcount.app.transcripts import read_transcript

_TEST = "python3 -B test_words.py"
_CODE = "def count(text): return len(text.split())\n"
_CHECK = "from words import count\nassert count('two words') == 2\nprint('1 passed')\n"


def test_a_member_runs_the_tests_and_the_merged_work_passes_them(open_lab: Callable[..., Lab]) -> None:
    commands = ("git mv draft.py words.py", _TEST, "git commit -m 'Count words'", "headcount done")
    steps = [{"shell": command} for command in commands]
    lab = open_lab([{"when": "You are ann", "steps": [[step] for step in steps]}])
    root = Path(lab.app.root)
    (root / "draft.py").write_text(_CODE)
    (root / "test_words.py").write_text(_CHECK)
    git(root, "add", ".")
    git(root, "commit", "-qm", "Test the words")
    lab.permit("edit")
    key = lab.start("ann", "claude", prompt="Count the words.")
    ask = wait_ask(lab, key)
    assert ask["command"] == _TEST
    decide_ask(lab.app, ask["id"] or "", "allow")
    lab.wait(key, lambda m: not m.live)
    told = "\n".join(read_transcript(lab.app, "ann", "crew"))
    assert _TEST in told and "1 passed" in told
    assert [one["subject"] for one in find_made(lab.app, "ann").log()] == ["Count words"]
    assert merge(lab.app, "ann")["commits"] == 1
    done = subprocess.run([sys.executable, "-B", "test_words.py"], cwd=root, capture_output=True, text=True)
    assert done.stdout == "1 passed\n", done.stderr
