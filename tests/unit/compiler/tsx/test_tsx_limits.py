"""Whatever is in a file, reading it ends without a traceback and within two seconds."""

from __future__ import annotations

import time

import pytest
import tree_sitter
from tsx_reading import definition, read_source

from headcount.compiler.tsx import parse
from headcount.compiler.tsx.grammar import LANGUAGE, MAX_BYTES

NESTED = {
    "elements": ("<p>" * 5000 + "</p>" * 5000, ""),
    "elements that nothing closes": ("<p>" * 20000, ""),
    "parentheses": ("{" + "(" * 5000 + "1" + ")" * 5000 + "}", ""),
    "arrays": ("{" + "[" * 5000 + "]" * 5000 + "}", ""),
    "negations": ("{" + "!" * 5000 + "1}", ""),
    "members": ("{a" + ".b" * 5000 + "}", ""),
    "templates": ("{" + "`${" * 3000 + "1" + "}`" * 3000 + "}", ""),
    "functions": ("{" + "(()=>" * 1000 + "1" + ")()" * 1000 + "}", ""),
    "braces": ("{" * 20000, ""),
    "constants": (
        "{c999}",
        "const c0 = 'x';" + "".join(f"const c{i} = 'y' + c{i - 1};" for i in range(1, 1000)),
    ),
    "a component in itself": ("<A/>", "const A = () => <p><A/><A/></p>;"),
    "two components in each other": ("<A/>", "const A = () => <B/>; const B = () => <A/>;"),
    "a function in itself": ("{f(1)}", "const f = (x) => f(x);"),
}


def doubling(first: str, step: str, last: str) -> tuple[str, str]:
    lines = [f"const C0 = {first};"] + [
        f"const C{i} = {step.replace('#', f'C{i - 1}')};" for i in range(1, 30)
    ]
    return last.replace("#", "C29"), "\n".join(lines)


GROWING = {
    "strings in themselves": doubling("'xx'", "#.replaceAll('x', #)", "{#}"),
    "long strings in a list": (
        "{Array.join('')}",
        "const long = 'x'.repeat(2000000); const Array = [" + "long, " * 15_000 + "];",
    ),
    "strings": doubling("'xxxx'", "`${#}${#}`", "{#}"),
    "concatenations": doubling("'xxxx'", "# + #", "{#}"),
    "elements": doubling("<p/>", "<p>{#}{#}</p>", "{#}"),
    "fragments": doubling("<p/>", "<>{#}{#}</>", "{#}"),
    "arrays": doubling("[1]", "[...#, ...#]", "{#}"),
    "arrays in arrays": doubling("[1]", "[#, #]", "{#}"),
    "arrays in arrays as a prop": doubling("[1]", "[#, #]", "<p x={#}/>"),
    "objects in objects as a prop": doubling("({ a: 1 })", "({ a: #, b: # })", "<p x={#}/>"),
    "components": doubling("() => <p/>", "() => <><#/><#/></>", "<#/>"),
    "calls": doubling("() => 'x'", "() => [#(), #()]", "{#()}"),
    "maps": ("{A.map(a => A.map(b => A.map(c => <p/>)))}", f"const A = [{'1,' * 100}];"),
}
LARGE = {
    "text": "<p>" + "hello & world " * 30000 + "</p>",
    "elements": "<p a='x' b={true} c={[1, 2]}>x</p>\n" * 12000,
    "no TSX": "<{(`'\"&}>)" * 40000,
    "statements that are wrong": "</Command>; a = = b; f(] ;\n" * 15000,
}


def read_in_time(source: str) -> list[str]:
    started = time.process_time()
    found = read_source(source)
    assert time.process_time() - started < 2
    return [d.code for d in found.diagnostics]


@pytest.mark.parametrize("case", NESTED)
def test_nesting_without_end_is_reported_in_time(case: str) -> None:
    body, head = NESTED[case]
    (first, *_) = read_in_time(definition(body, head))
    assert first in ("too-deep", "syntax", "unbound-name")


@pytest.mark.parametrize("case", GROWING)
def test_what_doubles_with_every_step_is_reported_in_time(case: str) -> None:
    body, head = GROWING[case]
    assert read_in_time(definition(body, head)) == ["too-large"]


@pytest.mark.parametrize("case", LARGE)
def test_a_large_file_is_read_in_time(case: str) -> None:
    read_in_time(definition(LARGE[case]))


def test_long_chains_are_no_nesting() -> None:
    assert read_in_time(definition("{" + "'a' + " * 5000 + "'b'}")) == []
    assert read_in_time(definition("{" + "1 && " * 5000 + "'b'}")) == []
    assert read_in_time(definition("<p>" * 100 + "</p>" * 100)) == []


def test_a_file_over_the_limit_is_reported_without_reading_it() -> None:
    assert read_in_time(definition("x" * 5_000_000)) == ["too-large"]
    assert read_in_time("x" * (MAX_BYTES + 1)) == ["too-large"]


@pytest.mark.parametrize("source", ["<a {{b:>c:d(e f)", "(s=(<T{}'?p.s}t.s{="])
def test_input_that_tree_sitter_itself_would_never_finish_is_reported(source: str) -> None:
    assert "syntax" in read_in_time(source)
    assert "syntax" in read_in_time(definition(source))


@pytest.mark.parametrize(
    "text", ['"' * 80_000, "<T>(" * 124_000, "`${" * 160_000, "'" * 400_000, "a?" * 200_000]
)
def test_hard_input_is_reported_in_time(text: str) -> None:
    assert set(read_in_time(text)) <= {"syntax", "too-deep"}


@pytest.mark.filterwarnings("ignore:Use the progress_callback")
def test_a_parse_that_is_interrupted_gives_the_tree_of_one_that_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = definition("<p a='x' b={true}>R {`a ${b}`}</p>\n" * 500).encode()
    whole = parse.parse_tree(source)
    monkeypatch.setattr(parse, "_parser", tree_sitter.Parser(LANGUAGE, timeout_micros=1))
    with pytest.raises(ValueError):
        parse._parser.parse(source)
    parse._parser.reset()
    sliced = parse.parse_tree(source)
    assert not whole.cut and not sliced.cut
    assert str(sliced.root) == str(whole.root)


def test_a_large_file_whose_ampersands_need_masks_is_not_refused() -> None:
    assert read_in_time(definition(LARGE["text"])) == []
