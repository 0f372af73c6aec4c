"""A watch of workspaces gives its descriptor back: all programs of a user share few of them."""

from __future__ import annotations

import os
from pathlib import Path

from headcount.workspace.change_watch import ChangeWatch


def count_watches() -> int:
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return sum(os.path.islink(link) and "inotify" in os.readlink(link) for link in links)


def test_a_watch_that_nobody_uses_any_more_holds_no_descriptor(tmp_path: Path) -> None:
    before = count_watches()
    watch = ChangeWatch()
    watch.arm("tree", [os.fsencode(tmp_path)])
    assert watch.is_quiet("tree") and count_watches() == before + 1
    del watch
    assert count_watches() == before
