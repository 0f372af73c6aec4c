from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .reader import Reader


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    yield reader
    reader.leave_nothing()
