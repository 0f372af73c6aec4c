from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from places import Place

from headcount.runtime.plain import PlainRuntime
from headcount.runtime.tmux import TmuxRuntime


@pytest.fixture(params=["plain", "tmux"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    place = Place((PlainRuntime if request.param == "plain" else TmuxRuntime)(str(tmp_path)), tmp_path)
    yield place
    place.clean_up()


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Place]:
    place = Place(PlainRuntime(str(tmp_path)), tmp_path)
    yield place
    place.clean_up()


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Place]:
    place = Place(TmuxRuntime(str(tmp_path)), tmp_path)
    yield place
    place.clean_up()
