"""CPU time of the imports of an engine and of a command: our value classes against `dataclasses`.

python -m bench.imports [--runs 10]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys

_IMPORTS = {
    "engine": "from headcount.app import adapters, engine_loop, retention; "
    "from headcount.runtime import plain, tmux; from headcount.workspace import git_workspaces",
    "down": "import headcount.app.standing_down, headcount.engine.apply",
}
_ORIGINAL = (
    "import dataclasses, headcount.value_classes; headcount.value_classes.dataclass = dataclasses.dataclass; "
)


def cpu_s(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    for name, code in _IMPORTS.items():
        pairs = [(cpu_s(code), cpu_s(_ORIGINAL + code)) for _ in range(runs + 1)][1:]
        ours, original = (min(times) for times in zip(*pairs, strict=True))
        print(f"{name}: {ours / original:.2f} of the CPU time with `dataclasses` ({original * 1000:.0f} ms)")


if __name__ == "__main__":
    main()
