"""A daemon of a member, without environment and without parents, is not the operator (I5)."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from headcount.ports import SpawnSpec
from headcount.runtime.mark import new_mark
from headcount.runtime.plain import PlainRuntime

_ASKS = """
import sys
from headcount.app.ancestry import descends_from_member
with open(sys.argv[1], "w") as file:
    file.write(str(descends_from_member()))
"""


def test_I5_what_a_member_left_without_environment_descends_from_a_member(tmp_path: Path) -> None:
    runtime = PlainRuntime(str(tmp_path))
    asks, said = tmp_path / "asks.py", tmp_path / "said"
    asks.write_text(_ASKS)
    # Forked twice: its parent has ended when it asks, and above it is the keeper alone.
    path = os.pathsep.join(sys.path)
    script = f"( env -i PYTHONPATH={path} setsid {sys.executable} {asks} {said} & ) ; exec sleep 300"
    mark = str(new_mark(runtime.state_id, "web", "alice", 1))
    handle = runtime.start(SpawnSpec(mark, ("sh", "-c", script), str(tmp_path), {"PATH": os.environ["PATH"]}))
    try:
        deadline = time.monotonic() + 30
        while not (said.exists() and said.read_text()):
            assert time.monotonic() < deadline, "it said nothing"
            time.sleep(0.02)
        assert said.read_text() == "True"
    finally:
        assert runtime.kill(handle).empty
        handle.close()
        runtime.close()
