from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from termlab import TermLab

from headcount.app.app import open_app
from headcount.app.resident import driving
from tests.support.lab import end_everything, make_repository, set_environment


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TermLab]:
    set_environment(tmp_path / "home", monkeypatch)
    for name in ("NO_COLOR", "TMUX", "TMUX_PANE"):
        monkeypatch.delenv(name, raising=False)
    place = tmp_path / "repo"
    make_repository(place)
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
    end_everything(lab.app)
