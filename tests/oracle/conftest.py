from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typescript import PACKAGE, TypeScript


@pytest.fixture(scope="session")
def oracle() -> Iterator[TypeScript]:
    """TypeScript's parser. CI installs it with `.ci/tools`, and fails without it."""
    if not Path(PACKAGE, "package.json").is_file():
        message = "TypeScript is not installed: run .ci/tools"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    running = TypeScript()
    yield running
    running.close()
