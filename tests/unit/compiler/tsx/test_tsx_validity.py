"""What TypeScript rejects is rejected, wherever it is in the file; the place is the whole token."""

from __future__ import annotations

import pytest
from tsx_reading import definition, read, read_source

INVALID_HEADS = [
    "const w = defineWorker('w', , 'haiku');",
    "const f = () => { class A { a!= 1 } };",
    "const f = () => { class A { a! } };",
    "const f = () => { class A { static a!: number } };",
    "const f = () => { for (let i = 0, i = 9; i < 1; i++) {} };",
    "const v = a?.c && b!.d ?? c;",
    "declare module\n'x' { export const y: number; }",
    "declare\nconst x: number;",
    "interface\nA { a: 1 }",
    "export type\nA = 1;",
    "const o = { a: 1,, b: 2 };",
    "const o = { a: 1, a: 2 };",
    "const class = 1;",
    "const let = 1;",
    "const eval = 1;",
    "const a;",
    "export const a;",
    "const { a };",
    "const { a,, b } = {};",
    "const f = <T>(a: T) => a;",
    "const v = null ?? '' || 'y';",
    "const v = 1 ?? 2 && 3;",
    "const v = -1 ** 2;",
    "const s = '\\07';",
    "const s = '\\8';",
    "const s = '\\u{110000}';",
    "const s = `\\07`;",
    "const n = 010;",
    "const n = 08;",
    "const n = 12.5as 0;",
    "const n = 3in [1];",
    "const f = (...a, b) => 1;",
    "const f = (a, a) => 1;",
    "const f = (a.b) => 1;",
    "const f = (a?: string = 's') => 1;",
    "function f(a?, b) {}",
    "const f = a\n=> 1;",
    "const f = () => { await 1; };",
    "const v = yield 1;",
    "const v = new X?.y;",
    "const v = { get a(b) {} };",
    "const v = { set a() {} };",
    "const v = { class };",
    "const r = /(/;",
    "const r = /a/gg;",
    "enum E { [a] }",
    "import { default } from 'x';",
    "import type A, { B } from 'x';",
    "declare const a: string = 'x';",
    "export default 1;",
    "<!-- a comment? -->",
    "const v = (true ?? 'a' : null) as string;",
    "const v = {\n a: (1)\n as number };",
    "const f = ({ a, {} = 'x' }: any) => a;",
    "const s = ['a\n'];",
    "const e = <p/>!;",
    "const f = (a:||any) => a;",
    "const f = (a:&&any) => a;",
    "const v = 1 as yield;",
    "const f =await({ a }: any) => a;",
    "const e = <p></p>.x;",
    "const e = <p></p><p>;",
    "const e = <p></p><p></p>;",
    "const e = 1 + <p/> < p;",
    "const e = <p a={</>} />;",
    "const e = <p>{const}</p>;",
    "const e = <p>{/* c *&/}</p>;",
    "const r = /?a/;",
    "const r = /(?y)/;",
    "const r = /a}/u;",
    "const r = /\\y/u;",
    "const r = /[\\1]/;",
    "const v = 2 || y = 3;",
    "const v = 1 + x => x;",
    "const v = !a = b;",
    "const f = () => { y = x++ +++x; };",
    "const f = () => { y = ++ + ++x; };",
    "const v = new () => {};",
    "const v = (a satisfies unknown?.b);",
    "const f = () => { ...a };",
    "const f = async <T>() => 1;",
    "const f = () => { class extends A {} };",
    "const f = () => { class A extends B<T> C {} };",
    "const f = () => { class A { abstract b(): void } };",
    "const f = () => { class A { a, b(): void } };",
    "const f = () => { for await (const a of []) ; };",
    "const f = () => { a: for (;;) { break b; } };",
    "const f = () => { default: 1; };",
    "const f = (this = 1) => 1;",
    "const f = () => { let x = 1; const [x] = [2]; };",
    "const f = (...a?: any) => 1;",
    "const o = { a() {}, set a(b) {} };",
    "enum E { A = 1 < B = 2 }",
    "enum E { A = await 1 }",
    "interface I {, a: 1 }",
    "type T<A, A> = 1;",
    "type T = A<'a', >;",
    "type T = A extends B ?? C : D;",
    "type T = & () => void;",
    "declare module 'x' { f(); }",
    "declare module 'x' { export function f(): void {} }",
]
INVALID_BODIES = [
    "<!-- hidden -->",
    "<p>a</p><!-- <p>b</p> -->\n<p>c</p>",
    "<p a={1} a={2} />",
    "<p a={} />",
    "<p {/* c */} />",
    "<p>{1, 2}</p>",
    "<p><!-- x --></p>",
]


