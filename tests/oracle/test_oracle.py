"""TypeScript's parser against ours: no invalid definition is accepted, and no word is lost.

A small slice of the seeds; `python tests/oracle/compare.py 0 16000` is the long run.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "compiler" / "tsx"))

from compare import differences
from test_tsx_methods import VALUES
from test_tsx_validity import INVALID_BODIES, INVALID_HEADS, VALID_HEADS
from tsx_reading import definition
from typescript import TypeScript

SEEDS_A_BATCH = 20
BATCHES = 6


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_invalid_definition_is_accepted_and_no_word_is_lost(oracle: TypeScript, batch: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(batch * SEEDS_A_BATCH, (batch + 1) * SEEDS_A_BATCH):
        found = [each for each in differences(oracle, seed, counts) if each.kind != "valid refused"]
        assert not found, f"seed {found[0].seed}: {found[0].kind}, {found[0].about}\n{found[0].source}"
    assert counts["invalid"] and counts["accepted"]


def test_the_examples_of_the_unit_tests_are_what_typescript_says(oracle: TypeScript) -> None:
    for head in INVALID_HEADS:
        assert oracle.check(definition("<p>x</p>", head)).errors, head
    for body in INVALID_BODIES:
        assert oracle.check(definition(body)).errors, body
    for head in VALID_HEADS:
        assert not oracle.check(definition("<p>x</p>", head)).errors, head
    for expression in VALUES:
        assert not oracle.check(definition(f"<p x={{{expression}}} />")).errors, expression
