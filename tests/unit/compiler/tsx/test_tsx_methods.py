"""What people write in prompts: comparisons, methods of constants, early returns, names in any script."""

from __future__ import annotations

import pytest
from tsx_reading import codes, read, shapes, value

# What Node gives for each expression; `tests/oracle` asks it.
VALUES = {
    "'a' === 'a'": True,
    "'a' !== 'a'": False,
    "'x' + 'abc'!.length": "x3",
    "null ?? 'abc'!.length": 3,
    "!'abc'!.length": False,
    "'a' || 'abc'!.length": "a",
    "1 < 2": True,
    "'b' > 'a'": True,
    "2 <= 1": False,
    "null == undefined": True,
    "typeof 'a'": "string",
    "typeof undefined": "undefined",
    "typeof {}": "object",
    "void 0 ?? 'x'": "x",
    "7 % 4": 3,
    "-7 % 4": -3,
    "6 / 4": 1.5,
    "2 ** 10": 1024,
    "'a' in { a: 1 }": True,
    "'abc'.length": 3,
    "'😀'.length": 2,
    "['a', 'b'].length": 2,
    "['a', 'b'].join(' and ')": "a and b",
    "['a', null, 'b'].join()": "a,,b",
    "' a '.trim()": "a",
    "['a', '', 'b'].filter(Boolean).join()": "a,b",
    "['a', 'b'].filter(x => x !== 'a').join()": "b",
    "'abc'.includes('b')": True,
    "['a'].includes('b')": False,
    "'ab'.toUpperCase()": "AB",
    "'a b'.split(' ').map(w => w.toUpperCase()).join('-')": "A-B",
    "'abc'.slice(-2)": "bc",
    "'abc'.substring(2, 0)": "ab",
    "'x'.repeat(3)": "xxx",
    "'a-a'.replaceAll('a', 'b')": "b-b",
    "'7'.padStart(3, '0')": "007",
    "'abc'.at(-1)": "c",
    "['b', 'a'].sort().join()": "a,b",
    "[['a'], ['b']].flat().join()": "a,b",
    "['a', 'b'].reduce((all, x) => all + x, '')": "ab",
    "['a', 'b'].find(x => x === 'b')": "b",
    "['a', 'b'].some(x => x === 'b')": True,
    "['a', 'b'].every(x => x === 'b')": False,
    "Object.keys({ a: 1, b: 2 }).join()": "a,b",
    "Object.entries({ a: 'x' }).map(([k, v]) => `${k}=${v}`).join()": "a=x",
    "String(1.50)": "1.5",
    "(null as any)?.b.c ?? 'none'": "none",
    "(undefined as any)?.[0].x ?? 'none'": "none",
    "(undefined as any)?.f().x ?? 'none'": "none",
    "({ a: { b: 'x' } }).a?.b": "x",
}


@pytest.mark.parametrize("expression", VALUES)
def test_an_expression_over_constants_has_its_value(expression: str) -> None:
    assert value(expression) == VALUES[expression]


@pytest.mark.parametrize(
    "expression",
    [
        "1 < 'a'",
        "'a'.nope()",
        "['a'].sort((a, b) => 1)",
        "'a'.replace(/a/, 'b')",
        "'😀a'.slice(1)",
        "1 == '1'",
    ],
)
def test_what_has_no_certain_value_is_reported(expression: str) -> None:
    assert codes(f"<p x={{{expression}}} />")


@pytest.mark.parametrize(
    "placeholder",
    ["${dir.path}", "${files[0]}", "${f(x)}", "${a ? b : c}", "${a?.b}", "${process.env.HOME}", "${a + 1}",
     "${new Date().toISOString()}", "${await f(x)}"],
)  # fmt: skip
def test_a_placeholder_whose_first_name_is_bound_nowhere_stays_as_text(placeholder: str) -> None:
    found = read(f"<Teammate prompt={{`see {placeholder} now`}} />")
    assert found.diagnostics == ()
    assert f"see {placeholder} now" in str(found.root)


def test_a_bound_first_name_is_evaluated() -> None:
    found = read("<Teammate prompt={`see ${a ? dir.path : c}`} />", "const a = true;")
    assert [each.code for each in found.diagnostics] == ["unbound-name"]


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        ("const größe = 'x';", "<p>{größe}</p>", "x"),
        ("const 名 = { 前: 'y' };", "<p>{名.前}</p>", "y"),
        ("const Ünit = ({ ä }: any) => <p>{ä}</p>;", "<Ünit ä='z' />", "z"),
        ("const \\u0061b = 'u';", "<p>{ab}</p>", "u"),
        ("enum Ö { Ä = 'e' }", "<p>{Ö.Ä}</p>", "e"),
        ("const { é: e\u0301 } = { é: 'd' };", "<p>{e\u0301}</p>", "d"),
    ],
)
def test_names_may_be_in_any_script(head: str, body: str, expected: str) -> None:
    assert shapes(body, head) == [("p", [expected])]


def test_a_component_may_return_early() -> None:
    head = """function Note({ text, loud }: any) {
      if (!text) return null;
      if (loud) { const t = text.toUpperCase(); return <p>{t}</p>; } else { return <p>{text}</p>; }
    }"""
    assert shapes("<Note /><Note text='a' /><Note text='b' loud />", head) == [("p", ["a"]), ("p", ["B"])]


def test_a_function_that_may_return_nothing_is_reported() -> None:
    assert codes("<Note />", "function Note({ a }: any) { if (a) return <p>x</p>; }") == ["not-understood"]
