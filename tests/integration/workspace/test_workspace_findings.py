from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from gitworld import World, git, open_world

from headcount.domain.findings import Findings, Kind, Verdict
from headcount.workspace.inspection import read_all
from headcount.workspace.integration import Integration
from headcount.workspace.reflog import list_unclaimed


def what(findings: Findings, kind: Kind) -> list[str]:
    return [item.what for item in findings.items if item.kind is kind]


def commit(where: str, name: str, text: str) -> str:
    (Path(where) / name).write_text(text)
    git(where, "add", name)
    git(where, "commit", "-qm", f"change {name}")
    return git(where, "rev-parse", "HEAD")


def test_fresh_workspace_is_spotless_and_has_no_commits(world: World) -> None:
    findings = world.findings(world.member())
    assert findings.spotless and findings.clean
    assert findings.commits_ahead == 0


@pytest.mark.parametrize(
    "change",
    [
        "mv one tmp; mv two one; mv tmp two",
        "mv one/f tmp; mv two/f one/f; mv tmp two/f",
        "git update-index --cacheinfo 100644,$(git rev-parse HEAD:two/f),one/f",
        "git rm -q --cached one/f",
        "touch -r one/f stamp; echo 2 > one/f; touch -r stamp one/f; mv stamp ../",
        "ln -f one/f two/link",
        "chmod 700 one",
        "mkdir empty",
        "mkfifo pipe",
    ],
)
def test_every_change_after_the_checkout_is_found_where_git_is_not_asked_for_a_status(
    world: World, change: str
) -> None:
    for name in ("one", "two"):
        (world.top / name).mkdir()
        (world.top / name / "f").write_text(name[:1] * 3 + "\n")
    git(world.top, "add", ".")
    git(world.top, "commit", "-qm", "two directories")
    alice = world.member()
    assert world.findings(alice).spotless
    subprocess.run(["bash", "-ec", change], cwd=alice.path, check=True)
    findings = world.findings(alice)
    assert not findings.spotless or change == "mkfifo pipe"
    assert findings.branch == "headcount/t/alice"


def test_C19_member_without_commits_is_not_done_though_its_workspace_is_clean(world: World) -> None:
    alice = world.member()
    integration = Integration.create(world.repo, "t")
    findings = world.findings(alice, integration=integration.branch, require_merged=True)
    assert findings.clean and findings.commits_ahead == 0
    commit(alice.path, "a.txt", "work\n")
    assert world.findings(alice).commits_ahead == 1


def test_every_sort_of_change_is_named_with_its_path(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("changed\n")
    (Path(alice.path) / "new.txt").write_text("new\n")
    (Path(alice.path) / "staged.txt").write_text("staged\n")
    git(alice.path, "add", "staged.txt")
    (Path(alice.path) / "b.txt").unlink()
    findings = world.findings(alice)
    assert what(findings, Kind.MODIFIED) == ["a.txt (modified)", "b.txt (deleted)"]
    assert what(findings, Kind.UNTRACKED) == ["new.txt"]
    assert what(findings, Kind.STAGED) == ["staged.txt (added)"]
    verdict = Verdict.by_rules(findings)
    assert not verdict.clean
    assert "2 changed, not committed: a.txt (modified), b.txt (deleted)" in verdict.issues


def test_C16_staged_rename_alone_is_dirty(world: World) -> None:
    alice = world.member()
    git(alice.path, "mv", "b.txt", "moved.txt")
    findings = world.findings(alice)
    assert [item.kind for item in findings.items] == [Kind.STAGED]
    assert what(findings, Kind.STAGED) == ["moved.txt (renamed, was b.txt)"]


def conflict(world: World, alice_path: str) -> None:
    git(alice_path, "checkout", "-qb", "side")
    commit(alice_path, "a.txt", "side\n")
    git(alice_path, "checkout", "-q", "headcount/t/alice")
    commit(alice_path, "a.txt", "ours\n")


def test_C16_conflict_alone_is_dirty(world: World) -> None:
    alice = world.member()
    conflict(world, alice.path)
    git(alice.path, "merge", "side", ok=False)
    os.unlink(os.path.join(alice.git_dir or "", "MERGE_HEAD"))
    findings = world.findings(alice)
    assert what(findings, Kind.CONFLICT) == ["a.txt"]
    assert {item.kind for item in findings.dirty} == {Kind.CONFLICT}


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (["merge", "side"], "merge"),
        (["cherry-pick", "side"], "cherry-pick"),
        (["rebase", "side"], "rebase"),
        (["rebase", "--apply", "side"], "rebase"),
        (["revert", "--no-commit", "HEAD"], "revert"),
    ],
)
def test_C23_operation_in_progress_is_dirty_and_named(world: World, start: list[str], name: str) -> None:
    alice = world.member()
    conflict(world, alice.path)
    git(alice.path, *start, ok=False)
    found = what(world.findings(alice), Kind.OPERATION)
    assert len(found) == 1 and found[0].startswith(name)


