from __future__ import annotations

from pathlib import Path

from headcount.workspace.reflog import Ownership, Stash, read_ownership, read_reflog, read_stashes

A, B, C, ZERO = "a" * 40, "b" * 40, "c" * 40, "0" * 40


def line(old: str, new: str, time: int, message: str = "") -> str:
    return f"{old} {new} Ann B. <ann@example.org> {time} +0200" + (f"\t{message}" if message else "") + "\n"


def ownership(tmp_path: Path, *lines: str, refs: set[str] = frozenset()) -> Ownership:  # type: ignore[assignment]
    (tmp_path / "logs").mkdir(exist_ok=True)
    (tmp_path / "logs" / "HEAD").write_text("".join(lines))
    return read_ownership(str(tmp_path), str(tmp_path), "own", lambda ref: ref in refs)


def test_torn_line_is_passed_over_and_the_rest_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(line(ZERO, A, 1) + "half a li\n" + line(A, B, 2, "commit: x") + line(B, C, 3)[:50])
    assert [(entry.new, entry.message) for entry in read_reflog(str(log))] == [(A, ""), (B, "commit: x")]
    assert read_reflog(str(tmp_path / "none")) == []


def test_branch_that_was_moved_here_is_its_own_and_one_only_visited_is_not(tmp_path: Path) -> None:
    refs = {"refs/heads/visited", "refs/heads/moved"}
    found = ownership(
        tmp_path,
        line(ZERO, A, 1),
        line(A, A, 10, "checkout: moving from own to visited"),
        line(A, A, 20, "checkout: moving from visited to moved"),
        line(A, B, 30, "commit: work"),
        refs=refs,
    )
    assert found.branches == {"own", "moved"}


def test_rebased_and_renamed_branches_are_its_own(tmp_path: Path) -> None:
    found = ownership(
        tmp_path,
        line(A, B, 10, "rebase (start): checkout main"),
        line(B, C, 11, "rebase (pick): x"),
        line(C, C, 12, "rebase (finish): returning to refs/heads/other"),
        line(C, C, 13, "Branch: renamed refs/heads/other to refs/heads/better"),
        refs={"refs/heads/other", "refs/heads/better", "refs/heads/main"},
    )
    assert found.branches == {"own", "other", "better"}


def test_tag_remote_branch_and_commit_are_no_branches(tmp_path: Path) -> None:
    for name in ("v1.0", "origin/main", A, "HEAD~2", "abcdef1"):
        found = ownership(
            tmp_path,
            line(A, B, 10, f"checkout: moving from own to {name}"),
            line(B, C, 20, "commit: floating"),
            refs={"refs/tags/v1.0", "refs/remotes/origin/main"},
        )
        assert found.branches == {"own"}, name
        assert found.owns_stash(Stash(A, "WIP on (no branch): bbbb floating", 15))


def test_stash_belongs_by_branch_or_by_who_stood_there_at_that_time(tmp_path: Path) -> None:
    found = ownership(
        tmp_path,
        line(A, A, 100, "checkout: moving from own to visited"),
        line(A, A, 200, "checkout: moving from visited to own"),
        refs={"refs/heads/visited"},
    )
    assert found.owns_stash(Stash(B, "WIP on own: aaaa text", 1))
    assert found.owns_stash(Stash(B, "On own: any: text", 900))
    assert found.owns_stash(Stash(B, "WIP on visited: aaaa text", 150))
    assert not found.owns_stash(Stash(B, "WIP on visited: aaaa text", 50))
    assert not found.owns_stash(Stash(B, "WIP on visited: aaaa text", 250))
    assert not found.owns_stash(Stash(B, "WIP on owner: aaaa text", 150))
    assert not found.owns_stash(Stash(B, "WIP on (no branch): aaaa text", 150))
    assert not found.owns_stash(Stash(B, "no branch named at all", 150))


def test_stashes_come_newest_first(tmp_path: Path) -> None:
    (tmp_path / "logs" / "refs").mkdir(parents=True)
    (tmp_path / "logs" / "refs" / "stash").write_text(
        line(ZERO, A, 1, "WIP on x: 1") + line(A, B, 2, "On y: 2")
    )
    assert read_stashes(str(tmp_path)) == [Stash(B, "On y: 2", 2), Stash(A, "WIP on x: 1", 1)]
