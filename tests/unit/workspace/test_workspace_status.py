from __future__ import annotations

from headcount.workspace.git_state import Changed, parse_status

ZERO, ONE = b"0" * 40, b"1" * 40


def test_every_sort_of_record_is_read() -> None:
    status = parse_status(
        [
            b"# branch.oid " + ONE,
            b"# branch.head headcount/t/alice",
            b"1 .M N... 100644 100644 100644 " + ONE + b" " + ONE + b" with space.txt",
            b"2 R. N... 100644 100644 100644 " + ONE + b" " + ONE + b" R100 new\nname",
            b"old name",
            b"1 .M SCMU 160000 160000 160000 " + ONE + b" " + ONE + b" lib",
            b"u UU N... 100644 100644 100644 100644 " + b" ".join([ONE] * 3) + b" both.txt",
            b"? loose \xff",
            b"! build/",
        ]
    )
    assert (status.head, status.branch) == (ONE.decode(), "headcount/t/alice")
    assert status.changed == [
        Changed("with space.txt", ".", "M", "N..."),
        Changed("new\nname", "R", ".", "N...", "old name"),
        Changed("lib", ".", "M", "SCMU"),
    ]
    assert status.changed[2].submodule_commit_changed and not status.changed[0].submodule_commit_changed
    assert status.conflicts == ["both.txt"]
    assert status.untracked == ["loose \udcff"]
    assert status.ignored == ["build/"]


def test_before_the_first_commit_and_detached_there_is_no_head_and_no_branch() -> None:
    status = parse_status([b"# branch.oid (initial)", b"# branch.head (detached)"])
    assert (status.head, status.branch) == (None, None)
