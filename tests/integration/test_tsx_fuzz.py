"""Damaged definitions end with diagnostics: never a traceback, never a wait, never silence.

Seeded; a failure prints the seed.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headcount.app.definition_files import compile_file
from headcount.compiler.tsx import ReadResult, read_tsx

CORPUS = sorted((Path(__file__).parents[1] / "golden" / "corpus").glob("*/team.tsx"))
EVERYTHING = """
import { Command as C, Model, Teammate, TaskDef, createPipeline, defineWorker } from 'headcount';
import * as RA from 'react-agentic';
enum Tone { Kind = 'kind', Loud }
const NAME = `w-${1 + 2}`, { a, ...rest } = { a: 'x', b: [1, 2.5, -3] };
const W = defineWorker(NAME, RA.AgentType['Plan'], Model.Opus as any);
const P = createPipeline('Ship').task('One', 'one', `do ${it}`).task('Two').build();
const Rules = ({ topic = 'all', children, ...more }: any & {}) => (
  <RA.XmlBlock name={topic} {...more}>{children}</RA.XmlBlock>
);
function List(props) {
  const items = props.items;
  return <ul>{items.map((x, i) => <li key={i}>{x}</li>)}</ul>;
}
export default () => (
  <C name="n" description={'d' + "\\u{1F600}"}>
    {/* R&D &amp; co */}<p>R&D &amp; caf\u00e9 {W.name} {rest.b[1]}</p>
    {true && <Rules topic="t">text<b>bold</b></Rules>}{false ? <i>no</i> : null}
    <List items={[...['a', 'b'], Tone.Kind]} />
    <Teammate worker={W} prompt={`see ${file}`} background={!1} />
    {P.stages.map(s => (
      <TaskDef key={s.task.__id} task={s.task} prompt={s.prompt ?? 'none'} blockedBy={s.blockedBy} />
    ))}
    <Rules>{() => 1}</Rules><></>
  </C>
);
"""
SOURCES = [path.read_bytes() for path in CORPUS] + [EVERYTHING.encode()] * 6
TOKENS = b"< > / { } ( ) [ ] ` ${ ' \" & &amp; = => ... <p> </p> // /* ? . ; const import".split()
TOKENS += [b"\n", b"\r\n", b"\xff", b"\xe2\x80", b"\0", b" "]
BATCHES = 12
FILES_A_BATCH = 200


def damaged(seed: int) -> bytes:
    """One of the sources with bytes dropped, swapped, doubled, inserted, or its end cut off."""
    chance = random.Random(seed)
    data = bytearray(chance.choice(SOURCES))
    for _ in range(chance.choice((1, 1, 2, 4))):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((1, 1, 2, 8, 60)))
        match chance.randrange(6):
            case 0:
                del data[start:end]
            case 1:
                data[start:end] = reversed(data[start:end])
            case 2:
                data[start:start] = data[start:end]
            case 3:
                data[start:start] = chance.choice(TOKENS)
            case 4:
                data[start:end] = bytes(chance.randbytes(end - start))
            case _:
                if chance.random() < 0.2:
                    del data[start:]
    return bytes(data)


# Seeds whose file tree-sitter alone never finishes.
ENDLESS = (3897, 81924, 85390, 119423)


def check(found: ReadResult, data: bytes) -> None:
    assert found.root is not None or found.diagnostics
    lines = data.count(b"\n") + 1
    for diagnostic in found.diagnostics:
        assert diagnostic.code
        assert diagnostic.message
        assert 1 <= diagnostic.span.line <= lines
        assert diagnostic.span.column >= 1


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_damaged_definition_ends_with_diagnostics_or_a_tree(batch: int) -> None:
    for seed in range(batch * FILES_A_BATCH, (batch + 1) * FILES_A_BATCH):
        data = damaged(seed)
        started = time.process_time()
        try:
            found = read_tsx("team.tsx", data)
            check(found, data)
            compiled = compile_file("team.tsx", source=data)
            assert compiled.markdown is not None or compiled.diagnostics
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
        assert time.process_time() - started < 2, f"seed {seed}"


@pytest.mark.parametrize("seed", ENDLESS)
def test_a_file_that_the_parser_would_never_finish_ends_with_diagnostics(seed: int) -> None:
    data = damaged(seed)
    started = time.process_time()
    assert read_tsx("team.tsx", data).diagnostics
    assert time.process_time() - started < 2


# Not ru_maxrss: that one is inherited from whoever forked the process.
PEAK = """
import sys
from headcount.app.definition_files import DiskFiles
from headcount.compiler.tsx import read_tsx
found = read_tsx(sys.argv[1], files=DiskFiles())
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(len(found.diagnostics), int(peak) // 1024)
"""


@pytest.mark.parametrize(
    "body",
    [
        "<p a='x' b={true} c={[1, 2]}>some text</p>\n" * 11000,
        "<p>" * 70000 + "</p>" * 70000,
        "(<a b={" * 60000,
        "x" * 5_000_000,
    ],
    ids=["many elements", "deep", "brackets", "5 MB"],
)
def test_the_largest_files_take_less_than_300_mb(tmp_path: Path, body: str) -> None:
    path = tmp_path / "team.tsx"
    path.write_text(f"export default <Command name='n' description='d'>\n{body}\n</Command>;")
    command = [sys.executable, "-c", PEAK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout.split()[1]) < 300
