// Code as real files have it, one sample a line; nothing of it reaches the Markdown.
interface Props<T = string> extends Base, Other<T> { readonly a?: T; [key: string]: unknown; m(x: T): void }
type Pick2<T, K extends keyof T> = { readonly [P in K]?: T[P] } & Partial<Record<'a' | 'b', T>>;
type Fn = (a: number, ...rest: string[]) => asserts a is 1; type C = new () => Map<string, [a: 1, b?: 2]>;
type Cond<T> = T extends (infer U)[] ? U : T extends `a${infer R}` ? R : never;
type Ctor = abstract new (...args: any[]) => object; declare const u: unique symbol;
let call: { (a: string): number; new (b: string): Q<1>; readonly [Symbol.iterator]?: () => void };
enum Level { Low = 1, High = 4, Text = 'x' }
declare module 'x' { export const y: number; export function f(): void; }
declare function ask(question: string): string;
function over(a: string): void; function over(a: number): void; function over(a: any) { return; }
async function load(url = '/', { a, ...rest }: any = {}) { for await (const x of rest) { await x; } }
const arrow = async <T extends object>(x: T): Promise<void> => { try { await x; } catch { } finally { } };
const pure = <T,>(x: T, y = 2, [z] = [1]) => ({ x, y, z, ['k' + y]: 1, get g() { return 1; }, set g(v) {} });
const f1 = () => { class Box<T> extends Array<T> implements I { static n = 0; private readonly a?: T; constructor(public b = 1) { super(); } get c() { return this.d; } async *e() { yield 1; } d = 1 } };
const f2 = () => { abstract class Shape { protected abstract area(): number; declare name: string } };
const re = /[/\]'"](?<y>\d{4})$/giu, num = 0x1f + 1_000 ? .5e-3 : 0b11 | 0o17;
const f3 = () => { label: for (let i = 0, j = 9; i < j; i++, j--) { if (i) continue label; else break; } };
const f4 = (n: number) => { switch (n) { case 1: case 2: { break; } default: throw new Error(`a${1}`); } };
const { a: { b = 1 } = {}, ...others } = { a: {}, c: 2 }, [first, , ...tail] = [1, 2, 3];
const chain = others2?.c?.[0]?.(1)!.d ?? (tail2 satisfies unknown as any);
const f5 = function* () { const got = yield 1; yield* [got]; do { var once = false } while (once); };
const f6 = () => { for (const key in { a: 1 }) { delete (globalThis as any)[key]; } while (0) ; };
const Card = React.memo(function Card({ title, ...p }: P): JSX.Element { return <b {...p}>{title}</b>; });
const view = on && <><Foo.Bar x={<i/>} data-y='1' {...p} render={() => <u>{/* c */}</u>} /> text &nbsp; </>;
import type { A, B as B2 } from './types';
export { arrow2 as default2 }; const arrow2 = 1; export type { A3 }; type A3 = 1;
const f7 = () => { let x = 1, y; x ||= 2; y = x++ + ++x, [x, y] = [y, x]; ({ x, y } = { x: 1, y }); };
const big = 10n ** 2n; const neg = (-1) ** 2; const t = !!1 === !0; const inst = new (class { })();
const f8 = function named(this: Window, a?: number) { return new.target ?? import.meta.url; };
const f9 = () => { @dec() class Deco { @prop({ a: 1 }) a = 1; @dec m() {} } };
const lit = { async a() {}, *b() {}, async *c() {}, 'd-e': 1, 2: 3, ...lit2, f, if: 1 };
const f10 = async () => { const m = await import('./x'); return m?.default as unknown as string[] | null; };
