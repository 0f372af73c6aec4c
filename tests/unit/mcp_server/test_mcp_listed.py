"""The sign that a client has been told our tools, for the hook that holds its first turn."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from headcount.domain.names import TOOLS_LISTED
from headcount.mcp_server.stdio import Server

LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()


def test_the_first_list_leaves_a_sign_and_a_later_one_does_not_renew_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Renewed, it would hold the next prompt for as long as the server has run."""
    monkeypatch.setenv("HEADCOUNT_CLIENT_DIRECTORY", str(tmp_path))
    server = Server(io.BytesIO())  # type: ignore[arg-type]
    server.hear(LIST)
    assert float((tmp_path / TOOLS_LISTED).read_text()) < 5
    (tmp_path / TOOLS_LISTED).unlink()
    server.hear(LIST)
    assert not (tmp_path / TOOLS_LISTED).exists()


def test_where_nobody_waits_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_CLIENT_DIRECTORY", str(tmp_path / "gone"))
    Server(io.BytesIO()).hear(LIST)  # type: ignore[arg-type]
    assert [*tmp_path.iterdir()] == []
