"""What git does not report is found by comparing bytes, saved, and only then removed (F20 to F31, F34)."""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from gitworld import World, git, gone, open_world

from headcount.domain.findings import Findings, Workspace
from headcount.workspace.inspection import read_findings
from headcount.workspace.remove import Refused, Removed, remove
from headcount.workspace.restore import restore
from headcount.workspace.snapshot import FILES
from headcount.workspace.verify import read_saved
from headcount.workspace.worktrees import Workspaces

SECRET = "SECRET 1234\n"


@pytest.fixture
def member(world: World) -> Workspace:
    return world.member()


@pytest.fixture
def with_library(world: World, tmp_path: Path) -> World:
    """A submodule `lib`, whose repository is on this machine."""
    library = tmp_path / "library"
    git(tmp_path, "init", "-q", "-b", "main", str(library))
    (library / "lib.txt").write_text("lib\n")
    git(library, "add", ".")
    git(library, "commit", "-qm", "library")
    git(world.top, "submodule", "add", "-q", str(library), "lib")
    git(world.top, "commit", "-qm", "submodule")
    return open_world(world.top)


def commit_all(place: Path | str, *config: str) -> None:
    git(place, *config, "add", "-A")
    git(place, "commit", "-q", "--allow-empty", "-m", "work")


def write(member: Workspace, name: str, text: str) -> Path:
    path = Path(member.path, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def assert_saved(world: World, member: Workspace, name: str, content: bytes) -> None:
    """The gate refuses, a salvage holds the bytes, and only then the gate opens."""
    assert isinstance(remove(world.repo, member, gone(member)), Refused)
    ref = world.salvage(member).ref
    leaf = read_saved(world.repo, ref).leaves[FILES + name.encode()]
    size = len(content)
    assert leaf.oid == hashlib.sha1(b"blob %d\0" % size + content, usedforsecurity=False).hexdigest()
    assert isinstance(remove(world.repo, member, gone(member)), Removed)
    assert git(world.top, "cat-file", "-s", leaf.oid) == str(size)


def kinds(findings: Findings) -> list[str]:
    return [item.kind.value for item in findings.items]


# --- repositories inside -----------------------------------------------------------------------------------


def test_F20_a_file_in_the_directory_of_an_uninitialised_submodule_is_found_and_saved(
    with_library: World,
) -> None:
    member = with_library.member()
    assert with_library.findings(member).spotless
    write(member, "lib/notes/idea.txt", "idea\n")
    assert git(member.path, "status", "--short", "--ignored") == ""

    findings = with_library.findings(member)
    assert kinds(findings) == ["submodule"] and findings.items[0].path == "lib/notes/idea.txt"
    assert_saved(with_library, member, "lib/notes/idea.txt", b"idea\n")


def test_F25_a_clone_that_was_committed_as_a_gitlink_is_saved_though_it_has_a_remote(
    world: World, member: Workspace, tmp_path: Path
) -> None:
    """`git add` makes a gitlink of any clone; the remote is a scratch directory that is gone tomorrow."""
    scratch = tmp_path / "scratch.git"
    git(tmp_path, "init", "-q", "--bare", str(scratch))
    git(member.path, "clone", "-q", str(scratch), "tool")
    write(member, "tool/tool.py", "print()\n")
    commit_all(f"{member.path}/tool")
    git(f"{member.path}/tool", "push", "-q", "origin", "HEAD")
    commit_all(member.path)
    assert git(member.path, "status", "--short") == ""

    assert "nested-repository" in kinds(world.findings(member))
    assert_saved(world, member, "tool/tool.py", b"print()\n")


def test_F25_commits_of_a_submodule_that_only_a_remote_on_this_machine_has_are_saved(
    with_library: World,
) -> None:
    member = with_library.member()
    git(member.path, "submodule", "update", "-q", "--init")
    findings = with_library.findings(member)
    assert kinds(findings) == ["local-remote"] and findings.clean
    assert_saved(with_library, member, "lib/lib.txt", b"lib\n")


# --- filters -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("worktree config", id="F21"),
        pytest.param("includeIf", id="F22"),
        pytest.param("command line", id="F23"),
        pytest.param("command line, attribute too", id="F23-attribute"),
    ],
)
def test_what_a_filter_dropped_is_saved_wherever_the_filter_was_set(
    world: World, member: Workspace, where: str, tmp_path: Path
) -> None:
    drop = "sed /SECRET/d"
    config: list[str] = []
    attributes = Path(member.path, ".gitattributes")
    attributes.write_text("*.cfg filter=drop\n")
    if where == "worktree config":
        git(world.top, "config", "extensions.worktreeConfig", "true")
        git(member.path, "config", "--worktree", "filter.drop.clean", drop)
    elif where == "includeIf":
        (tmp_path / "included").write_text(f'[filter "drop"]\n\tclean = {drop}\n')
        git(world.top, "config", f"includeIf.gitdir:{member.git_dir}.path", str(tmp_path / "included"))
    else:
        config = ["-c", f"filter.drop.clean={drop}"]
    if where == "command line, attribute too":
        attributes.unlink()
        (tmp_path / "attributes").write_text("*.cfg filter=drop\n")
        config += ["-c", f"core.attributesFile={tmp_path}/attributes"]
    app = write(member, "app.cfg", "line\n" + SECRET)
    os.utime(app, (1_000_000_000, 1_000_000_000))  # older than the index: git reads it only once
    commit_all(member.path, *config)
    assert git(member.path, "show", "HEAD:app.cfg") == "line"
    assert git(member.path, "status", "--short") == ""

    assert not world.findings(member).spotless
    assert_saved(world, member, "app.cfg", ("line\n" + SECRET).encode())


