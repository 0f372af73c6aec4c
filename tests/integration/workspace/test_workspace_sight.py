"""Git is not asked again about what nobody touched, and about everything else it is."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from gitworld import World, git, gone

from headcount.domain.findings import Findings, Workspace
from headcount.errors import GitError
from headcount.workspace import Refused, Removed, remove
from headcount.workspace.sight import Sights

SETTLED_S = 0.02  # the clock of file times goes in steps of up to 10 ms


@dataclass
class Looking:
    """Sights, and how often git was asked."""

    world: World
    workspace: Workspace
    sights: Sights
    asked: list[Findings] = field(default_factory=list)

    def read(self) -> Findings:
        return self.sights.read(self.workspace, self._ask)

    def _ask(self) -> Findings:
        self.asked.append(self.world.findings(self.workspace))
        return self.asked[-1]


@pytest.fixture
def alice(world: World) -> Looking:
    """A spotless workspace with a commit of its own, that was read once when all in it had settled."""
    member = world.member()
    Path(member.path, "a.txt").write_text("work\n")
    Path(member.path, "d").mkdir()
    Path(member.path, "d/b.txt").write_text("more\n")
    git(member.path, "add", ".")
    git(member.path, "commit", "-qm", "work")
    settle()
    looking = Looking(world, member, Sights(world.repo, SETTLED_S))
    assert looking.read().spotless and len(looking.asked) == 1
    return looking


def settle() -> None:
    time.sleep(2 * SETTLED_S)


def test_what_nobody_touched_is_not_asked_again(alice: Looking) -> None:
    first = alice.asked[0]
    again = alice.read()
    assert len(alice.asked) == 1
    assert (again.head, again.branch, again.commits_ahead, again.items) == (
        (first.head, first.branch, first.commits_ahead, ())
    )


def _rewrite_with_its_old_times(path: str) -> None:
    file = Path(path, "a.txt")
    before = file.stat()
    file.write_text("WORK\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _write_through_memory(path: str) -> None:
    with open(Path(path, "a.txt"), "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:4] = b"WORK"


def _replace_with_its_old_times(path: str) -> None:
    file = Path(path, "a.txt")
    before = file.stat()
    other = Path(path, "other")
    other.write_text("WORK\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(file)


def _stash(path: str) -> None:
    Path(path, "a.txt").write_text("stashed\n")
    git(path, "stash")


def _hide(path: str) -> None:
    git(path, "update-index", "--assume-unchanged", "a.txt")
    Path(path, "a.txt").write_text("hidden\n")


def _clone_inside(path: str) -> None:
    git(path, "init", "-q", "d/inner")


DIRTY: dict[str, Callable[[str], object]] = {
    "same size, old times": _rewrite_with_its_old_times,
    "written through memory": _write_through_memory,
    "another file, old times": _replace_with_its_old_times,
    "made executable": lambda path: os.chmod(Path(path, "a.txt"), 0o755),
    "a new file": lambda path: Path(path, "d/new.txt").write_text("new\n"),
    "a deleted file": lambda path: Path(path, "d/b.txt").unlink(),
    "staged only": lambda path: git(path, "rm", "-q", "--cached", "a.txt"),
    "stashed": _stash,
    "hidden": _hide,
    "a repository inside": _clone_inside,
    "a merge that is not ended": lambda path: Path(
        git(path, "rev-parse", "--git-dir"), "MERGE_HEAD"
    ).write_text(git(path, "rev-parse", "HEAD") + "\n"),
    "an empty operation": lambda path: git(path, "bisect", "start"),
    "its branch deleted": lambda path: git(path, "update-ref", "-d", "refs/heads/headcount/t/alice"),
}


@pytest.mark.parametrize("how", DIRTY)
def test_whatever_is_touched_is_asked_of_git_again(alice: Looking, how: str) -> None:
    DIRTY[how](alice.workspace.path)
    found = alice.read()
    assert len(alice.asked) == 2
    assert not found.spotless, "the test touched nothing that counts"


def test_a_branch_that_was_packed_away_is_asked_about_again(alice: Looking) -> None:
    git(alice.world.top, "pack-refs", "--all")
    assert alice.read().spotless
    assert len(alice.asked) == 2


def test_a_commit_since_is_seen(alice: Looking) -> None:
    git(alice.workspace.path, "commit", "-q", "--allow-empty", "-m", "another")
    assert alice.read().commits_ahead == 2


def test_what_was_written_a_moment_ago_is_not_believed_to_have_settled(alice: Looking) -> None:
    alice.sights = Sights(alice.world.repo, settled_s=3600)
    assert alice.read().spotless and alice.read().spotless
    assert len(alice.asked) == 3


def test_what_was_found_once_is_found_again_until_it_is_gone(alice: Looking) -> None:
    extra = Path(alice.workspace.path, "extra")
    extra.touch()
    settle()
    assert not alice.read().spotless and not alice.read().spotless
    assert len(alice.asked) == 3
    extra.unlink()
    settle()
    assert alice.read().spotless


def test_a_directory_without_git_is_read_every_time(alice: Looking) -> None:
    alice.workspace = replace(alice.workspace, git_dir=None)
    alice.sights = Sights(None, SETTLED_S)
    assert alice.read().items == alice.read().items != ()
    assert len(alice.asked) == 3


def test_of_very_many_files_git_is_asked(alice: Looking) -> None:
    for number in range(2001):
        Path(alice.workspace.path, f"d/{number}").touch()
    git(alice.workspace.path, "add", ".")
    git(alice.workspace.path, "commit", "-qm", "many")
    settle()
    assert alice.read().spotless and alice.read().spotless
    assert len(alice.asked) == 3


def test_C22_the_gate_is_not_passed_by_what_was_seen_before(alice: Looking) -> None:
    _rewrite_with_its_old_times(alice.workspace.path)
    answer = remove(alice.world.repo, alice.workspace, gone(alice.workspace), sights=alice.sights)
    assert isinstance(answer, Refused) and "a.txt" in "\n".join(answer.reasons)


def test_an_untouched_workspace_passes_the_gate_without_git(alice: Looking) -> None:
    repo = alice.world.repo
    without = replace(repo, git=replace(repo.git, executable="/there/is/no/git"))
    with pytest.raises(GitError, match="no/git"):
        remove(without, alice.workspace, gone(alice.workspace))
    answer = remove(without, alice.workspace, gone(alice.workspace), sights=alice.sights)
    assert isinstance(answer, Removed) and not os.path.lexists(alice.workspace.path)
