"""How fast definitions compile, as ratios that hold on any machine.

    python bench/compile.py            all three figures, on the workflow of the golden corpus

- one file in a fresh process, against `python -c pass`
- a thousand files in one process, a file against tree-sitter alone parsing it
- peak memory after 100, 1,000 and 10,000 files
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tree_sitter import Language, Parser
from tree_sitter_typescript import language_tsx

from headcount.app.builds import Options, build
from headcount.app.definition_files import compile_file
from headcount.compiler.dialects import TEAMMATE

SOURCE = Path(__file__).parents[1] / "tests" / "golden" / "corpus" / "27-workflow-full" / "team.tsx"
ROUNDS = 15
FILES = 1000


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        print(peak_mb(int(sys.argv[2])))
        return
    report_fresh_process()
    with tempfile.TemporaryDirectory() as folder:
        report_many_files(folder)
        report_memory()


def report_fresh_process() -> None:
    """Alternating, so that both feel the same machine; the median, since start-up has a long tail."""
    bare, ours = [], []
    with tempfile.TemporaryDirectory() as cache:
        # Byte code is there, as it is for an installed package, whatever the environment says.
        env = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        build_one = [sys.executable, "-m", "headcount", "build", "--stdout", str(SOURCE)]
        seconds(build_one, env)
        for _ in range(ROUNDS):
            bare.append(seconds([sys.executable, "-c", "pass"], env))
            ours.append(seconds(build_one, env))
    one, base = median(ours), median(bare)
    print(f"one file, fresh process   {one * 1000:7.1f} ms   {one / base:5.2f} × python -c pass (aim ≤ 6)")


def seconds(command: list[str], env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    return time.perf_counter() - start


def report_many_files(folder: str) -> None:
    """The quickest of several passes, for each of the two, in processor time: others may use the machine."""
    paths = copies(folder, FILES)
    parser = Parser(Language(language_tsx()))
    data = SOURCE.read_bytes()
    parsing = compiling = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in paths:
            parser.parse(data)
        middle = time.process_time()
        for path in paths:
            assert compile_file(path).markdown
        end = time.process_time()
        parsing, compiling = min(parsing, middle - start), min(compiling, end - middle)
    each = compiling / FILES * 1000
    print(
        f"1,000 files, one process  {each:7.3f} ms   {compiling / parsing:5.2f} × tree-sitter alone (aim ≤ 3)"
    )


def report_memory() -> None:
    for count in (100, 1000, 10_000):
        command = [sys.executable, __file__, "--memory", str(count)]
        peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        print(f"peak memory, {count:6,} files {peak:>7} MB")


def peak_mb(count: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        for result in build(copies(folder, count), Options(TEAMMATE, stdout=True)):
            assert result.markdown
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def copies(folder: str, count: int) -> list[str]:
    paths = [f"{folder}/team-{n}.tsx" for n in range(count)]
    data = SOURCE.read_bytes()
    for path in paths:
        Path(path).write_bytes(data)
    return paths


if __name__ == "__main__":
    main()
