"""Whatever a member leaves behind: stood down by force through the engine, every byte is found again."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from engine.lab import Lab, git
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from headcount.app.app import open_app
from headcount.app.salvages import restore_saved

from .members import start

# The workspace layer's own property test has them; the account of it stands apart from headcount.
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "workspace"))
from anything import ACTIONS, NAMES, Action, read_account, read_objects

EXAMPLES = int(os.environ.get("HEADCOUNT_TEST_EXAMPLES", "0"))
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.sampled_from(NAMES), st.integers(0, 9)), min_size=1, max_size=6
)


@pytest.mark.timeout(max(300, 20 * EXAMPLES))
@settings(
    max_examples=EXAMPLES or 6,
    derandomize=not EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_C2_whatever_stands_in_a_workspace_is_found_again_after_a_stand_down_by_force(
    lab: Lab, steps: list[tuple[Action, bytes, int]]
) -> None:
    note(" · ".join(f"{action.__name__}({name!r}, {n})" for action, name, n in steps))
    scratch = tempfile.mkdtemp(dir=os.path.dirname(lab.app.root))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        _check(stack, Path(scratch), steps)


def _check(stack: ExitStack, scratch: Path, steps: list[tuple[Action, bytes, int]]) -> None:
    one = _open(stack, scratch / "repo")
    place = Path(start(one, "ada"))
    for action, name, n in steps:
        with suppress(OSError):  # not possible after the steps before it, such as writing to a directory
            action(place, name, n)
    account, objects = read_account(place), read_objects(scratch / "repo")
    answer = one.ask(force=True)
    one.approve(answer)
    answer = one.finish(answer)
    assert answer["status"] == "shutdown", answer
    assert answer["deleted"] is True, answer["warnings"]
    assert not place.exists()
    assert one.marked() == []

    kept = git(str(scratch / "repo"), "rev-list", "--objects", "--all", "--no-object-names").split("\n")
    assert objects <= set(kept)
    salvage = answer["members"][0]["salvage"]
    if salvage is not None:
        restore_saved(one.app, salvage, str(scratch / "again"))
        assert read_account(scratch / "again") == account


def _open(stack: ExitStack, root: Path) -> Lab:
    """A laboratory of its own for each example: names are not used twice."""
    root.mkdir()
    git(str(root), "init", "--quiet", "-b", "main")
    (root / "a.txt").write_text("a\n")
    (root / "b.txt").write_text("b\n")
    (root / "src").mkdir()
    (root / "src" / "run.sh").write_text("true\n")
    (root / ".gitignore").write_text("ignored-*\nbuild/\n")
    git(str(root), "add", "--all")
    git(str(root), "commit", "--quiet", "-m", "first")
    app = open_app(str(root), {})
    stack.callback(app.close)
    one = Lab(app)
    stack.callback(one.stop_driving)
    one.drive()
    one.create()
    return one
