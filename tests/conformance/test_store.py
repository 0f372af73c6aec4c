"""Every store passes the same suite, so what the simulator shows in memory holds for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headcount.store.postgres import PostgresStore
from headcount.store.sqlite import InMemoryStore, SqliteStore
from tests.support.postgres import Cluster, empty
from tests.support.store_suite import StoreSuite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TestInMemory(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[InMemoryStore]:
        store = InMemoryStore(str(tmp_path))
        yield store
        store.close()


class TestOnDisk(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SqliteStore]:
        store = SqliteStore(str(tmp_path / "state"))
        yield store
        store.close()


class TestPostgres(StoreSuite):
    @pytest.fixture
    def store(self, postgres: Cluster) -> Iterator[PostgresStore]:
        store = PostgresStore(postgres.url())
        empty(store.url)
        yield store
        store.close()
