"""Colours of source text: by line, with every character of it, and none where a lexer does not end."""

from __future__ import annotations

import pytest

from headcount.web import source_colours


def test_every_character_is_there_and_keywords_are_coloured() -> None:
    text = ["def f(a):", '    """One', '    two"""', "", "    return 1  # \u202e<script>"]
    (found,) = source_colours.colour("src/x.py", [text]) or [[]]
    assert ["".join(part for _, part in line) for line in found] == text
    assert found[0][0] == ["k", "def"]
    assert [colour for colour, _ in found[2]] == ["s"]


def test_a_file_that_no_lexer_knows_has_no_colours() -> None:
    assert source_colours.colour("unknown.zzz", [["text"]]) is None


def test_F130_a_text_that_keeps_a_lexer_busy_is_shown_without_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Measured: the lexer of Java takes time with the square of this text, hours for 600 kB."""
    monkeypatch.setattr(source_colours, "SECONDS", 1)
    assert source_colours.colour("A.java", [["a " * 250_000]]) is None
