"""Private files are in no object of git, but in an archive that only the user can read, and are restored."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from gitworld import World, git, gone

from headcount.domain.findings import Salvage, Workspace
from headcount.domain.policy import PRIVATE, Policy
from headcount.errors import WorldError
from headcount.workspace import salvage as saving
from headcount.workspace.git_workspaces import EngineWorkspaces
from headcount.workspace.path_patterns import PathPatterns
from headcount.workspace.remove import Refused, Removed, remove
from headcount.workspace.restore import restore
from headcount.workspace.saving_rules import SavingRules
from headcount.workspace.verify import verify

SECRET = "token-that-no-object-may-hold"
RULES = SavingRules(PathPatterns(PRIVATE))


def save(world: World, workspace: Workspace, **options: Any) -> Salvage:
    return world.salvage(workspace, rules=RULES, archive_directory=archive_of(world), **options)


def archive_of(world: World) -> str:
    return str(world.top / ".headcount" / "archive")


def with_secrets(world: World) -> Workspace:
    """An ignored and an untracked secret, a link that matches, and work beside them."""
    alice = world.member()
    root = Path(alice.path)
    (root / "build").mkdir()
    (root / "build" / ".env").write_text(f"A={SECRET}\n")
    (root / "tls").mkdir()
    (root / "tls" / "server.key").write_text(f"{SECRET}\n")
    (root / "tls" / "server.key").chmod(0o600)
    (root / "tls").chmod(0o700)
    (root / ".env").symlink_to("build/.env")
    (root / ".env.example").write_text("A=\n")
    (root / "notes.txt").write_text("notes\n")
    return alice


def every_object(world: World) -> bytes:
    """The bytes of every object of the repository, reachable or not."""
    return git(world.top, "cat-file", "--batch", "--batch-all-objects", "--unordered").encode(
        errors="surrogateescape"
    )


def test_F59_private_file_is_in_no_object_and_comes_back_with_its_mode(world: World, tmp_path: Path) -> None:
    alice = with_secrets(world)
    saved = save(world, alice)
    assert SECRET.encode() not in every_object(world)
    assert b" blob 6\nnotes" in every_object(world)
    assert saved.complete and saved.private is not None
    kept = Path(saved.private.path)
    assert SECRET.encode() in kept.read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert {stat.S_IMODE(place.stat().st_mode) for place in kept.parents[:2]} == {0o700}
    assert verify(world.repo, saved.ref, alice, receipt=saved).ok
    assert isinstance(remove(world.repo, alice, gone(alice), archive_directory=archive_of(world)), Removed)
    back = Path(restore(world.repo, saved.ref, str(tmp_path / "back"), saved).path)
    assert (back / "build" / ".env").read_text() == f"A={SECRET}\n"
    assert (back / "tls" / "server.key").read_text() == f"{SECRET}\n"
    assert stat.S_IMODE((back / "tls" / "server.key").stat().st_mode) == 0o600
    assert stat.S_IMODE((back / "tls").stat().st_mode) == 0o700
    assert os.readlink(back / ".env") == "build/.env"
    assert (back / "notes.txt").read_text() == "notes\n"


def test_private_files_of_a_repository_inside_are_in_no_object_of_ours(world: World) -> None:
    alice = world.member()
    inner = Path(alice.path) / "clone"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / ".env").write_text(SECRET)
    saved = save(world, alice)
    assert SECRET.encode() not in every_object(world)
    assert saved.private is not None and SECRET.encode() in Path(saved.private.path).read_bytes()


def test_tracked_file_that_matches_is_saved_as_any_other(world: World, tmp_path: Path) -> None:
    (world.top / "test.pem").write_text("a test certificate\n")
    git(world.top, "add", "test.pem")
    git(world.top, "commit", "-qm", "certificate")
    alice = world.member()
    (Path(alice.path) / "test.pem").write_text("changed\n")
    saved = save(world, alice)
    assert saved.private is None
    assert git(world.top, "show", f"{saved.ref}:files/test.pem") == "changed"


def test_patterns_of_a_worker_come_after_those_of_the_team(world: World) -> None:
    alice = with_secrets(world)
    port = EngineWorkspaces(world.repo, world.workspaces.root, archive_of(world))
    _, saved = port.salvage(alice, Policy(), {"salvage_private": ["!server.key", "notes.txt"]})
    assert saved is not None
    names = git(world.top, "ls-tree", "-r", "--name-only", saved.ref).split("\n")
    assert "files/tls/server.key" in names and "files/notes.txt" not in names


def test_repeat_finds_the_salvage_and_its_archive(world: World) -> None:
    alice = with_secrets(world)
    first = save(world, alice)
    os.utime(Path(alice.path) / "tls" / "server.key")
    again = save(world, alice)
    assert (again.ref, again.private, again.created) == (first.ref, first.private, False)
    assert len(list(Path(archive_of(world)).rglob("*.tar"))) == 1


def test_changed_private_file_is_archived_again_and_the_first_archive_stays(world: World) -> None:
    alice = with_secrets(world)
    first = save(world, alice)
    (Path(alice.path) / "tls" / "server.key").write_text("another key\n")
    refused = remove(world.repo, alice, gone(alice), archive_directory=archive_of(world))
    assert isinstance(refused, Refused) and "server.key" in "; ".join(refused.reasons)
    second = save(world, alice)
    assert first.private and second.private and first.private.path != second.private.path
    assert SECRET.encode() in Path(first.private.path).read_bytes()
    assert isinstance(remove(world.repo, alice, gone(alice), archive_directory=archive_of(world)), Removed)


@pytest.mark.parametrize("harm", ["deleted", "damaged"])
def test_F61_workspace_stays_while_the_archive_is_not_whole(world: World, tmp_path: Path, harm: str) -> None:
    alice = with_secrets(world)
    saved = save(world, alice)
    assert saved.private is not None
    kept = Path(saved.private.path)
    if harm == "deleted":
        kept.unlink()
    else:
        kept.write_bytes(kept.read_bytes().replace(SECRET.encode(), b"x" * len(SECRET)))
    assert not verify(world.repo, saved.ref, receipt=saved).ok
    port = EngineWorkspaces(world.repo, world.workspaces.root, archive_of(world))
    assert port.check_saved(saved)
    assert isinstance(remove(world.repo, alice, gone(alice), archive_directory=archive_of(world)), Refused)
    restored = restore(world.repo, saved.ref, str(tmp_path / "back"), saved)
    assert any("private files are not here" in note for note in restored.notes)
    assert (tmp_path / "back" / "notes.txt").exists()


def test_F60_kill_between_archive_and_ref_leaves_the_archive_and_a_repeat_uses_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = with_secrets(world)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(saving, "_parents", killed)
        with pytest.raises(KeyboardInterrupt):
            save(world, alice)
    assert git(world.top, "for-each-ref", "refs/headcount") == ""
    kept = list(Path(archive_of(world)).rglob("*.tar"))
    assert len(kept) == 1
    saved = save(world, alice)
    assert saved.private is not None and saved.private.path == str(kept[0])


def test_salvage_fails_if_the_archive_cannot_be_written(world: World) -> None:
    alice = with_secrets(world)
    Path(archive_of(world)).write_text("in the way")
    with pytest.raises(WorldError):
        save(world, alice)
    assert git(world.top, "for-each-ref", "refs/headcount") == ""


def test_salvage_from_elsewhere_cannot_name_the_archive_of_another(world: World, tmp_path: Path) -> None:
    saved = save(world, with_secrets(world))
    elsewhere = "refs/headcount/salvage/t/mallory/1"
    git(world.top, "update-ref", elsewhere, saved.commit)
    restored = restore(world.repo, elsewhere, str(tmp_path / "back"), None, archive_of(world))
    assert any("private files are not here" in note for note in restored.notes)
    assert not (tmp_path / "back" / "tls" / "server.key").exists()
    own = restore(world.repo, saved.ref, str(tmp_path / "own"), None, archive_of(world))
    assert (Path(own.path) / "tls" / "server.key").read_text() == f"{SECRET}\n"


def test_worker_that_continues_from_a_salvage_gets_the_private_files(world: World) -> None:
    alice = with_secrets(world)
    port = EngineWorkspaces(world.repo, world.workspaces.root, archive_of(world))
    _, saved = port.salvage(alice, Policy(), {})
    assert saved is not None
    bob = port.create("t", "bob", 1, {"base": saved.ref})
    key = Path(bob.path) / "tls" / "server.key"
    assert key.read_text() == f"{SECRET}\n" and stat.S_IMODE(key.stat().st_mode) == 0o600


def test_F88_a_member_is_not_sent_back_for_an_untracked_private_file(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / ".env").write_text(f"A={SECRET}\n")
    findings = world.findings(alice, rules=RULES)
    assert [(item.kind.value, item.path) for item in findings.items] == [("private", ".env")]
    assert findings.clean and not findings.spotless
    saved = save(world, alice)
    assert saved.private is not None and saved.private.entries == 1
    (Path(alice.path) / "work.txt").write_text("work\n")
    assert not world.findings(alice, rules=RULES).clean
