"""A program in a pane of a real tmux, and a person who sits before it."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headcount.ports import SpawnSpec
from headcount.runtime.mark import new_mark
from headcount.runtime.process_runtime import Handle
from headcount.runtime.tmux import TmuxRuntime

PROGRAMS = Path(__file__).with_name("programs.py")
CHECK = "WITNESS CHECK: uncommitted changes in a.py. Signal done again when clean."
# Programs that are not ours: what a shell's own line editor and what the terminal itself make of keys.
REAL = {
    "readline": 'echo ready; while IFS= read -e -r -p "> " line; do printf "%s\\n" "$line" >> heard; done',
    "cat": "echo ready; exec cat > heard",
}
# What is on the screen when it reads: readline has the terminal only when its prompt is there.
READS = {"readline": "(?m)^>"}


class Desk:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.runtime = TmuxRuntime(str(directory))

    def start(self, program: str, columns: int = 200) -> Handle:
        self.handle = self.start_another("ada", program, self.directory, columns)
        return self.handle

    def start_another(self, member: str, program: str, place: Path, columns: int = 200) -> Handle:
        mark = str(new_mark(self.runtime.state_id, "web", member, 1))
        ours = (sys.executable, "-I", str(PROGRAMS), program)
        argv = ("bash", "-c", REAL[program]) if program in REAL else ours
        env = {"PATH": os.environ["PATH"], "TERM": "screen", "LC_ALL": "C.UTF-8"}
        handle = self.runtime.start(SpawnSpec(mark, argv, str(place), env, columns=columns))
        wait_until(lambda: re.search(READS.get(program, "ready|thinking"), self.runtime.capture(handle)))
        return handle

    def tmux(self, *words: str) -> str:
        return self.runtime._tmux(*words)

    def person_types(self, text: str) -> None:
        self.tmux("send-keys", "-t", self.handle.record.pane, "-l", text)
        wait_until(lambda: "".join(text.split()) in "".join(self.screen().split()))

    def person_pastes(self, text: str) -> None:
        """As a terminal does that knows bracketed paste."""
        self.tmux("set-buffer", "-b", "person", text)
        self.tmux("paste-buffer", "-p", "-d", "-b", "person", "-t", self.handle.record.pane)
        wait_until(lambda: text.split()[-1] in self.screen())

    def person_presses(self, key: str) -> None:
        self.tmux("send-keys", "-t", self.handle.record.pane, key)

    def in_copy_mode(self) -> bool:
        return (
            self.tmux("display-message", "-p", "-t", self.handle.record.pane, "#{pane_in_mode}").strip()
            == "1"
        )

    def screen(self) -> str:
        return self.runtime.capture(self.handle)

    def heard(self) -> list[str]:
        path = self.directory / "heard"
        return path.read_text().splitlines() if path.exists() else []

    def check_heard(self, *lines: str) -> None:
        """These and no others. What the terminal says was read, the program writes down a moment later."""
        wait_until(lambda: len(self.heard()) >= len(lines))
        assert self.heard() == list(lines)

    def wake(self) -> None:
        (self.directory / "wake").touch()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    if hasattr(desk, "handle"):
        desk.runtime.kill(desk.handle)
        desk.handle.close()
    desk.runtime._ask("kill-server")
    desk.runtime.close()


def wait_until(condition: Callable[[], object], limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.02)
