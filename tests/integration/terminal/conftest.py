from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from termlab import TermLab

from headcount.app.adapters import make_runtimes
from headcount.app.app import open_app
from headcount.app.resident import driving


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TermLab]:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "T")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "t@localhost")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("NO_COLOR", "TMUX", "TMUX_PANE"):
        monkeypatch.delenv(name, raising=False)
    place = tmp_path / "repo"
    place.mkdir()
    for words in (("init", "--quiet", "-b", "main"), ("commit", "--quiet", "--allow-empty", "-m", "first")):
        subprocess.run(["git", "-C", str(place), *words], check=True)
    short = tempfile.mkdtemp(prefix="hc-")  # a socket's path may have about a hundred characters
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, short)
        app = open_app(str(place), {})
        stack.callback(app.close)
        lab = TermLab(app, f"{short}/tmux")
        stack.callback(_end_everything, lab)
        stack.enter_context(driving(app))
        yield lab


def _end_everything(lab: TermLab) -> None:
    """Our own tmux server by its socket, and what carries a mark of this very state directory."""
    try:
        lab.tmux("kill-server")
    except subprocess.CalledProcessError:
        pass  # the test opened no terminal
    for runtime in (make_runtimes(lab.app)["plain"], make_runtimes(lab.app)["tmux"]):
        for mark in runtime.list_marked():
            runtime.kill(runtime.adopt(mark) or runtime.adopt_by_mark(mark), 5)