def test_F9_a_filter_of_a_submodule_alone_is_no_reason_to_send_a_member_back(with_library: World) -> None:
    """headcount does not run it, so for its git the file is modified; for the member's it is not."""
    repo = with_library.repo.as_recorded(with_library.repo.record_config())
    member = with_library.member()
    git(member.path, "submodule", "update", "-q", "--init")
    lib = f"{member.path}/lib"
    git(lib, "remote", "set-url", "origin", "https://example.org/lib")
    git(lib, "config", "filter.drop.clean", "sed /SECRET/d")
    Path(git(lib, "rev-parse", "--absolute-git-dir"), "info", "attributes").write_text("*.txt filter=drop\n")
    file = write(member, "lib/lib.txt", "lib\n" + SECRET)
    git(lib, "add", ".")
    os.utime(file, (1_000_000_000, 1_000_000_000))  # so that git reads it again
    assert git(lib, "--no-optional-locks", "status", "--short") == ""

    findings = read_findings(repo, member)
    assert kinds(findings) == ["filtered"] and findings.clean and not findings.spotless


def test_F24_what_a_filter_dropped_inside_a_submodule_is_saved(with_library: World) -> None:
    member = with_library.member()
    git(member.path, "submodule", "update", "-q", "--init")
    lib = f"{member.path}/lib"
    git(lib, "remote", "set-url", "origin", "https://example.org/lib")
    git(lib, "config", "filter.drop.clean", "sed /SECRET/d")
    Path(git(lib, "rev-parse", "--absolute-git-dir"), "info", "attributes").write_text("*.txt filter=drop\n")
    assert with_library.findings(member).spotless
    write(member, "lib/lib.txt", "lib\n" + SECRET)
    git(lib, "add", ".")
    assert git(lib, "status", "--short") == git(member.path, "status", "--short") == ""

    findings = with_library.findings(member)
    assert kinds(findings) == ["filtered"] and findings.items[0].path == "lib/lib.txt"
    assert_saved(with_library, member, "lib/lib.txt", ("lib\n" + SECRET).encode())


@pytest.mark.parametrize(
    ("attributes", "config", "on_disk"),
    [
        ("*.dat text eol=crlf", [], b"one\r\ntwo\r\n"),
        ("*.dat text=auto", ["core.autocrlf", "true"], b"one\r\ntwo\r\n"),
        ("*.dat ident", [], b"$Id: 0123456789012345678901234567890123456789 $\n"),
        ("*.dat text working-tree-encoding=UTF-16", [], "grün\n".encode("utf-16")),
        ("*.dat filter=none text eol=crlf", [], b"one\r\ntwo\r\n"),
    ],
)
def test_conversions_of_git_itself_are_not_differences(
    world: World, member: Workspace, attributes: str, config: list[str], on_disk: bytes
) -> None:
    Path(member.path, ".gitattributes").write_text(attributes + "\n")
    if config:
        git(world.top, "config", *config)
    Path(member.path, "a.dat").write_bytes(on_disk)
    commit_all(member.path)
    assert world.findings(member).spotless


def make_lfs_file(world: World, member: Workspace, content: bytes, stored: bytes | None) -> None:
    """What `git lfs` does: a pointer in git, the bytes in the store."""
    digest = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"
    Path(member.path, ".gitattributes").write_text("*.bin filter=lfs -text\n")
    Path(member.path, "big.bin").write_bytes(content)
    commit_all(member.path, "-c", f"filter.lfs.clean=printf '{pointer}'")
    git(world.top, "config", "filter.lfs.clean", f"printf '{pointer}'")
    if stored is not None:
        place = Path(world.repo.common_dir, "lfs", "objects", digest[:2], digest[2:4], digest)
        place.parent.mkdir(parents=True)
        place.write_bytes(stored)


def test_an_LFS_file_that_the_local_store_holds_is_safe(world: World, member: Workspace) -> None:
    make_lfs_file(world, member, b"large" * 1000, b"large" * 1000)
    assert world.findings(member).spotless