def test_C23_bisect_and_am_are_dirty(world: World, tmp_path: Path) -> None:
    alice, bob = world.member(), world.member("bob")
    git(alice.path, "bisect", "start")
    assert what(world.findings(alice), Kind.OPERATION) == ["bisect (BISECT_LOG)"]
    commit(bob.path, "a.txt", "x\n")
    git(bob.path, "format-patch", "-1", "-o", str(tmp_path / "patches"))
    commit(bob.path, "a.txt", "y\n")
    git(bob.path, "am", *map(str, (tmp_path / "patches").iterdir()), ok=False)
    assert what(world.findings(bob), Kind.OPERATION)[0].startswith("am")


def test_C23_autostash_of_a_rebase_is_found(world: World) -> None:
    alice = world.member()
    conflict(world, alice.path)
    (Path(alice.path) / "b.txt").write_text("put aside\n")
    git(alice.path, "rebase", "--autostash", "side", ok=False)
    stash = [item for item in world.findings(alice).items if item.kind is Kind.STASH]
    assert len(stash) == 1 and stash[0].oid and "autostash" in stash[0].what
    assert git(alice.path, "show", f"{stash[0].oid}:b.txt") == "put aside"


def test_C23_detached_head_with_commits_on_no_branch_is_dirty_and_without_is_not(world: World) -> None:
    alice = world.member()
    git(alice.path, "checkout", "-q", "--detach")
    assert world.findings(alice).clean
    oid = commit(alice.path, "a.txt", "floating\n")
    found = [item for item in world.findings(alice).items if item.kind is Kind.DETACHED]
    assert [item.oid for item in found] == [oid]


def test_commits_left_behind_are_saved_but_nobody_is_sent_back(world: World) -> None:
    alice = world.member()
    git(alice.path, "checkout", "-q", "--detach")
    oid = commit(alice.path, "a.txt", "floating\n")
    git(alice.path, "checkout", "-q", "headcount/t/alice")
    findings = world.findings(alice)
    assert findings.clean and not findings.spotless
    assert [(item.kind, item.oid) for item in findings.items] == [(Kind.ABANDONED, oid)]


def test_C18_stash_made_on_another_branch_of_its_own_is_counted(world: World) -> None:
    alice = world.member()
    git(alice.path, "checkout", "-qb", "experiment")
    (Path(alice.path) / "a.txt").write_text("stashed\n")
    git(alice.path, "stash")
    oid = git(alice.path, "rev-parse", "refs/stash")
    git(alice.path, "checkout", "-q", "headcount/t/alice")
    git(alice.path, "branch", "-qD", "experiment")
    findings = world.findings(alice)
    assert [item.oid for item in findings.items if item.kind is Kind.STASH] == [oid]
    assert any(oid in issue for issue in findings.issues())


def test_C18_stash_of_a_detached_head_is_counted(world: World) -> None:
    alice, bob = world.member(), world.member("bob")
    git(alice.path, "checkout", "-q", "--detach")
    (Path(alice.path) / "a.txt").write_text("stashed\n")
    git(alice.path, "stash", "push", "-m", "mine")
    assert world.kinds(alice) == {"stash"}
    assert world.kinds(bob) == set()


