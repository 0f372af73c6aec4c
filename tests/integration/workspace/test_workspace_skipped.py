"""Build output that git ignores is listed and not saved; everything else that git ignores is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gitworld import World, git, gone

from headcount.domain.findings import Findings, Salvage, Skipped, Workspace
from headcount.domain.policy import PRIVATE, Policy
from headcount.workspace.git_workspaces import EngineWorkspaces
from headcount.workspace.path_patterns import PathPatterns
from headcount.workspace.remove import Refused, Removed, remove
from headcount.workspace.restore import restore
from headcount.workspace.saving_rules import SavingRules
from headcount.workspace.verify import verify

KNOWN = SavingRules(PathPatterns(PRIVATE), known=True)
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# a cache\n"


def fill(workspace: Workspace, **files: str) -> Path:
    root = Path(workspace.path)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def ignoring(world: World, *patterns: str) -> Workspace:
    """A workspace in a repository with a package.json and a Cargo.toml, where git ignores these patterns."""
    (world.top / ".gitignore").write_text("\n".join(patterns) + "\n")
    (world.top / "package.json").write_text("{}\n")
    (world.top / "Cargo.toml").write_text("[package]\n")
    git(world.top, "add", ".")
    git(world.top, "commit", "-qm", "packages")
    return world.member()


def look(world: World, workspace: Workspace, rules: SavingRules = KNOWN) -> Findings:
    return world.findings(workspace, rules=rules)


def save(world: World, workspace: Workspace, rules: SavingRules = KNOWN) -> Salvage:
    return world.salvage(workspace, rules=rules, archive_directory=archive_of(world))


def archive_of(world: World) -> str:
    return str(world.top / ".headcount" / "archive")


def names(world: World, saved: Salvage) -> set[str]:
    return set(git(world.top, "ls-tree", "-r", "--name-only", saved.ref).split("\n"))


def take_away(world: World, workspace: Workspace, **options: Any) -> Removed | Refused:
    return remove(
        world.repo, workspace, gone(workspace), archive_directory=archive_of(world), rules=KNOWN, **options
    )


@pytest.mark.parametrize(
    ("ignored", "files", "listed", "why"),
    [
        ("node_modules/", {"node_modules/a/x.js": "x"}, "node_modules/", "package.json is beside it"),
        ("target", {"target/debug/x": "x"}, "target/", "Cargo.toml is beside it"),
        (".venv/", {".venv/pyvenv.cfg": "", ".venv/lib/x.py": "x"}, ".venv/", "pyvenv.cfg is in it"),
        ("env/", {"env/pyvenv.cfg": "", "env/lib/x.py": "x"}, "env/", "pyvenv.cfg is in it"),
        ("*.pyc", {"src/__pycache__/x.pyc": "x"}, "src/__pycache__/", "Python writes it"),
        ("out/", {"out/CMakeCache.txt": "", "out/x.o": "x"}, "out/", "CMakeCache.txt is in it"),
        ("nothing", {".c/.gitignore": "*", ".c/CACHEDIR.TAG": TAG, ".c/x": "x"}, ".c/",
         "CACHEDIR.TAG is in it"),
    ],
)  # fmt: skip
def test_known_build_directory_is_listed_and_the_workspace_is_spotless(
    world: World, ignored: str, files: dict[str, str], listed: str, why: str
) -> None:
    alice = ignoring(world, ignored)
    fill(alice, **files)
    findings = look(world, alice)
    size = sum(len(text) for text in files.values())
    assert findings.skipped == (Skipped(listed, len(files), size, why),)
    assert findings.spotless
    assert Findings.from_dict(findings.as_dict()) == findings
    refused = take_away(world, alice)
    assert isinstance(refused, Refused) and "is not in the receipt" in "; ".join(refused.reasons)
    assert isinstance(take_away(world, alice, listed=findings.skipped), Removed)


@pytest.mark.parametrize(
    ("ignored", "files"),
    [
        ("node_modules/", {"sub/node_modules/patched.js": "by hand"}),  # without a package.json beside it
        ("dist/\nbuild/", {"dist/report.html": "x", "build/notes.txt": "x"}),
        ("x/", {"x/CACHEDIR.TAG": "Signature: another\n", "x/notes": "x"}),
        ("*.pyc\n*.txt", {"__pycache__/notes.txt": "x"}),
        ("env/*.py", {"env/pyvenv.cfg": "", "env/own.py": "x"}),  # git sees work beside the marker
    ],
)
def test_ignored_files_without_a_proof_are_saved(world: World, ignored: str, files: dict[str, str]) -> None:
    alice = ignoring(world, *ignored.split("\n"))
    fill(alice, **files)
    saved = save(world, alice)
    assert saved.skipped == ()
    assert {f"files/{name}" for name in files} <= names(world, saved)


def test_F63_only_files_that_git_ignores_and_does_not_track_are_skipped(world: World, tmp_path: Path) -> None:
    alice = ignoring(world, "node_modules/")
    root = fill(
        alice, **{"node_modules/a.js": "a", "node_modules/mine.js": "mine", "node_modules/c/.env": "S=1"}
    )
    git(root, "add", "-f", "node_modules/mine.js")
    inner = root / "node_modules" / "dep"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "own.js").write_text("own")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "own work")
    saved = save(world, alice)
    kept = ("node_modules/dep/", "node_modules/mine.js")
    assert saved.skipped == (Skipped("node_modules/", 2, 4, "package.json is beside it", kept),)
    assert "files/node_modules/a.js" not in names(world, saved)
    assert {"files/node_modules/mine.js", "files/node_modules/dep/own.js"} <= names(world, saved)
    assert "files/node_modules/c/.env" not in names(world, saved)
    assert verify(world.repo, saved.ref, alice, receipt=saved).ok
    assert isinstance(take_away(world, alice), Removed)
    restored = restore(world.repo, saved.ref, str(tmp_path / "back"), saved)
    back = Path(restored.path) / "node_modules"
    assert git(back / "dep", "log", "-1", "--format=%s") == "own work"
    assert not (back / "a.js").exists()
    assert any(note.startswith("node_modules/ was not saved") for note in restored.notes)


def test_patterns_of_the_settings_skip_ignored_files_only(world: World) -> None:
    alice = ignoring(world, "*.log", "gen/")
    fill(
        alice,
        **{"run.log": "log", "gen/a.c": "a", "gen/b/c.c": "bc", "gen.txt": "work", "notes.log.txt": "n"},
    )
    rules = SavingRules(skip=PathPatterns(("*.log", "gen*")))
    saved = save(world, alice, rules)
    assert [(one.path, one.files, one.bytes) for one in saved.skipped] == [("gen/", 2, 3), ("run.log", 1, 3)]
    assert {"files/gen.txt", "files/notes.log.txt"} <= names(world, saved)
    assert not {"files/run.log", "files/gen/a.c"} & names(world, saved)


def test_built_in_list_can_be_switched_off(world: World) -> None:
    alice = ignoring(world, "node_modules/")
    fill(alice, **{"node_modules/a.js": "a"})
    port = EngineWorkspaces(world.repo, world.workspaces.root, archive_of(world))
    assert port.read(alice, Policy(), {}).spotless
    off = port.read(alice, Policy(salvage_skip_known=False), {})
    assert not off.spotless and off.skipped == ()
    assert port.read(alice, Policy(salvage_skip_known=False), {"salvage_skip": ["node_modules/"]}).spotless


def test_F64_file_that_joins_a_skipped_directory_later_keeps_the_workspace(world: World) -> None:
    alice = ignoring(world, "node_modules/")
    root = fill(alice, **{"node_modules/a.js": "a"})
    listed = look(world, alice).skipped
    (root / "node_modules" / "late.js").write_text("late")
    assert isinstance(take_away(world, alice, listed=listed), Refused)
    (root / "work.txt").write_text("work")
    save(world, alice)
    (root / "node_modules" / "later.js").write_text("later")
    assert isinstance(take_away(world, alice, listed=listed), Refused)
    save(world, alice)
    assert isinstance(take_away(world, alice, listed=listed), Removed)


def test_skipped_files_do_not_count_against_the_limit_and_leave_no_bytes_in_git(world: World) -> None:
    alice = ignoring(world, "node_modules/")
    root = fill(alice, **{"work.txt": "work"})
    (root / "node_modules" / "empty").mkdir(parents=True)
    (root / "node_modules" / "large.bin").write_bytes(b"\0\1\2\3" * (1 << 19))
    saved = world.salvage(alice, rules=KNOWN, ignored_max_mb=1)
    assert saved.complete and saved.bytes < 1 << 20
    assert verify(world.repo, saved.ref, alice, receipt=saved).ok


CERTIFICATE = ".venv/lib/certifi/cacert.pem"


def test_F91_what_a_tool_put_into_build_output_is_not_private(world: World) -> None:
    alice = ignoring(world, ".venv/", "vendor/")
    fill(alice, **{".venv/pyvenv.cfg": "", CERTIFICATE: "x", "vendor/tls/test.pem": "x"})
    rules = SavingRules(PathPatterns(PRIVATE), PathPatterns(("vendor/",)), known=True)
    findings = look(world, alice, rules)
    assert findings.spotless
    assert [(one.path, one.files, one.kept) for one in findings.skipped] == [
        (".venv/", 2, ()), ("vendor/", 1, ())
    ]  # fmt: skip


def test_F91_a_pattern_that_matches_everything_skips_no_private_file(world: World) -> None:
    alice = ignoring(world, "config/", ".env", "notes")
    fill(alice, **{"config/.env": "secret", "config/x": "x", ".env": "secret", "notes": "n"})
    rules = SavingRules(PathPatterns(PRIVATE), PathPatterns(("*",)), known=True)
    saved = save(world, alice, rules)
    assert saved.private is not None and saved.private.entries == 2
    assert {one.path for one in saved.skipped} == {"config/", "notes"}