@pytest.mark.parametrize("stored", [None, b"", b"LARGE" * 1000])
def test_F31_an_LFS_file_whose_bytes_are_not_in_the_local_store_is_saved(
    world: World, member: Workspace, stored: bytes | None
) -> None:
    make_lfs_file(world, member, b"large" * 1000, stored)
    findings = world.findings(member)
    assert kinds(findings) == ["filtered"] and findings.clean
    assert_saved(world, member, "big.bin", b"large" * 1000)


# --- permissions and directories ---------------------------------------------------------------------------


def test_F26_an_exec_bit_is_saved_where_core_fileMode_is_false(world: World, tmp_path: Path) -> None:
    git(world.top, "config", "core.fileMode", "false")
    member = world.member()
    Path(member.path, "a.txt").chmod(0o755)
    assert git(member.path, "status", "--short") == ""

    findings = world.findings(member)
    assert kinds(findings) == ["permissions"] and findings.clean
    assert isinstance(remove(world.repo, member, gone(member)), Refused)
    ref = world.salvage(member).ref
    assert read_saved(world.repo, ref).leaves[FILES + b"a.txt"].mode == "100755"
    assert isinstance(remove(world.repo, member, gone(member)), Removed)


def test_F27_empty_directories_and_modes_are_saved_and_restored_and_are_not_dirty(
    world: World, member: Workspace, tmp_path: Path
) -> None:
    Path(member.path, "out/cache/one").mkdir(parents=True)
    Path(member.path, "a.txt").chmod(0o600)
    Path(member.path, "src").chmod(0o700)
    assert git(member.path, "status", "--short") == ""

    findings = world.findings(member)
    assert findings.clean
    assert [(item.kind.value, item.path) for item in findings.items] == [
        ("empty-directory", "out/cache/one"),
        ("permissions", "src"),
        ("permissions", "a.txt"),
    ]
    assert isinstance(remove(world.repo, member, gone(member)), Refused)
    ref = world.salvage(member).ref
    assert isinstance(remove(world.repo, member, gone(member)), Removed)
    restored = Path(restore(world.repo, ref, str(tmp_path / "restored")).path)
    assert (restored / "out/cache/one").is_dir()
    assert stat.S_IMODE((restored / "a.txt").stat().st_mode) == 0o600
    assert stat.S_IMODE((restored / "src").stat().st_mode) == 0o700


def test_what_git_wrote_under_any_umask_is_not_a_difference(world: World) -> None:
    for n, umask in enumerate((0o002, 0o022, 0o077)):
        before = os.umask(umask)
        try:
            member = world.member(f"m{n}")
            git(member.path, "checkout", "-q", "-b", f"other{n}")
            commit_all(member.path)
            write(member, "new/file.txt", "new\n")
            commit_all(member.path)
        finally:
            os.umask(before)
        assert world.findings(member).spotless


# --- commits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_EXPECTED_REV"),
        *("refs/worktree/mine", "refs/bisect/bad", "refs/rewritten/onto"),
    ],
)
def test_F28_a_commit_that_only_a_ref_of_the_worktree_names_is_saved(
    world: World, member: Workspace, name: str, tmp_path: Path
) -> None:
    tree = git(world.top, "rev-parse", "HEAD^{tree}")
    commit = git(world.top, "commit-tree", tree, "-m", "nobody else has this")
    place = Path(member.git_dir or "", name)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{commit}\n")

    assert commit in {item.oid for item in world.findings(member).items}
    assert isinstance(remove(world.repo, member, gone(member)), Refused)
    saved = world.salvage(member)
    assert isinstance(remove(world.repo, member, gone(member)), Removed)
    git(world.top, "merge-base", "--is-ancestor", commit, saved.commit)


def test_F28_all_that_a_fetch_without_a_ref_brought_is_saved(
    world: World, member: Workspace, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(world.top), str(other))
    commits = []
    for branch in ("one", "two"):
        git(other, "checkout", "-q", "-b", branch, "origin/main")
        git(other, "commit", "-q", "--allow-empty", "-m", branch)
        commits.append(git(other, "rev-parse", "HEAD"))
    git(member.path, "fetch", "-q", str(other), "one", "two")

    assert {item.oid for item in world.findings(member).items} == set(commits)
    saved = world.salvage(member)
    for commit in commits:
        git(world.top, "merge-base", "--is-ancestor", commit, saved.commit)


def test_F28_a_tree_that_only_a_pseudo_ref_names_is_saved(world: World, member: Workspace) -> None:
    blob = Path(member.path, "merged.txt")
    blob.write_text("with conflict markers\n")
    oid = git(member.path, "hash-object", "-w", "merged.txt")
    blob.unlink()
    git(member.path, "update-index", "--add", "--cacheinfo", f"100644,{oid},merged.txt")
    tree = git(member.path, "write-tree")
    git(member.path, "reset", "-q", "--hard")
    Path(member.git_dir or "", "AUTO_MERGE").write_text(f"{tree}\n")

    assert [item.oid for item in world.findings(member).items] == [tree]
    saved = world.salvage(member)
    assert oid in git(world.top, "ls-tree", "-r", saved.commit)