def test_stashes_of_the_user_and_of_others_are_nobody_elses(world: World) -> None:
    alice, bob = world.member(), world.member("bob")
    (world.top / "a.txt").write_text("the user's\n")
    git(world.top, "stash")
    (Path(bob.path) / "a.txt").write_text("bob's\n")
    git(bob.path, "stash")
    assert world.findings(alice).spotless
    assert world.kinds(bob) == {"stash"}


def test_a_stash_the_user_made_before_on_a_branch_the_member_visits_stays_the_users(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setenv("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
        git(world.top, "checkout", "-qb", "feature")
        (world.top / "a.txt").write_text("the user's\n")
        git(world.top, "stash")
    git(world.top, "checkout", "-q", "main")
    alice = world.member()
    git(alice.path, "checkout", "-q", "feature")
    assert world.kinds(alice) == set()


def test_stash_that_fits_nobody_is_listed_for_the_team_and_the_users_is_not(world: World) -> None:
    alice, bob = world.member(), world.member("bob")
    (world.top / "a.txt").write_text("the user's\n")
    git(world.top, "stash")
    for member in (alice, bob):
        (Path(member.path) / "a.txt").write_text("stashed\n")
        git(member.path, "stash")
    assert list_unclaimed(world.repo, "t", [alice, bob]) == []
    (left,) = list_unclaimed(world.repo, "t", [alice])
    assert left.message.startswith("WIP on headcount/t/bob: ")
    assert list_unclaimed(world.repo, "other", [alice]) == []


def test_index_lock_left_by_a_crash_is_found_and_does_not_stop_the_reading(world: World) -> None:
    alice = world.member()
    (Path(alice.git_dir or "") / "index.lock").write_text("")
    (Path(alice.path) / "new.txt").write_text("new\n")
    assert world.kinds(alice) == {"index-lock", "untracked"}


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_change_hidden_by_an_index_flag_is_found(world: World, flag: str) -> None:
    alice = world.member()
    git(alice.path, "update-index", flag, "a.txt")
    assert world.findings(alice).spotless
    (Path(alice.path) / "a.txt").write_text("hidden\n")
    assert git(alice.path, "status", "--porcelain") == ""
    assert what(world.findings(alice), Kind.HIDDEN) == ["a.txt (modified)"]


def test_sparse_checkout_is_clean_and_a_change_in_it_is_found(world: World) -> None:
    alice = world.member()
    git(alice.path, "sparse-checkout", "set", "--no-cone", "/a.txt", "/.gitignore")
    assert not (Path(alice.path) / "b.txt").exists()
    assert world.findings(alice).clean
    assert world.kinds(alice) == {"git-directory"}, "its patterns are in no commit"
    (Path(alice.path) / "a.txt").write_text("x\n")
    (Path(alice.path) / "outside").mkdir()
    (Path(alice.path) / "outside" / "new").write_text("x\n")
    assert world.kinds(alice) == {"modified", "untracked", "git-directory"}


def test_configuration_of_a_member_hides_nothing(world: World) -> None:
    alice = world.member()
    for key, value in {
        "status.showUntrackedFiles": "no",
        "status.branch": "false",
        "core.fsmonitor": "true",
        "diff.ignoreSubmodules": "all",
        "status.relativePaths": "false",
    }.items():
        git(alice.path, "config", key, value)
    (Path(alice.path) / "new.txt").write_text("new\n")
    assert world.kinds(alice) == {"untracked"}


def test_ignored_files_are_listed_and_are_not_dirty(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "x.log").write_text("log\n")
    (Path(alice.path) / "build").mkdir()
    (Path(alice.path) / "build" / "out.o").write_text("o\n")
    findings = world.findings(alice)
    assert findings.clean and not findings.spotless
    assert what(findings, Kind.IGNORED) == ["build/", "x.log"]


def test_nested_repository_is_found_even_where_git_status_is_silent(world: World) -> None:
    alice = world.member()
    git(alice.path, "init", "-q", "src")
    (Path(alice.path) / "src" / "more.txt").write_text("inside\n")
    git(Path(alice.path) / "src", "add", "more.txt")
    git(Path(alice.path) / "src", "commit", "-qm", "hidden work")
    found = what(world.findings(alice), Kind.NESTED_REPOSITORY)
    assert "src/ (a repository of its own)" in found
    assert "1 commit in src on no remote" in found


@pytest.fixture
def with_submodule(world: World, tmp_path: Path) -> World:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q", "-b", "main")
    commit(str(library), "lib.txt", "lib\n")
    git(world.top, "submodule", "add", "-q", str(library), "lib")
    git(world.top, "commit", "-qm", "submodule")
    return open_world(world.top)


def test_submodule_is_read_inside(with_submodule: World) -> None:
    alice = with_submodule.member()
    git(alice.path, "submodule", "update", "-q", "--init")
    lib = Path(alice.path) / "lib"
    git(lib, "remote", "set-url", "origin", "https://example.org/lib")
    assert with_submodule.findings(alice).spotless
    (lib / "lib.txt").write_text("changed\n")
    (lib / "new.txt").write_text("new\n")
    assert what(with_submodule.findings(alice), Kind.SUBMODULE) == ["lib/lib.txt (modified)", "lib/new.txt"]
    git(lib, "add", ".")
    git(lib, "stash")
    assert "stash" in what(with_submodule.findings(alice), Kind.SUBMODULE)[0]
    git(lib, "stash", "pop")
    git(lib, "commit", "-qam", "not pushed")
    findings = with_submodule.findings(alice)
    assert what(findings, Kind.SUBMODULE) == ["1 commit in lib on no remote"]
    assert what(findings, Kind.MODIFIED) == ["lib (modified)"]


def test_unpushed_commits_of_a_submodule_that_is_no_longer_checked_out_are_found(
    with_submodule: World,
) -> None:
    alice = with_submodule.member()
    git(alice.path, "submodule", "update", "-q", "--init")
    commit(str(Path(alice.path) / "lib"), "lib.txt", "not pushed\n")
    git(alice.path, "submodule", "deinit", "-f", "lib")
    assert what(with_submodule.findings(alice), Kind.SUBMODULE) == ["1 commit in lib on no remote"]


def test_C17_without_an_integration_branch_unmerged_is_assumed(world: World) -> None:
    alice = world.member()
    commit(alice.path, "a.txt", "work\n")
    assert world.findings(alice).spotless
    found = world.findings(alice, require_merged=True)
    assert [item.kind for item in found.dirty] == [Kind.UNMERGED]
    missing = world.findings(alice, require_merged=True, integration="no-such-branch")
    assert [item.kind for item in missing.dirty] == [Kind.UNMERGED]


def test_C17_unmerged_commits_on_every_branch_of_its_own_are_dirty(world: World) -> None:
    alice = world.member()
    integration = Integration.create(world.repo, "t")
    git(alice.path, "checkout", "-qb", "other")
    oid = commit(alice.path, "a.txt", "work\n")
    git(alice.path, "checkout", "-q", "headcount/t/alice")
    found = world.findings(alice, require_merged=True, integration=integration.branch)
    assert [item.oid for item in found.dirty] == [oid]
    assert "other" in found.issues()[0]
    integration.merge(oid)
    assert world.findings(alice, require_merged=True, integration=integration.branch).clean


def test_branches_of_the_user_are_not_counted_against_a_member(world: World) -> None:
    alice = world.member()
    integration = Integration.create(world.repo, "t")
    git(world.top, "checkout", "-qb", "feature")
    commit(str(world.top), "a.txt", "the user's\n")
    assert world.findings(alice, require_merged=True, integration=integration.branch).clean


@pytest.mark.parametrize(
    ("command", "clean"), [("true", True), ("echo behind >&2; exit 3", False), (["false"], False)]
)
def test_sync_command_decides_by_its_status(world: World, command: str | list[str], clean: bool) -> None:
    findings = world.findings(world.member(), sync_command=command)
    assert findings.clean is clean
    if command == "echo behind >&2; exit 3":
        assert "status 3: behind" in findings.issues()[0]


def test_the_git_of_a_sync_command_reads_patterns_as_it_does_elsewhere(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("changed\n")
    findings = world.findings(alice, sync_command="git diff --exit-code -- '*.txt'")
    assert what(findings, Kind.OUT_OF_SYNC)


def test_sync_command_that_cannot_run_or_does_not_end_is_dirty(world: World) -> None:
    alice = world.member()
    assert what(world.findings(alice, sync_command=["/no/such/command"]), Kind.UNREADABLE)
    slow = world.findings(alice, sync_command="sleep 60", timeout_s=1.5)
    assert what(slow, Kind.UNREADABLE)


def test_workspace_whose_git_link_is_gone_is_unreadable_and_never_read_as_the_users(world: World) -> None:
    alice = world.member()
    (world.top / "user-file.txt").write_text("the user's\n")
    (Path(alice.path) / ".git").unlink()
    (Path(alice.path) / "new.txt").write_text("new\n")
    findings = world.findings(alice)
    assert what(findings, Kind.UNREADABLE)
    assert what(findings, Kind.UNTRACKED) == ["new.txt"]


def test_workspace_made_into_a_repository_of_its_own_is_dirty(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / ".git").unlink()
    git(alice.path, "init", "-q")
    assert what(world.findings(alice), Kind.NESTED_REPOSITORY) == [".git (a repository of its own)"]


def test_directory_that_is_gone_is_missing_and_a_git_directory_that_is_gone_unreadable(world: World) -> None:
    alice, bob = world.member(), world.member("bob")
    os.rename(alice.path, alice.path + "-elsewhere")
    os.rename(bob.git_dir or "", world.top / "elsewhere")

    assert what(world.findings(alice), Kind.MISSING) == [alice.path]
    for workspace in (alice, bob):
        assert not world.findings(workspace).clean
    assert what(world.findings(bob), Kind.UNREADABLE)


def test_broken_index_is_unreadable(world: World) -> None:
    alice = world.member()
    (Path(alice.git_dir or "") / "index").write_bytes(b"not an index")
    assert what(world.findings(alice), Kind.UNREADABLE)


def test_reading_that_takes_too_long_is_dirty(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / ".gitattributes").write_text("*.txt filter=slow\n")
    git(alice.path, "config", "filter.slow.clean", "sleep 30")
    (Path(alice.path) / "a.txt").write_text("b\n")
    findings = world.findings(alice, timeout_s=1)
    assert what(findings, Kind.UNREADABLE)


def test_environment_of_the_caller_does_not_lead_elsewhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    monkeypatch.setenv("GIT_DIR", str(world.top / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(world.top))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    assert world.kinds(alice) == {"untracked"}


def test_reading_changes_nothing(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("changed\n")
    os.utime(Path(alice.path) / "b.txt")
    index = Path(alice.git_dir or "") / "index"
    before = (index.read_bytes(), index.stat().st_mtime_ns, sorted(os.listdir(alice.git_dir)))
    world.findings(alice)
    assert (index.read_bytes(), index.stat().st_mtime_ns, sorted(os.listdir(alice.git_dir))) == before


def test_odd_names_are_exact_and_safe_to_print_and_findings_survive_json(world: World) -> None:
    alice = world.member()
    for name in (b"new\nline", b"\xff\xfe", b'"quoted"', b"esc\x1b[31m"):
        Path(os.fsdecode(os.path.join(os.fsencode(alice.path), name))).write_text("x")
    findings = world.findings(alice)
    names = what(findings, Kind.UNTRACKED)
    assert sorted(names) == sorted(['"new\\012line"', '"\\377\\376"', '"\\"quoted\\""', '"esc\\033[31m"'])
    assert Findings.from_dict(json.loads(json.dumps(findings.as_dict()).encode())) == findings


def test_read_all_keeps_the_order(world: World) -> None:
    members = [world.member(f"m{n}") for n in range(6)]
    (Path(members[3].path) / "new.txt").write_text("new\n")
    found = read_all([lambda member=member: world.findings(member) for member in members])
    assert [findings.workspace for findings in found] == [member.path for member in members]
    assert [findings.clean for findings in found] == [True, True, True, False, True, True]
