"""A repository with a commit, and the installed command run in it as a person would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.lab import IDENTITY, make_repository

COMMAND = os.path.join(os.path.dirname(sys.executable), "headcount")


class Desk:
    """Where a person works: one repository, one home, no variables of headcount."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.repo = place / "repo"
        make_repository(self.repo)
        (place / "home").mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(place / "home"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **IDENTITY,
        }

    def git(self, *words: str, cwd: Path | None = None) -> str:
        return subprocess.run(
            ["git", *words],
            cwd=cwd or self.repo,
            env=self.environ,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def run(self, *words: str, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *words], cwd=cwd or self.repo, env={**self.environ, **environ}, capture_output=True,
            text=True, timeout=100, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def answer(self, *words: str, cwd: Path | None = None, **environ: str) -> Any:
        done = self.run(*words, "--json", cwd=cwd, **environ)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
