from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from headcount.app.app import open_app
from tests.support.lab import end_everything, make_repository, set_environment

from .lab import Lab


@pytest.fixture
def lab(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    set_environment(tmp_path / "home", monkeypatch)
    make_repository(tmp_path / "repo")
    yield from _open(str(tmp_path / "repo"))


@pytest.fixture
def lab_without_git(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    set_environment(tmp_path / "home", monkeypatch)
    (tmp_path / "repo").mkdir()
    yield from _open(str(tmp_path / "repo"))


def _open(place: str) -> Iterator[Lab]:
    with ExitStack() as stack:
        app = open_app(place, {})
        stack.callback(app.close)
        laboratory = Lab(app)
        stack.callback(laboratory.stop_driving)
        laboratory.drive()
        yield laboratory
        end_everything(app)


@pytest.fixture(params=["plain", "tmux"])
def runtime(request: pytest.FixtureRequest, lab: Lab) -> Iterator[str]:
    """Where everybody in the test runs; that they did is looked up afterwards."""
    lab.runtime = request.param
    yield request.param
    assert lab.started_in() == {request.param}
