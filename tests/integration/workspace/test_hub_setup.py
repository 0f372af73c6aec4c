"""A hub as `headcount hub init` makes it: its settings, and the hook that tells hosts apart."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from gitworld import World, git

from headcount.errors import GitError, UsageError
from headcount.workspace.hub import RemoteHub
from headcount.workspace.hub_setup import SETTINGS, examine_hub, init_hub
from headcount.workspace.ref_names import placed_ref

LIMIT_S = 60.0


@pytest.fixture
def place(world: World, tmp_path: Path) -> Path:
    return Path(init_hub(str(tmp_path / "hub.git")))


def push(world: World, place: Path, *specs: str, host: str | None = None) -> str:
    """Push as the key of this host would, or as the operator; what the hub answered, "" if it took it."""
    env = {**os.environ, **({"HEADCOUNT_HOST": host} if host is not None else {})}
    done = subprocess.run(
        ["git", "push", "-q", str(place), *specs],
        cwd=world.top, env=env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.stderr if done.returncode else ""


def commit(world: World, text: str, parent: str = "HEAD") -> str:
    return git(world.top, "commit-tree", git(world.top, "rev-parse", "HEAD^{tree}"), "-p", parent, "-m", text)


def test_a_hub_is_made_with_its_settings_and_completing_one_changes_nothing(place: Path) -> None:
    for _ in range(2):
        assert {name: git(place, "config", name) for name in SETTINGS} == SETTINGS
        init_hub(str(place))
    assert os.access(place / "hooks" / "pre-receive", os.X_OK)
    (place.parent / "full").mkdir()
    (place.parent / "full" / "file").write_text("mine\n")
    with pytest.raises(UsageError):
        init_hub(str(place.parent / "full"))


def test_a_host_pushes_refs_of_its_own_members_and_no_others(world: World, place: Path) -> None:
    for member, host in (("alice", "h1"), ("bob", "h2")):
        assert not push(world, place, f"HEAD:{placed_ref('t', member, 1, host)}")
    for ref in (
        "refs/headcount/salvage/t/{}/1",
        "refs/headcount/salvage/t/{}/1.2",
        "refs/headcount/checkpoints/t/{}/1",
        "refs/heads/headcount/t/{}",
        "refs/heads/headcount/t/{}.rewritten",
        "refs/heads/headcount/t/{}.branches/topic/x",
    ):
        assert "not on h1" in push(world, place, f"HEAD:{ref.format('bob')}", host="h1")
        assert not push(world, place, f"HEAD:{ref.format('alice')}", host="h1")
    for ref in (
        "refs/heads/main",
        "refs/tags/x",
        "refs/headcount/placed/t/bob/1/h1",
        "refs/heads/headcount/t",
    ):
        assert "not a ref of a member" in push(world, place, f"HEAD:{ref}", host="h1")
    assert "not on h1" in push(world, place, "HEAD:refs/headcount/salvage/t/alice/2", host="h1")
    assert "not on h" in push(world, place, "HEAD:refs/headcount/salvage/t/alice/1.9", host="h")
    for name in ("", ".", "h1 ", "*", "h1\nh2"):
        assert "not the name" in push(world, place, "HEAD:refs/headcount/salvage/t/alice/1.3", host=name)
    # One push with a ref of its own and one of another's is refused as a whole.
    both = ("HEAD:refs/headcount/salvage/t/alice/1.4", "HEAD:refs/headcount/salvage/t/bob/1.4")
    assert "not on h1" in push(world, place, *both, host="h1")
    assert "1.4" not in git(place, "for-each-ref")


@pytest.mark.parametrize("host", [None, "h1"])
def test_nobody_replaces_a_salvage_or_rewrites_a_branch(world: World, place: Path, host: str | None) -> None:
    assert not push(world, place, f"HEAD:{placed_ref('t', 'alice', 1, 'h1')}")
    saved, branch = "refs/headcount/salvage/t/alice/1", "refs/heads/headcount/t/alice"
    assert not push(world, place, f"HEAD:{saved}", f"HEAD:{branch}", host=host)
    on, other = commit(world, "on"), commit(world, "other")
    assert "never replaced" in push(world, place, f"+{on}:{saved}", host=host)
    assert "never replaced" in push(world, place, f":{saved}", host=host)
    assert not push(world, place, f"{on}:{branch}", host=host)
    assert "never rewritten" in push(world, place, f"+{other}:{branch}", host=host)
    assert bool(push(world, place, f":{branch}", host=host)) is (host is not None)


def test_everything_that_headcount_pushes_passes_the_hook_and_the_checks(world: World, place: Path) -> None:
    """The settings check objects. What members write is odd at times, and a salvage holds it all."""
    member = world.member()
    for name in (".gitmodules", ".GIT", "%x", "a\\b", "con ", "."):
        if name != ".":
            (Path(member.path) / name).write_text("[submodule\n")
    (Path(member.path) / "empty").mkdir()
    saved = world.salvage(member)
    hub = RemoteHub(world.repo, str(place))
    assert hub.push({saved.ref: saved.commit}, LIMIT_S) == {saved.ref: saved.ref}
    assert hub.push({saved.ref: saved.commit}, LIMIT_S) == {saved.ref: saved.ref}
    ref = "refs/headcount/checkpoints/t/alice/1"
    for text in ("one", "another"):
        hub.push({ref: commit(world, text)}, LIMIT_S)
    hub.delete([ref], LIMIT_S)


def test_what_a_hub_lacks_is_found(world: World, place: Path, tmp_path: Path) -> None:
    assert examine_hub(world.repo, str(place), LIMIT_S) == (True, (), "")
    assert examine_hub(world.repo, f"file://{place}", LIMIT_S).unknown
    git(tmp_path, "init", "-q", "--bare", "plain.git")
    plain = examine_hub(world.repo, str(tmp_path / "plain.git"), LIMIT_S)
    assert not plain.hooked and [fault.split()[0] for fault in plain.faults] == [
        "core.fsync",
        "transfer.fsckObjects",
        "gc.auto",
    ]
    assert git(tmp_path / "plain.git", "for-each-ref") == ""  # the probe is gone
    git(tmp_path, "clone", "-q", "--bare", "--shared", str(world.top), "shared.git")
    assert "borrows objects" in examine_hub(world.repo, str(tmp_path / "shared.git"), LIMIT_S).faults[0]
    assert "itself" in examine_hub(world.repo, str(world.top / ".git"), LIMIT_S).faults[0]
    with pytest.raises(GitError):
        examine_hub(world.repo, str(tmp_path / "nowhere.git"), LIMIT_S)
