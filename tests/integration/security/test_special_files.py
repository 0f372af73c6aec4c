"""A member can put anything in the place of a file of the state: no command waits for it, or crashes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headcount.app.app import open_app

from .conftest import Desk


def make_terabyte(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "terabyte": make_terabyte,
    "nested": lambda path: path.write_bytes(b"[" * 300_000) and None,
    "directory": Path.mkdir,
}


@pytest.mark.parametrize("name", ["engine.lock", "engine.namespace", "place.json", "engine.log"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_neither_waits_nor_crashes(desk: Desk, name: str, kind: str) -> None:
    open_app(str(desk.repo), {}).close()
    path = desk.repo / ".headcount" / name
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    done = desk.run("status")
    assert done.returncode in (0, 4), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
