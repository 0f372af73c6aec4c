"""Members' commands as fresh processes through the installed command, beside `python -c 'import sqlite3'`.

    python bench/member_commands.py [--runs N] [--at-most R]

The hook is what an agent client calls after every tool use. With --at-most the exit code is 1 if the
processor time of one command is more than R times that of the import.

All are run in turn, so that a busy machine slows them alike; what counts is the ratio. Bytecode is compiled
first (into a directory of its own), as an install does. `--alone`: no engine has the database open, so each
command opens it as the first and closes it as the last.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time

from scene import make_team_with_mail

from headcount.store.sqlite import SqliteStore

PYTHON = sys.executable
HEADCOUNT = os.path.join(os.path.dirname(PYTHON), "headcount")
BASE = "python -c 'import sqlite3'"
COMMANDS = {
    "python -c pass": [PYTHON, "-c", "pass"],
    BASE: [PYTHON, "-c", "import sqlite3"],
    "headcount inbox (nothing new)": [HEADCOUNT, "inbox"],
    "headcount send": [HEADCOUNT, "send", "lead", "-s", "subject", "-m", "body"],
    "headcount done": [HEADCOUNT, "done"],
    "headcount hook PostToolUse": [HEADCOUNT, "hook", "PostToolUse"],
    "headcount hook Stop": [HEADCOUNT, "hook", "Stop"],
    "headcount approve": [HEADCOUNT, "approve"],
    "headcount idle": [HEADCOUNT, "idle"],
    "headcount task list": [HEADCOUNT, "task", "list"],
    "headcount task list --json": [HEADCOUNT, "task", "list", "--json"],
}


def run(argv: list[str], env: dict[str, str], null: int) -> tuple[float, float]:
    """Seconds by the clock, and seconds of processor time."""
    before = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
    pid = os.posix_spawn(argv[0], argv, env, file_actions=quiet)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{' '.join(argv)} failed with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - before, used.ru_utime + used.ru_stime


def forget_answers(store: SqliteStore) -> None:
    """As an engine would: or every approval but the first is a repeat, which writes nothing."""
    with store.write() as tx:
        tx.take_inputs("bench#1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--at-most", type=float, metavar="R")
    args = parser.parse_args()
    runs = args.runs
    with tempfile.TemporaryDirectory() as place, open(os.devnull, "r+") as null:
        env = make_team_with_mail(place)
        env["PYTHONPYCACHEPREFIX"] = f"{place}/bytecode"
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        store = SqliteStore(env["HEADCOUNT_HOME"])
        measured: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
        for turn in range(runs + 2):
            for name, argv in COMMANDS.items():
                forget_answers(store)
                if args.alone:
                    store.close()
                seconds = run(argv, env, null.fileno())
                if turn >= 2:  # the first two compile
                    measured[name].append(seconds)
                if args.alone:
                    store = SqliteStore(env["HEADCOUNT_HOME"])
    print(f"{'':32} {'clock':>9} {'ratio':>6} {'processor':>10} {'ratio':>6}   median of {runs}")
    base = [statistics.median(column) for column in zip(*measured[BASE], strict=True)]
    slow: list[str] = []
    for name, rows in measured.items():
        clock, processor = (statistics.median(column) for column in zip(*rows, strict=True))
        ratios = clock / base[0], processor / base[1]
        print(
            f"{name:32} {clock * 1e3:6.1f} ms {ratios[0]:5.2f}x {processor * 1e3:7.1f} ms {ratios[1]:5.2f}x"
        )
        if args.at_most and ratios[1] > args.at_most:
            slow.append(f"{name} takes {ratios[1]:.2f} times {BASE}")
    if slow:
        raise SystemExit("\n".join(slow))


if __name__ == "__main__":
    main()