@pytest.mark.parametrize("head", INVALID_HEADS)
def test_invalid_code_that_nothing_uses_is_an_error(head: str) -> None:
    found = read("<p>x</p>", head).diagnostics
    assert found
    assert all(each.severity == "error" and each.hint for each in found)


@pytest.mark.parametrize("body", INVALID_BODIES)
def test_invalid_jsx_is_an_error_and_no_word_is_lost(body: str) -> None:
    assert read(body).diagnostics


@pytest.mark.parametrize(
    ("head", "token"),
    [
        ("const class = 1;", "class"),
        ("const n = 12.5as 0;", "12.5"),
        ("const s = '\\07';", "\\0"),
        ("const ünreserved = 1, static = 2;", "static"),
    ],
)
def test_an_error_points_at_the_whole_token(head: str, token: str) -> None:
    (found,) = read("<p>x</p>", head).diagnostics
    assert found.text.startswith(token)
    assert head[found.span.column - 1 :].startswith(token)


VALID_HEADS = [
    "const f = () => { class A { a!: number; b? = 1; static c = 1 } };",
    "const f = <T,>(a: T) => a;",
    "const f = <T extends string>(a: T) => a;",
    "const v = null ?? ('' || 'y');",
    "const v = [1, , 2];",
    "const v = { class: 1, 'b': 2, [c]: 3 };",
    "import { default as x, class as y } from 'x';",
    "export type * from './types';",
    "export type * as Types from './types';",
    "type A = import('x').B;",
    "interface Box<in out T> { value: T }",
    "type Source<out T> = () => T;",
    "function f(a: string): string;\nfunction f(a: any) { return a; }",
    "const f = async () => await 1;",
    "let a; var b;",
    "declare const a: string;",
    "declare module 'x' { export const a: string; }",
    "const r = /[/\\]'\"](?<y>\\d{4})+?|^(?:a|b)*$/giu;",
    "const r = /a{2,}]}\\y/;",
    "const o = { get a() { return 1; }, set a(b) {} };",
    "const v = a as number < 3;",
    "const v = (2 || (y = 3), (x => x)) as any;",
    "const f = () => { a: for (const b of []) { continue a; } };",
    "const f = function () { class A extends B.c<T> { d = 1; e() {} } };",
    "const n = [1_000, 0xff, 0o17, 0b11, .5, 5., 1e3];",
]


@pytest.mark.parametrize("head", VALID_HEADS)
def test_valid_code_that_nothing_uses_is_accepted(head: str) -> None:
    assert read("<p>x</p>", head).diagnostics == ()


def test_a_shebang_is_accepted() -> None:
    assert read_source("#!/usr/bin/env headcount\n" + definition("<p>x</p>")).diagnostics == ()


@pytest.mark.parametrize("text", ["<!-- kept -->", "--> kept", " --> kept", "a --> kept"])
def test_an_html_comment_in_an_attribute_is_text(text: str) -> None:
    found = read(f"<XmlBlock name='x' note='{text}'>y</XmlBlock>")
    assert found.diagnostics == ()
    assert text in str(found.root)


def test_a_line_break_between_export_and_default_is_valid() -> None:
    for gap in ("\n", " \n ", "\r\n  "):
        found = read_source(definition("<p>x</p>").replace("export default", f"export{gap}default"))
        assert found.diagnostics == () and found.root is not None


@pytest.mark.parametrize("body", ["<p>a <!-- lost --> b</p>", "<!-- a -->", "<p>b</p><!-- c -->"])
def test_an_html_comment_is_called_by_its_name(body: str) -> None:
    assert "`<!-- -->` is not a comment in TSX" in [found.message for found in read(body).diagnostics]
