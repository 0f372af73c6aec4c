from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp_lab import Lab, make_lab


@pytest.fixture
def lab(tmp_path: Any) -> Iterator[Lab]:
    with make_lab(f"{tmp_path}/repo", f"{tmp_path}/home") as laboratory:
        yield laboratory


@pytest.fixture
def crew(lab: Lab) -> Lab:
    lab.add_team()
    return lab
