"""A directory that may be listed and not entered."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headcount.workspace import disk_scan


def test_what_may_not_be_looked_at_is_said_and_the_rest_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a stand-in for the kernel's refusal, which root never hears."""
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "inside").touch()
    (tmp_path / "open").touch()
    lstat = os.lstat

    def refusing(path: bytes) -> os.stat_result:
        if path.endswith(b"inside"):
            raise PermissionError(13, "Permission denied")
        return lstat(path)

    monkeypatch.setattr(disk_scan.os, "lstat", refusing)

    listing = disk_scan.list_directory(os.fsencode(tmp_path), lambda _: False)

    assert sorted(node.path for node in listing.nodes) == [b"open", b"shut"]
    assert listing.unreadable == [(b"shut/inside", "Permission denied")]
