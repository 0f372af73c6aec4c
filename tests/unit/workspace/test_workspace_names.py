from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from headcount.workspace.ref_names import (
    branch_name,
    decode,
    encode,
    from_tree,
    parse_salvage_ref,
    salvage_ref,
    shown,
    to_tree,
)

# Anything that can come from a file system: surrogates stand for bytes that are no UTF-8.
NAMES = st.binary(max_size=12).map(lambda octets: octets.decode("utf-8", "surrogateescape"))
PARTS = st.one_of(
    st.sampled_from([b".git", b".GIT", b"%.git", b"%", b".gitmodules", b".gitignore", b"a"]),
    st.binary(min_size=1, max_size=6).filter(lambda part: b"/" not in part and b"\0" not in part),
)
PATHS = st.lists(PARTS, min_size=1, max_size=4).map(b"/".join)


@given(NAMES)
def test_C15_encoding_can_be_undone_so_no_two_names_meet(name: str) -> None:
    component = encode(name)
    assert decode(component) == name
    assert "/" not in component and component not in ("", ".", "..") and "." not in component


@given(NAMES, NAMES, st.integers(1, 10**6), st.integers(1, 99))
def test_C15_salvage_ref_can_be_read_back(team: str, member: str, generation: int, n: int) -> None:
    assert parse_salvage_ref(salvage_ref(team, member, generation, n)) == (team, member, generation, n)


def test_valid_names_stand_for_themselves() -> None:
    assert encode("pr-review") == "pr-review"
    assert branch_name("pr-review", "Alice_2", 1) == "headcount/pr-review/Alice_2"
    assert salvage_ref("pr-review", "Alice_2", 3, 1) == "refs/headcount/salvage/pr-review/Alice_2/3"
    assert salvage_ref("pr-review", "Alice_2", 3, 2) == "refs/headcount/salvage/pr-review/Alice_2/3.2"


def test_C15_second_of_a_name_is_not_the_first_of_another() -> None:
    assert branch_name("t", "alice", 2) != branch_name("t", "alice-2", 1)
    assert branch_name("t", "integration", 1) != "headcount/t/integration"


def test_refs_of_others_are_not_ours() -> None:
    for ref in ("refs/heads/main", "refs/headcount/salvage/t/m", "refs/headcount/salvage/t/m/1/2", "HEAD"):
        assert parse_salvage_ref(ref) is None


@given(PATHS)
def test_path_in_a_tree_can_be_undone_and_names_no_git_directory(path: bytes) -> None:
    inside = to_tree(path)
    assert from_tree(inside) == path
    assert not {part.lower() for part in inside.split(b"/")} & {b".git", b".gitmodules"}


@given(NAMES, NAMES)
def test_shown_names_are_printable_and_told_apart(one: str, other: str) -> None:
    assert shown(one).isprintable()
    shown(one).encode("utf-8")
    assert (shown(one) == shown(other)) is (one == other)


def test_shown_is_what_git_prints_for_odd_names() -> None:
    assert shown("plain ü.txt") == "plain ü.txt"
    assert shown("a\nb") == '"a\\012b"'
    assert shown(os.fsdecode(b"\xff")) == '"\\377"'
