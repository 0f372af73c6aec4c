"""Measure how large and how readable the tree is: python scripts/measure_house.py [--at COMMIT] [--json]

`--at` also measures another commit, in a temporary worktree. Both columns come from the same script, the
same interpreter and the same minute.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = "src/headcount"


def modules(root: Path, under: str = PACKAGE) -> list[Path]:
    return sorted(path for path in (root / under).rglob("*.py") if "__pycache__" not in path.parts)


def count_lines(paths: list[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def repeated_basenames(paths: list[Path]) -> dict[str, int]:
    """Names that several modules share; every package has an `__init__` and may have a `__main__`."""
    counted = Counter(path.name for path in paths if not path.name.startswith("__"))
    return {name: count for name, count in counted.items() if count > 1}


def count_any(paths: list[Path]) -> int:
    """How often `Any` is used as a name, without its imports."""
    return sum(
        isinstance(node, ast.Name) and node.id == "Any"
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
    )


def comments_per_100_lines(paths: list[Path]) -> float:
    comments = sum(
        token.type == tokenize.COMMENT
        for path in paths
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    )
    return 100 * comments / max(count_lines(paths), 1)


def function_lengths(paths: list[Path]) -> list[int]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    trees = [ast.parse(path.read_text()) for path in paths]
    return [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, kinds)
    ]


def dependencies(root: Path) -> int:
    import tomllib

    return len(tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"])


def cpu_ms(run: Callable[[], object], rounds: int) -> float:
    """The median CPU time, user and system, of the processes that `run` starts."""
    taken = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append((after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3)
    return statistics.median(taken)


def command_costs(root: Path, rounds: int) -> dict[str, float]:
    """CPU of `headcount status` in an empty repository, and of `python -c pass`."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HEADCOUNT_", "GIT_"))}
    env["PYTHONPATH"] = str(root / "src")
    with tempfile.TemporaryDirectory(prefix="headcount-house-") as place:
        # As after an install: with bytecode, also where the caller's environment forbids to write it.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        env["PYTHONPYCACHEPREFIX"] = f"{place}/bytecode"
        place = f"{place}/repository"
        subprocess.run(["git", "init", "--quiet", place], check=True, env=env)

        def python(*words: str) -> None:
            subprocess.run([sys.executable, *words], cwd=place, env=env, capture_output=True, check=False)

        for words in (("-m", "headcount", "status"), ("-c", "pass")):
            python(*words)  # with compiled bytecode from the second run on
        status = cpu_ms(lambda: python("-m", "headcount", "status"), rounds)
        bare = cpu_ms(lambda: python("-c", "pass"), rounds)
    return {"status CPU, ms": round(status, 1), "status / `python -c pass`": round(status / bare, 1)}


def measure(root: Path, rounds: int) -> dict[str, Any]:
    package, protocol = modules(root), modules(root, f"{PACKAGE}/protocol")
    lengths = sorted(function_lengths(package))
    repeated = repeated_basenames(package)
    return {
        "lines in the package": count_lines(package),
        "modules": len(package),
        "modules under 50 lines": sum(len(path.read_text().splitlines()) < 50 for path in package),
        "basenames used more than once": len(repeated),
        "function length, median": lengths[len(lengths) // 2],
        "function length, 95th percentile": lengths[len(lengths) * 95 // 100],
        "`Any` in protocol/": count_any(protocol),
        "comments per 100 lines in protocol/": round(comments_per_100_lines(protocol), 1),
        "dependencies": dependencies(root),
        "decisions": len(list((root / "docs/decisions").glob("[0-9]*.md"))),
        "lines in tests/": count_lines(modules(root, "tests")),
        **command_costs(root, rounds),
    }


@contextlib.contextmanager
def worktree(commit: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="headcount-house-") as place:
        tree = Path(place, "tree")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at", metavar="COMMIT", help="also measure this commit, as it was then")
    parser.add_argument("--rounds", type=int, default=11, help="how often commands are run; default 11")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    now = measure(ROOT, options.rounds)
    then: dict[str, Any] = {}
    if options.at:
        with worktree(options.at) as tree:
            then = measure(tree, options.rounds)
    if options.json:
        print(json.dumps({"then": then or None, "now": now}, indent=2))
        return
    print(f"| | {f'{options.at} | ' if then else ''}now |")
    print(f"|---|{'---|' if then else ''}---|")
    for name, value in now.items():
        print(f"| {name} | {f'{then[name]:,} | ' if then else ''}{value:,} |")


if __name__ == "__main__":
    main()
