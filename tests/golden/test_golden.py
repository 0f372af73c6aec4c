"""Both sources of every case compile to the same bytes: `corpus/<case>/{team.tsx, team.py, expected.md}`.

A file `expected.<dialect>.md` beside `expected.md` is the same definition in another dialect.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.app.definition_files import compile_file
from headcount.compiler.dialects import DIALECTS, TEAMMATE

CORPUS = Path(__file__).parent / "corpus"
EXPECTED = sorted(CORPUS.glob("*/expected*.md"))


@pytest.mark.parametrize("source", ["team.tsx", "team.py"])
@pytest.mark.parametrize("expected", EXPECTED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_source_compiles_to_the_expected_bytes(expected: Path, source: str) -> None:
    dialect = DIALECTS.get(expected.stem.removeprefix("expected."), TEAMMATE)
    compiled = compile_file(str(expected.parent / source), dialect)
    assert compiled.diagnostics == ()
    assert compiled.markdown == expected.read_text()


def test_every_case_has_both_sources() -> None:
    assert EXPECTED
    for case in CORPUS.iterdir():
        assert {"team.tsx", "team.py", "expected.md"} <= {path.name for path in case.iterdir()}, case.name
