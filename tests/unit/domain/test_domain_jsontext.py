from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.domain.jsontext import Raw, dumps
from headcount.protocol import codec
from headcount.protocol import events as ev

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
)


@given(values)
def test_the_text_is_the_one_that_json_makes(value: object) -> None:
    assert dumps(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_text_that_is_json_already_stays_as_it_is() -> None:
    assert json.loads(dumps({"a": Raw('{"b":[1]}'), "c": '{"b"'})) == {"a": {"b": [1]}, "c": '{"b"'}


def test_what_has_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        dumps({"a": object()})


@given(texts, texts)
def test_what_a_member_says_is_what_the_codec_writes(request: str, reason: str) -> None:
    event = ev.Answered("alice#1", request, False, reason)
    said = dumps({"key": "alice#1", "request_id": request, "approve": False, "reason": reason})
    assert ("Answered", said) == codec.dump_event(event)
    assert codec.load_event("Answered", said) == event
