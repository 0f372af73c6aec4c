from __future__ import annotations

from collections.abc import Iterator

import pytest
from emitted import Node


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    process = Node()
    yield process
    process.close()
