"""The torture suite: six agents that are hard to end, with unsaved work, and whoever starts and stops agents.

    python bench/torture.py [CONTENDER …] [--cache DIR]

Every contender starts the same six (`torture/agent.py`) and ends them its own way (`torture/contenders.py`).
Then somebody else counts: processes that are alive two seconds later, and pieces of work that stand in no
file and behind no ref. Whatever is left is ended by pid afterwards. Others are installed when first used.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from typing import NamedTuple

from torture.agent import KINDS, SHAPES
from torture.contenders import CONTENDERS, Contender
from torture.scene import Scene

_SETTLE_S = 2.0


class Row(NamedTuple):
    name: str
    alive: dict[str, int]
    lost: dict[str, list[str]]
    said: str
    seconds: float
    problem: str = ""


def run(kind: type[Contender], cache: str) -> Row:
    place = tempfile.mkdtemp(prefix="tt-")
    scene = Scene(place)
    contender = kind(scene, cache)
    try:
        kind.install(cache)
        name = f"{kind.name} {contender.version()}".strip()
        contender.start()
        scene.wait_ready()
        began = time.monotonic()
        said = contender.stop()
        seconds = time.monotonic() - began
        time.sleep(_SETTLE_S)
        alive = {shape: len(scene.alive(shape)) for shape in SHAPES}
        lost = {shape: scene.lost(shape) for shape in SHAPES}
        return Row(name, alive, lost, said, seconds)
    except Exception as error:
        return Row(kind.name, {}, {}, "", 0, f"could not be driven: {' '.join(str(error).split())[:200]}")
    finally:
        contender.close()
        scene.end_all()
        shutil.rmtree(place, ignore_errors=True)


def table(rows: list[Row]) -> str:
    head = ("", *SHAPES, "work lost", "what it reported", "seconds")
    lines = [head, tuple("---" for _ in head)]
    for row in rows:
        if row.problem:
            lines.append((row.name, *("?" for _ in SHAPES), "?", row.problem, ""))
            continue
        lost = sum(map(len, row.lost.values()))
        kinds = sorted({kind for of_shape in row.lost.values() for kind in of_shape})
        pieces = f"{lost} of {len(SHAPES) * len(KINDS)}" + (f" ({', '.join(kinds)})" if kinds else "")
        lines.append((row.name, *(str(row.alive[s]) for s in SHAPES), pieces, row.said, f"{row.seconds:.1f}"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Six agents that are hard to end, against everyone.")
    names = [kind.name for kind in CONTENDERS]
    parser.add_argument("contenders", nargs="*", choices=[*names, []], help="all of them by default")
    parser.add_argument("--cache", default=os.path.expanduser("~/.cache/headcount-torture"))
    wanted = parser.parse_args()
    rows = []
    for kind in CONTENDERS:
        if kind.name in (wanted.contenders or names):
            rows.append(run(kind, wanted.cache))
            print(rows[-1], file=sys.stderr, flush=True)
    print("Processes alive after the stop, by shape of the agent:\n")
    print(table(rows))
    ours = next((row for row in rows if row.name.startswith("headcount")), None)
    kept = ours is None or (not ours.problem and not any(ours.alive.values()) and not any(ours.lost.values()))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
