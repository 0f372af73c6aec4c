from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.errors import UsageError
from headcount.runtime.mark import Mark, new_mark, parse_mark

teams = st.from_regex(r"[a-z0-9][a-z0-9-]{0,49}", fullmatch=True)
members = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", fullmatch=True)
marks = st.builds(
    Mark,
    state=st.from_regex(r"[0-9a-f]{16}", fullmatch=True),
    team=teams,
    member=members,
    generation=st.integers(min_value=1, max_value=10**6),
    nonce=st.from_regex(r"[0-9a-f]{8}", fullmatch=True),
)


@given(marks)
def test_C15_a_mark_read_back_is_the_same_mark(mark: Mark) -> None:
    assert parse_mark(str(mark)) == mark


@given(marks, marks)
def test_C10_two_incarnations_never_share_a_mark(one: Mark, other: Mark) -> None:
    assert (str(one) == str(other)) == (one == other)


@given(marks)
def test_a_mark_is_a_file_name_and_a_plain_environment_value(mark: Mark) -> None:
    assert len(str(mark)) < 200
    assert str(mark).isascii()
    assert not set(str(mark)) & set("/\0= \n")


@pytest.mark.parametrize("text", ["", "hc1", "hc2.a.b.c.1.d", "hc1.a.b.c.x.d", "hc1.a.b.c.1.d.e", "nonsense"])
def test_what_is_no_mark_is_not_parsed(text: str) -> None:
    assert parse_mark(text) is None


@pytest.mark.parametrize("name", ["", "a.b", "a/b", "..", "ä", "a b"])
def test_a_name_that_would_blur_a_mark_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        new_mark("0" * 16, "web", name, 1)


def test_two_starts_of_one_generation_differ() -> None:
    assert new_mark("0" * 16, "web", "alice", 1) != new_mark("0" * 16, "web", "alice", 1)
