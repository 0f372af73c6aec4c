"""Both stores hold to the same suite, so what the simulator shows on one is true of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headcount.store.memory import MemoryStore
from headcount.store.sqlite import SqliteStore
from tests.support.store_suite import StoreSuite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TestMemory(StoreSuite):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


class TestSqlite(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SqliteStore]:
        store = SqliteStore(str(tmp_path / "state"))
        yield store
        store.close()
