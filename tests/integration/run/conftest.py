from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lab import IDENTITY

from .lab import RunLab

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[RunLab]:
    """With a home, a git identity and an environment of its own: what the user has set is not in it."""
    env = {name: os.environ[name] for name in _KEPT if name in os.environ}
    env |= {"HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    env |= IDENTITY
    laboratory = RunLab(tmp_path, env)
    yield laboratory
    laboratory.end_everything()


@pytest.fixture(params=["plain", "tmux"])
def runtime(request: pytest.FixtureRequest, lab: RunLab) -> Iterator[str]:
    """Where everybody in the test runs; that they did is looked up afterwards."""
    lab.runtime = request.param
    lab.settings()
    yield request.param
    assert lab.started_in() == {request.param}
