"""Syntax errors have a place, a text and a way out; valid TSX has none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tsx_reading import IMPORT, codes, definition, problems, read, read_source, shapes, value

from headcount.compiler import tsx
from headcount.compiler.diagnostics import CODES


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>x</q>", ["4:5 closing-tag"]),
        ("<p><b>x</p></b>", ["4:8 closing-tag", "4:12 closing-tag"]),
        ("<></p>", ["4:3 closing-tag"]),
        ("<p></>", ["4:4 closing-tag"]),
        ("<a.b></a.c>", ["4:6 closing-tag"]),
        ("<p>\n<b>\n</p>", ["6:1 closing-tag", "7:1 closing-tag"]),
        ("<p>never", ["5:1 closing-tag"]),
    ],
)
def test_a_closing_tag_that_closes_another_is_reported_at_the_closing_tag(
    body: str, expected: list[str]
) -> None:
    head = "const a = { b: () => null };" if "a.b" in body else ""
    assert problems(body, head) == expected


def test_closing_tags_are_compared_where_nothing_is_evaluated_too() -> None:
    head = "const Unused = () => <p></q>; const OFF = false;"
    assert problems("{OFF && <a></b>}{OFF ? <c></d> : 'x'}", head) == [
        "2:25 closing-tag",
        "4:12 closing-tag",
        "4:27 closing-tag",
    ]


def test_closing_tags_may_have_white_space_in_them() -> None:
    assert shapes("<p\n>x</ p\n>") == [("p", ["x"])]


@pytest.mark.parametrize(
    "text",
    [
        "R&D",
        "a & b",
        "a && b || c",
        "&",
        "&&",
        "AT&T; x",
        "& <b>&</b> &",
        "&notanentity",
        "&#128512;",
        "&frac12;",
    ],
)
def test_a_bare_ampersand_is_text_in_text_and_in_attributes(text: str) -> None:
    assert codes(f'<p title="{text.replace("<b>", "").replace("</b>", "")}">{text}</p>') == []


def test_operators_keep_their_meaning_in_a_file_with_a_bare_ampersand() -> None:
    assert shapes("<p>a & b {false && 'x' || 'y'} {'' || 'p' && 'q'}</p>") == [
        ("p", ["a & b ", "y", " ", "q"])
    ]


def test_intersection_types_and_bare_ampersands_stand_in_one_file() -> None:
    head = "const C = ({ a }: { a: string } & { b?: string }) => <p>{a} & co</p>;"
    assert shapes("<C a='x'/>", head) == [("p", ["x", " & co"])]


@pytest.mark.parametrize(
    ("body", "place", "text", "hint"),
    [
        ("<p>a > b</p>", "4:6", ">", "&gt;"),
        ("<p>a } b</p>", "4:6", "}", "{'}'}"),
        ("<p>{a b}</p>", "4:7", "b", "before it"),
        ("<p>{'a' + }</p>", "4:10", "", "Complete"),
        ("<p x=y />", "4:5", "=", "before it"),
        ("<p>{`abc</p>", "4:5", "`", "Close it"),
        ("{", "4:1", "{", "Close it with }"),
    ],
)
def test_a_syntax_error_has_its_place_and_a_way_out(body: str, place: str, text: str, hint: str) -> None:
    found = read(body)
    assert found.root is None
    first = found.diagnostics[0]
    assert (first.code, f"{first.span.line}:{first.span.column}", first.text) == ("syntax", place, text)
    assert hint in first.hint


def test_several_syntax_errors_are_reported_together() -> None:
    found = read_source(
        f"{IMPORT}\nconst a = ;\nconst b = 2 3;\nexport default <Command name='n' description='d'/>;"
    )
    assert [(d.code, d.span.line) for d in found.diagnostics] == [("syntax", 2), ("syntax", 3)]


def test_columns_count_characters_not_bytes() -> None:
    assert problems("<p>é😀é {x}</p>") == ["4:9 unbound-name"]
    assert problems("<p>é😀é > x</p>") == ["4:8 syntax"]


def test_line_ends_of_windows_change_neither_places_nor_values() -> None:
    source = definition("<p a='1\n2'>\n  one\n  two {`x\ny`} &amp;\n</p>{x}")
    unix, windows = read_source(source), read_source(source.replace("\n", "\r\n"))
    assert unix == windows
    assert unix.root is not None


def test_a_byte_order_mark_is_not_part_of_the_first_line() -> None:
    found = read_source(b"\xef\xbb\xbfexport default x;")
    assert [(d.code, d.span.column) for d in found.diagnostics] == [("unbound-name", 16)]


def test_bytes_that_are_no_utf8_are_reported_at_their_place() -> None:
    found = read_source(definition("ok é <p/>").encode().replace("é".encode(), b"\xe9"))
    assert [(d.code, d.span.line, d.span.column) for d in found.diagnostics] == [("not-utf-8", 4, 4)]


def test_every_file_that_is_read_is_named_and_only_those() -> None:
    assert read("x").files == ("team.tsx",)


def test_every_code_that_reading_gives_is_explained() -> None:
    folder = Path(tsx.__file__).parent
    source = "".join(path.read_text() for path in sorted(folder.glob("*.py")))
    given = set(re.findall(r'(?:report\.add(?:_at)?|Unreadable)\(\s*[^"\n]*?"([a-z0-9-]+)"', source))
    assert {"not-understood", "closing-tag", "unreadable"} <= given
    assert given <= set(CODES)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("// <p> and ` and /*\nconst a = 'x'; // b", "x"),
        ("const a = 'x//\\\n// y';", "x//// y"),
        ("const a = `\n// y`;", "\n// y"),
        ("/*\n// */ const a = 'x'; /*\n// */", "x"),
        ("// one\u2028const a = 'x';", "x"),
        ("const a = 4 / 2\n// two\n/ 1 + '';", "2"),
    ],
)
def test_a_line_that_only_looks_like_a_comment_is_read(head: str, expected: str) -> None:
    assert value("a", head) == expected