# --- writes that leave no trace in git's index -------------------------------------------------------------


@contextmanager
def mapped(path: Path) -> Iterator[mmap.mmap]:
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        yield memory


def test_F30_a_second_write_through_a_mapped_page_is_found_though_no_time_changes(
    world: World, member: Workspace
) -> None:
    data = Path(member.path, "data.bin")
    data.write_bytes(b"x" * 8192)
    with mapped(data) as memory:
        memory[0:4] = b"DATA"
        os.utime(data, (1_000_000_000, 1_000_000_000))  # older than the index: git reads it only once
        commit_all(member.path)
        before = data.stat()
        memory[0:8] = b"PRECIOUS"
        after = data.stat()
        content = data.read_bytes()
    assert (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)
    assert content.startswith(b"PRECIOUS")

    assert kinds(world.findings(member)) == ["hidden"]
    assert_saved(world, member, "data.bin", content)


def test_F30_no_file_is_believed_untouched_where_the_file_system_misses_mapped_writes(
    world: World,
) -> None:
    """As tmpfs does: it notices no write through memory that was read through before."""
    with TemporaryDirectory(dir="/dev/shm") as place:
        member = Workspaces(world.repo, place).create("t", "bob", 1)
        assert member.checkout and member.checkout.ended_ns == 0
        assert world.findings(member).spotless
        path = Path(member.path, "b.txt")
        git(member.path, "update-index", "--refresh")
        before = path.stat()
        with mapped(path) as memory:
            memory[0] ^= 1
        assert path.stat().st_ctime_ns == before.st_ctime_ns, "this is not a tmpfs"
        assert not world.findings(member).spotless
        world.salvage(member)
        assert isinstance(remove(world.repo, member, gone(member)), Removed)


# --- others ------------------------------------------------------------------------------------------------


def test_F34_settings_and_files_in_the_private_git_directory_are_saved(
    world: World, member: Workspace
) -> None:
    git(world.top, "config", "extensions.worktreeConfig", "true")
    git(member.path, "config", "--worktree", "user.name", "somebody else")
    Path(member.git_dir or "", "notes.txt").write_text("kept here by the member\n")

    findings = world.findings(member)
    assert kinds(findings) == ["git-directory"] * 2 and findings.clean
    assert isinstance(remove(world.repo, member, gone(member)), Refused)
    leaves = read_saved(world.repo, world.salvage(member).ref).leaves
    assert {b"gitdir/config.worktree", b"gitdir/notes.txt"} <= leaves.keys()
    assert isinstance(remove(world.repo, member, gone(member)), Removed)


def test_F34_a_nested_repository_in_an_ignored_directory_is_saved(world: World, member: Workspace) -> None:
    git(member.path, "init", "-q", "build/tool")
    write(member, "build/tool/tool.py", "print()\n")
    commit_all(f"{member.path}/build/tool")
    assert "nested-repository" in kinds(world.findings(member))
    assert_saved(world, member, "build/tool/tool.py", b"print()\n")


@pytest.mark.parametrize("how", ["split", "version 4", "sparse"])
def test_F34_bytes_are_compared_in_every_format_of_the_index(
    world: World, member: Workspace, how: str
) -> None:
    path = write(member, "a.txt", "x" * 8192)
    with mapped(path) as memory:
        memory[0:1] = b"y"
        commit_all(member.path)
        if how == "split":
            git(member.path, "update-index", "--split-index")
        elif how == "version 4":
            git(member.path, "update-index", "--index-version", "4")
        else:
            git(member.path, "sparse-checkout", "set", "--cone", "--sparse-index", "nothing")
        memory[0:4] = b"LOST"
    assert_saved(world, member, "a.txt", b"LOST" + b"x" * 8188)


def test_F34_a_name_that_is_not_UTF_8_is_compared_and_saved(world: World, member: Workspace) -> None:
    path = os.path.join(os.fsencode(member.path), b"caf\xe9.cfg")
    Path(member.path, ".gitattributes").write_text("*.cfg filter=drop\n")
    Path(os.fsdecode(path)).write_text("line\n" + SECRET)
    commit_all(member.path, "-c", "filter.drop.clean=sed /SECRET/d")
    assert kinds(world.findings(member)) in (["filtered"], ["modified"])
    ref = world.salvage(member).ref
    assert FILES + b"caf\xe9.cfg" in read_saved(world.repo, ref).leaves
    assert isinstance(remove(world.repo, member, gone(member)), Removed)
