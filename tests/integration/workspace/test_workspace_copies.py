"""Ignored files of the user's checkout are copied into a new workspace, and nothing else is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from gitworld import World, git

from headcount.domain.findings import Workspace
from headcount.errors import Declined
from headcount.workspace import bring_files
from headcount.workspace.bring_files import bring, copy_content


def copy(world: World, workspace: Workspace, *names: str) -> list[str]:
    assert workspace.git_dir
    inside = world.repo.git.on(workspace.git_dir, workspace.path)
    return bring(str(world.top), workspace.path, names, inside)


@pytest.fixture
def alice(world: World) -> Workspace:
    (world.top / "key.log").write_text("secret\n")
    (world.top / "key.log").chmod(0o400)
    (world.top / "build/deep").mkdir(parents=True)
    (world.top / "build/deep/tool").write_bytes(os.urandom(3 << 20))
    (world.top / "build/deep/tool").chmod(0o755)
    (world.top / "build/link").symlink_to("deep/tool")
    (world.top / "build/deep").chmod(0o555)
    return world.member()


def test_ignored_files_and_directories_come_with_their_modes_and_links(
    world: World, alice: Workspace
) -> None:
    assert copy(world, alice, "key.log", "build/") == []
    here = Path(alice.path)
    assert (here / "build/deep/tool").read_bytes() == (world.top / "build/deep/tool").read_bytes()
    assert os.readlink(here / "build/link") == "deep/tool"
    modes = {"key.log": 0o400, "build/deep/tool": 0o755, "build/deep": 0o555}
    assert {name: stat.S_IMODE((here / name).stat().st_mode) for name in modes} == modes
    assert world.findings(alice).clean
    (world.top / "build/deep").chmod(0o755)
    (here / "build/deep").chmod(0o755)


def test_what_is_missing_or_there_already_is_said_and_not_touched(world: World, alice: Workspace) -> None:
    (Path(alice.path) / "key.log").write_text("its own\n")
    told = copy(world, alice, "key.log", ".env")
    assert told == [f".env is not in {world.top}", "key.log is in the workspace already"]
    assert (Path(alice.path) / "key.log").read_text() == "its own\n"
    (world.top / "build/deep").chmod(0o755)


@pytest.mark.parametrize(
    "name", ["a.txt", "new.txt", "../outside.log", "/etc/hostname", "way/passwd", ".git/config", "."]
)
def test_F79_nothing_that_git_would_show_or_that_is_elsewhere_is_copied(
    world: World, alice: Workspace, name: str
) -> None:
    """A tracked file, an untracked one, a way out by name or by a link, git's own files."""
    (world.top / "build/deep").chmod(0o755)
    (world.top / "new.txt").write_text("untracked\n")
    (world.top.parent / "outside.log").write_text("outside\n")
    (world.top / "way").symlink_to("/etc")
    before = git(alice.path, "status", "--porcelain", "--ignored")
    with pytest.raises(Declined) as refused:
        copy(world, alice, name)
    assert refused.value.code == "copy-refused"
    assert git(alice.path, "status", "--porcelain", "--ignored") == before


@pytest.mark.parametrize("without", [(), ("ioctl",), ("ioctl", "copy_file_range")])
def test_a_copy_is_whole_whatever_the_file_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: tuple[str, ...]
) -> None:
    def refuse(*_: object) -> int:
        raise OSError("not here")

    for name in without:
        monkeypatch.setattr(bring_files.fcntl if name == "ioctl" else os, name, refuse)
    content = os.urandom(5 << 20)
    (tmp_path / "from").write_bytes(content)
    with open(tmp_path / "from", "rb") as source, open(tmp_path / "to", "wb") as target:
        copy_content(source.fileno(), target.fileno())
    assert (tmp_path / "to").read_bytes() == content
