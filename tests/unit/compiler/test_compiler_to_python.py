"""From TSX to Python: the translation compiles to the same bytes."""

from __future__ import annotations

import pytest
from compiling import python, tsx
from test_compiler_body import BODIES

from headcount.app.definition_files import compile_file, read_source
from headcount.compiler.to_python import to_python

IMPORT = """import {
  Command, Table, List, Prompt, TaskDef, XmlBlock, Markdown, ShutdownSequence, defineTask, defineWorker
} from "headcount";
"""
MORE = {
    "a multi-line prompt": "<TaskDef task={defineTask('t')} prompt={'a\\n\\\"b\\\"\\n  c'} />",
    "an object as a value": (
        "<TaskDef task={defineTask('t')} prompt='p' metadata={{a: 'x\\ny', b: [1, true]}} />"
    ),
    "names that collide": (
        "<TaskDef task={defineTask('p', 'p')} prompt='p' /><TaskDef task={defineTask('x', 'p')} prompt='p' />"
        "<ShutdownSequence workers={[defineWorker('p', 'x'), defineWorker('class', 'x')]} />"
        "<ShutdownSequence workers={[defineWorker('1', 'x')]} />"
    ),
    "an element in a table": "<Table headers={['a']} rows={[[<b>x</b>]]} />",
    "a prompt with vars": (
        "<TaskDef task={defineTask('t')}><Prompt vars={{who: 'you'}}>{'Hi {{who}}'}</Prompt></TaskDef>"
    ),
}


@pytest.mark.parametrize("claim", [*BODIES, *MORE])
def test_translation_compiles_to_the_same_bytes(claim: str) -> None:
    body = BODIES[claim][0] if claim in BODIES else MORE[claim]
    root = f'{IMPORT}export default <Command name="x" description="y">{body}</Command>;'
    original = compile_file("team.tsx", source=root.encode())
    assert original.markdown is not None, original.diagnostics
    read = read_source("team.tsx", root.encode())
    assert read.root is not None
    translated = to_python(read.root)
    again = compile_file("team.py", source=translated.encode())
    assert again.markdown == original.markdown, translated
    assert max(map(len, translated.splitlines())) < 200


def test_what_sets_workspaces_up_is_translated() -> None:
    team = (
        "defineTeam('t', [defineWorker('a', { copy: ['.env'] })], { setup: 'npm ci', copy: ['.env', 'x'] })"
    )
    names = IMPORT.replace("defineWorker", "defineWorker, defineTeam, Workflow")
    root = f"<Workflow name='w' team={{{team}}} />"
    source = f'{names}export default <Command name="x" description="y">{root}</Command>;'
    read = read_source("team.tsx", source.encode())
    assert read.root is not None
    translated = to_python(read.root)
    assert 'copy=[".env"])' in translated
    assert 'setup="npm ci", copy=[".env", "x"])' in translated


def test_attribute_that_is_no_python_name_is_still_there() -> None:
    root = '<Command name="x" description="y" data-x="1" class="c">a</Command>'
    source = f"{IMPORT}export default {root};".encode()
    read = read_source("team.tsx", source)
    assert read.root is not None
    translated = to_python(read.root)
    assert '**{"data-x": "1"}' in translated
    again = compile_file("t.py", source=translated.encode())
    assert again.markdown == compile_file("t.tsx", source=source).markdown


def test_helpers_of_this_module_agree() -> None:
    assert python('doc = Command(name="x", description="y")[p["a"]]').markdown == tsx("<p>a</p>").markdown
