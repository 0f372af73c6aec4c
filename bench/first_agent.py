"""Count the commands, and the seconds, from `pip install` to the first own agent that has done something.

    python bench/first_agent.py [--fresh]

Without --fresh it uses the headcount of this Python, and the first command is not run. With it, a new virtual
environment is made and this checkout is installed. The agent is a shell script: it commits one file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
AGENT = "echo hi > hi.txt && git add hi.txt && git commit -qm 'Say hello' && headcount idle && sleep 1000"
MOST_COMMANDS = 3
_IDENTITY = {
    f"GIT_{role}_{name}": value
    for role in ("AUTHOR", "COMMITTER")
    for name, value in (("NAME", "you"), ("EMAIL", "you@localhost"))
}


class Steps:
    def __init__(self, place: Path, environ: dict[str, str]) -> None:
        self.place = place
        self.environ = environ
        self.count = 0

    def run(self, *words: str) -> str:
        """Run what a new user types, and print how long it took."""
        self.count += 1
        began = time.monotonic()
        done = subprocess.run(
            words, cwd=self.place, env=self.environ, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        print(f"{self.count}. {time.monotonic() - began:6.1f} s  {' '.join(words)[:100]}")
        if done.returncode:
            sys.exit(f"{done.stdout}{done.stderr}")
        return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="install into a new virtual environment first")
    fresh = parser.parse_args().fresh
    with tempfile.TemporaryDirectory(prefix="headcount-first-") as scratch:
        repo, home = Path(scratch, "repo"), Path(scratch, "home")
        repo.mkdir()
        home.mkdir()
        programs = Path(sys.executable).parent
        if fresh:
            venv.create(Path(scratch, "venv"), with_pip=True)
            programs = Path(scratch, "venv", "bin")
        environ = {
            "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull,
            **_IDENTITY,
        }  # fmt: skip
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "Begin"]):
            subprocess.run(["git", *words], cwd=repo, env=environ, check=True)
        return _measure(Steps(repo, environ), fresh)


def _measure(steps: Steps, fresh: bool) -> int:
    began = time.monotonic()
    if fresh:
        steps.run("pip", "install", "-q", str(CHECKOUT))
    else:
        steps.count += 1  # which a new user types, too
    steps.run("headcount", "spawn", "ann", "--prompt", "Say hello", "--", "sh", "-c", AGENT)
    while "Say hello" not in subprocess.run(
        ["git", "log", "--all", "--format=%s"], cwd=steps.place, env=steps.environ, capture_output=True,
        text=True, check=True,
    ).stdout:  # fmt: skip
        time.sleep(0.05)
    print(f"{steps.count} commands, {time.monotonic() - began:.1f} s to the first commit of an own agent")
    counted = steps.count
    steps.run("headcount", "down", "--now")
    return 0 if counted <= MOST_COMMANDS else 1


if __name__ == "__main__":
    sys.exit(main())
