"""Every way in which systems of this kind fail has a test here that carries its id."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs" / "explanation" / "failures.md"
_COUNTS = {"A": 15, "B": 10, "C": 23, "D": 16, "E": 12}
IDS = [f"{group}{number}" for group, count in _COUNTS.items() for number in range(1, count + 1)]
# What outside testers broke. Their numbers have gaps, so the page says which there are.
IDS += re.findall(r"^\| (F\d+) \|", PAGE.read_text(), re.MULTILINE)
# Played from end to end with members that are processes without a terminal, and with members in tmux.
IN_BOTH = [
    "A1", "A2", "A3", "A8", "A9", "A10", "A13", "A14", "A15",
    "B2", "B9",
    "C19", "C22",
    "D4", "D5", "D6", "D7", "D8", "D15", "D16",
    "E2", "E3", "E9", "E10", "E11",
    "F3",
]  # fmt: skip
# The directories whose `runtime` fixture is both, and looks afterwards where everybody was started.
_WITH_RUNTIME = ("integration/failures/", "integration/run/", "integration/nudge/")
_ROW = re.compile(r"^\| ([A-F]\d+) \|.*\| `(test_\w+)(?:\[F\d+\])?` \| (both )?\|$", re.MULTILINE)


class Found(NamedTuple):
    file: str
    name: str
    both: bool


def find_tests() -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        path = str(file.relative_to(TESTS))
        for test in _functions(file):
            both = path.startswith(_WITH_RUNTIME) and _takes_runtime(test)
            for id in re.findall(r"(?<=_)[A-F]\d+(?=_)", test.name) + _parameter_ids(test):
                found.setdefault(id, []).append(Found(path, test.name, both))
    return found


def _functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node


def _parameter_ids(test: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Ids that are parameters of one test: `pytest.param(..., id="F21")` is run as `test_…[F21]`."""
    decorators = " ".join(ast.unparse(decorator) for decorator in test.decorator_list)
    return re.findall(r"id='([A-F]\d+)'", decorators)


def _takes_runtime(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    named = {argument.arg for argument in test.args.args}
    used = {ast.unparse(decorator) for decorator in test.decorator_list}
    return "runtime" in named or "pytest.mark.usefixtures('runtime')" in used


def test_every_scenario_has_at_least_one_test_with_its_id() -> None:
    found = find_tests()
    print(f"{len(IDS)} scenarios, {sum(map(len, found.values()))} tests")
    assert [id for id in IDS if id not in found] == []
    assert sorted(set(found) - set(IDS)) == []


def test_the_page_says_of_those_that_are_played_in_both_runtimes_that_they_are() -> None:
    both = {test.name for tests in find_tests().values() for test in tests if test.both}
    rows = {id: (name, bool(said)) for id, name, said in _ROW.findall(PAGE.read_text())}
    assert [id for id in IN_BOTH if not rows[id][1]] == []
    assert {id: name for id, (name, said) in rows.items() if said != (name in both)} == {}


if __name__ == "__main__":
    for id, tests in sorted(find_tests().items(), key=lambda item: IDS.index(item[0])):
        print(id, *(f"{t.file}::{t.name}{' (both)' if t.both else ''}" for t in tests), sep="\n  ")
