"""`--to python` gives a definition that compiles to the same bytes, for generated definitions."""

from __future__ import annotations

import pytest
from generate import Maker

from headcount.app.definition_files import compile_file, read_source
from headcount.compiler.to_python import to_python


@pytest.mark.parametrize("seed", range(60))
def test_a_translated_definition_compiles_to_the_same_bytes(seed: int) -> None:
    source = Maker(seed).definition().encode()
    root = read_source("team.tsx", source).root
    assert root is not None
    python = compile_file("team.py", source=to_python(root).encode())
    assert python.markdown == compile_file("team.tsx", source=source).markdown
