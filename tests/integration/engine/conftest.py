from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from headcount.app.adapters import make_runtimes
from headcount.app.app import open_app

from .lab import Lab, git


@pytest.fixture
def lab(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    _set_environment(tmp_path, monkeypatch)
    place = _make_directory(tmp_path)
    git(place, "init", "--quiet", "-b", "main")
    (tmp_path / "repo" / "README").write_text("hello\n")
    git(place, "add", "README")
    git(place, "commit", "--quiet", "-m", "first")
    yield from _open(place)


@pytest.fixture
def lab_without_git(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    _set_environment(tmp_path, monkeypatch)
    yield from _open(_make_directory(tmp_path))


def _set_environment(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "T")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "t@localhost")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def _make_directory(tmp_path: Any) -> str:
    place = str(tmp_path / "repo")
    os.mkdir(place)
    return place


def _open(place: str) -> Iterator[Lab]:
    with ExitStack() as stack:
        app = open_app(place, {})
        stack.callback(app.close)
        laboratory = Lab(app)
        stack.callback(laboratory.stop_driving)
        laboratory.drive()
        yield laboratory
        _end_everything(laboratory)


@pytest.fixture(params=["plain", "tmux"])
def runtime(request: pytest.FixtureRequest, lab: Lab) -> Iterator[str]:
    """Where everybody in the test runs; that they did is looked up afterwards."""
    lab.runtime = request.param
    yield request.param
    assert lab.started_in() == {request.param}


def _end_everything(lab: Lab) -> None:
    """Whatever a failed test left; only what carries a mark of this very state directory."""
    runtime = make_runtimes(lab.app)["plain"]
    for mark in runtime.list_marked():
        runtime.kill(runtime.adopt(mark) or runtime.adopt_by_mark(mark), 5)
