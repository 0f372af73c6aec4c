"""Compare the compiler with TypeScript, seed by seed.

python tests/oracle/compare.py 0 16000           the long run; prints each difference and a summary
python tests/oracle/compare.py 0 16000 FILE…     mutations of these definitions instead of generated ones
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from generate import Maker, mutate
from typescript import TypeScript

from headcount.app.definition_files import compile_file

MUTATIONS_A_SEED = 7
_word = re.compile(r"[A-Za-z][A-Za-z0-9]{3,}")
_entity = re.compile(r"&#?\w+;")


class Difference(NamedTuple):
    """`kind`: invalid accepted, valid refused as a syntax error, or a word lost."""

    kind: str
    seed: str
    about: str
    source: str


def differences(oracle: TypeScript, seed: int, counts: Counter[str]) -> list[Difference]:
    """What the compiler and TypeScript disagree about, for one seed and its mutations."""
    maker = Maker(seed)
    source = maker.definition()
    found = _compare(oracle, str(seed), source, counts)
    compiled = compile_file("team.tsx", source=source.encode())
    if compiled.markdown is None:
        messages = "; ".join(each.render() for each in compiled.diagnostics)
        found.append(Difference("valid refused", str(seed), messages, source))
    else:
        lost = [word for word in maker.words if word not in compiled.markdown]
        found += [Difference("word lost", str(seed), word, source) for word in lost]
    return found + mutation_differences(oracle, seed, source, counts)


def mutation_differences(
    oracle: TypeScript, seed: int, source: str, counts: Counter[str]
) -> list[Difference]:
    """The same for mutations of a definition."""
    return [
        difference
        for n in range(MUTATIONS_A_SEED)
        for difference in _compare(oracle, f"{seed}.{n}", mutate(source, seed * MUTATIONS_A_SEED + n), counts)
    ]


def _compare(oracle: TypeScript, seed: str, source: str, counts: Counter[str]) -> list[Difference]:
    verdict = oracle.check(source)
    compiled = compile_file("team.tsx", source=source.encode("utf-8", "surrogatepass"))
    accepted = compiled.markdown is not None
    counts["compared"] += 1
    counts["invalid"] += bool(verdict.errors)
    counts["accepted"] += accepted
    if verdict.errors:
        return [Difference("invalid accepted", seed, verdict.errors[0], source)] if accepted else []
    if compiled.markdown is None:
        syntax = [each for each in compiled.diagnostics if each.code == "syntax"]
        return [Difference("valid refused", seed, syntax[0].render(), source)] if syntax else []
    words = sorted({word for text in verdict.texts for word in _word.findall(_entity.sub(" ", text))})
    return [Difference("word lost", seed, word, source) for word in words if word not in compiled.markdown]


def main() -> int:
    start, end = int(sys.argv[1]), int(sys.argv[2])
    files = [Path(name).read_text() for name in sys.argv[3:]]
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    oracle = TypeScript()
    for seed in range(start, end):
        for found in (
            mutation_differences(oracle, seed, files[seed % len(files)], counts)
            if files
            else differences(oracle, seed, counts)
        ):
            kinds[found.kind] += 1
            if kinds[found.kind] <= 20:
                print(f"--- {found.kind}, seed {found.seed}: {found.about}\n{found.source}", flush=True)
    oracle.close()
    print(
        f"{end - start} seeds, {counts['compared']} definitions, {counts['invalid']} of them invalid,"
        f" {counts['accepted']} accepted; differences: {dict(kinds) or 'none'}"
    )
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
