"""Whatever stands in a workspace: saved, destroyed in every way git knows, every byte is found again."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from anything import ACTIONS, NAMES, Action, read_account, read_objects
from gitworld import World, git, gone, open_world
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from headcount.domain.findings import Workspace
from headcount.workspace.reflog import read_stashes
from headcount.workspace.remove import Removed, remove
from headcount.workspace.restore import restore
from headcount.workspace.verify import verify

# The same few in every run; a campaign of new ones by HEADCOUNT_TEST_EXAMPLES=500.
EXAMPLES = int(os.environ.get("HEADCOUNT_TEST_EXAMPLES", "0"))

STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.sampled_from(NAMES), st.integers(0, 9)), min_size=1, max_size=9
)


@pytest.mark.timeout(max(600, 10 * EXAMPLES))
@settings(
    max_examples=EXAMPLES or 15,
    derandomize=not EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_C2_every_byte_of_any_workspace_is_found_again_and_restored(
    world: World, steps: list[tuple[Action, bytes, int]]
) -> None:
    note(" · ".join(f"{action.__name__}({name!r}, {n})" for action, name, n in steps))
    scratch = Path(tempfile.mkdtemp(dir=world.top.parent))
    shutil.copytree(world.top, scratch / "repo")
    _check(open_world(scratch / "repo"), scratch / "restored", steps)
    for directory, _, _ in os.walk(scratch):
        os.chmod(directory, 0o700)
    shutil.rmtree(scratch)


def _check(world: World, target: Path, steps: list[tuple[Action, bytes, int]]) -> None:
    alice = world.member()
    for action, name, n in steps:
        with suppress(OSError):  # not possible after the steps before it, such as writing to a directory
            action(Path(alice.path), name, n)
    account, objects = read_account(Path(alice.path)), read_objects(world.top)
    branches = git(world.top, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
    stashes = [(stash.oid, stash.message) for stash in read_stashes(world.repo.common_dir)]

    findings = world.findings(alice)
    saved = world.salvage(alice, findings=findings)
    assert saved.complete
    assert read_account(Path(alice.path)) == account, "salvage touched the workspace"
    assert verify(world.repo, saved.ref, alice).problems == ()
    assert not world.salvage(alice).created

    _destroy(world, alice)
    kept = set(git(world.top, "rev-list", "--objects", "--all", "--no-object-names").split("\n"))
    assert objects <= kept
    assert verify(world.repo, saved.ref).problems == ()

    restore(world.repo, saved.ref, str(target))
    assert read_account(target) == account
    assert git(world.top, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads") == branches
    assert [(stash.oid, stash.message) for stash in read_stashes(world.repo.common_dir)] == stashes


def _destroy(world: World, workspace: Workspace) -> None:
    """Through the gate, then as badly as a user can: branches, stashes, reflogs, what nothing names."""
    assert isinstance(remove(world.repo, workspace, gone(workspace)), Removed)
    git(world.top, "stash", "clear")
    for name in git(world.top, "for-each-ref", "--format=%(refname:short)", "refs/heads").split("\n"):
        if name != "main":
            git(world.top, "branch", "-qD", name)
    git(world.top, "reflog", "expire", "--expire=now", "--all")
    git(world.top, "gc", "-q", "--prune=now")
