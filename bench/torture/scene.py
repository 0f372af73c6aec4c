"""A repository with a worktree for each agent, and an account of what is left afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from torture import agent


class Scene:
    """One contender's; everything is below `place`."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.repo = f"{place}/repo"
        self._tokens = {shape: f"torture-{os.path.basename(place)}-{shape}" for shape in agent.SHAPES}
        for name in ("repo", "home", "ready", "trees"):
            os.makedirs(f"{place}/{name}")
        self.git("init", "--quiet", "-b", "main")
        Path(f"{self.repo}/file.txt").write_text("as it was\n")
        self.git("add", "file.txt")
        self.git("commit", "--quiet", "-m", "start")

    @property
    def env(self) -> dict[str, str]:
        """Nothing of the user's: no home, no git configuration, no tmux server."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "HEADCOUNT_", "TMUX"))}
        who = {f"GIT_{r}_{f}": "bench@localhost" for r in ("AUTHOR", "COMMITTER") for f in ("NAME", "EMAIL")}
        return {
            **kept, **who, "HOME": f"{self.place}/home", "GIT_CONFIG_GLOBAL": os.devnull,
            "TMUX_TMPDIR": f"{self.place}/home",
        }  # fmt: skip

    def run(self, *command: str, timeout: float = 60, **more: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=timeout, check=False,
            **{"cwd": self.repo, **more},
        )  # fmt: skip

    def git(self, *words: str) -> str:
        done = self.run("git", *words)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def worktree(self, shape: str) -> str:
        """For contenders that make none themselves."""
        path = f"{self.place}/trees/{shape}"
        self.git("worktree", "add", "--quiet", "-b", shape, path)
        return path

    def command(self, shape: str) -> list[str]:
        return [sys.executable, agent.__file__, shape, self._tokens[shape], self._ready(shape)]

    def _ready(self, shape: str) -> str:
        return f"{self.place}/ready/{shape}"

    def wait_ready(self, limit_s: float = 60) -> None:
        deadline = time.monotonic() + limit_s
        while not all(os.path.exists(self._ready(shape)) for shape in agent.SHAPES):
            if time.monotonic() > deadline:
                missing = [s for s in agent.SHAPES if not os.path.exists(self._ready(s))]
                raise TimeoutError(f"these did not start: {', '.join(missing)}")
            time.sleep(0.05)

    # --- afterwards

    def alive(self, shape: str) -> list[int]:
        needle = self._tokens[shape].encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if needle in words:
                found.append(int(pid))
        return found

    def lost(self, shape: str) -> list[str]:
        """Kinds of work that stand neither in a file below `place` nor behind a ref or a stash."""
        token = self._tokens[shape]
        kept = self._kept()
        return [kind for kind in agent.KINDS if agent.content(kind, token).encode() not in kept]

    def _kept(self) -> set[bytes]:
        """Every blob that a ref, a stash or an index leads to, and every text file that stands anywhere."""
        walks = [["--all", "--indexed-objects"]]
        if self.run("git", "rev-parse", "--verify", "--quiet", "refs/stash").returncode == 0:
            walks.append(["--walk-reflogs", "refs/stash"])
        listed = "".join(self.git("rev-list", "--objects", "--no-object-names", *walk) for walk in walks)
        kept = set(self._blobs(listed))
        for directory, _, files in os.walk(self.place):
            if "/.git" not in directory:
                kept.update(Path(directory, name).read_bytes() for name in files if name.endswith(".txt"))
        return kept

    def _blobs(self, listed: str) -> Iterator[bytes]:
        command = ["git", "-C", self.repo, "cat-file", "--batch"]
        done = subprocess.run(command, input=listed.encode(), env=self.env, capture_output=True, check=True)
        output, at = done.stdout, 0
        while at < len(output):
            header = output[at : output.index(b"\n", at)]
            start, size = at + len(header) + 1, int(header.split()[2])
            if header.split()[1] == b"blob":
                yield output[start : start + size]
            at = start + size + 1

    def end_all(self) -> None:
        """Every process that was started here, by its pid; who starts each other, more than once."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            left = [pid for shape in agent.SHAPES for pid in self.alive(shape)]
            if not left:
                return
            for pid in left:
                _signal(pid, signal.SIGSTOP)
            for pid in left:
                _signal(pid, signal.SIGKILL)
            time.sleep(0.05)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
