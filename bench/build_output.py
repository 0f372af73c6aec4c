"""`headcount down` of members that hold build output, as a ratio to the same members without it.

Each of five members puts 67 MB into `node_modules` (5,000 files, beside a `package.json`), commits a file and
is idle. The team is then stood down. Printed for each way: the time of `down`, how much `.git` grew, and what
the receipt lists as skipped. "saved" is the way without the built-in list: `salvage_skip_known = false`. On a
disk, `rm -rf` of the same files is the larger part of the time, so its time is printed as well.

    python bench/build_output.py [--members 5] [--mb 67] [--files 5000] [--directory DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HEADCOUNT = os.path.join(os.path.dirname(sys.executable), "headcount")


class Ended(NamedTuple):
    seconds: float
    grown: int
    skipped: int
    skipped_bytes: int
    salvages: int


def fill(place: Path, files: int, size: int) -> None:
    """Files that do not compress: an installed tree would a little, and cost git more time."""
    for number in range(files):
        path = place / f"package-{number % 250}" / "lib" / f"{number}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size // files))


def make_repository(top: Path) -> None:
    for number in range(200):
        path = top / "lib" / f"{number}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"module.exports = {number}\n" * 40)
    (top / "package.json").write_text("{}\n")
    (top / ".gitignore").write_text("node_modules/\n")
    git(top, "init", "--quiet")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "--message", "start")


def git(top: Path, *words: str) -> None:
    who = ["-c", "user.name=b", "-c", "user.email=b@localhost"]
    subprocess.run(["git", *who, *words], cwd=top, check=True, capture_output=True)


def stand_down(top: Path, members: int, installed: Path | None, known: bool) -> Ended:
    make_repository(top)
    install = f"cp -R {shlex.quote(str(installed))} node_modules && " if installed else ""
    who = "-c user.name=m -c user.email=m@localhost"
    work = f"echo done > $HEADCOUNT_MEMBER.txt && git add . && git {who} commit -qm w"
    script = f'{install}{work} && "$0" idle && touch "$HEADCOUNT_HOME/ready-$HEADCOUNT_MEMBER" && sleep 3600'
    names = [f"m{number}" for number in range(members)]
    settings = f"[policy]\nsalvage_skip_known = {str(known).lower()}\nsalvage_ignored_max_mb = 1024\n"
    for name in names:
        settings += f"[agents.{name}]\ncommand = {json.dumps(['sh', '-c', script, HEADCOUNT])}\n"
    (top / "headcount.toml").write_text(settings)
    lines = [
        "from headcount import Command, Team, Teammate, define_team, define_worker",
        f"workers = [define_worker(name) for name in {names!r}]",
        "mates = [Teammate(worker=worker, description='d', prompt='p') for worker in workers]",
        "crew = define_team('crew', workers)",
        "doc = Command(name='x', description='y')[Team(team=crew, description='d')[tuple(mates)]]",
    ]
    (top / "team.py").write_text("\n".join(lines) + "\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADCOUNT_")}
    subprocess.run(
        [HEADCOUNT, "up", "team.py", "--json"], cwd=top, check=True, env=environment, capture_output=True
    )
    while not all((top / ".headcount" / f"ready-{name}").exists() for name in names):
        time.sleep(0.1)
    before = measure(top / ".git")
    began = time.perf_counter()
    down = subprocess.run(
        [HEADCOUNT, "down", "crew", "--json"], cwd=top, env=environment, capture_output=True
    )
    seconds = time.perf_counter() - began
    answer = json.loads(down.stdout)
    assert answer["status"] == "shutdown" and answer["deleted"], answer
    receipt = json.loads(Path(answer["archive"], "receipt.json").read_text())
    skipped = [one for member in receipt["members"] for one in member["findings"]["skipped"]]
    salvages = sum(len(member["salvage"]) for member in receipt["members"])
    counts = (sum(one["files"] for one in skipped), sum(one["bytes"] for one in skipped))
    return Ended(seconds, measure(top / ".git") - before, *counts, salvages)


def measure(top: Path) -> int:
    return sum(path.lstat().st_size for path in top.rglob("*") if not path.is_dir())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--members", type=int, default=5)
    arguments.add_argument("--mb", type=int, default=67)
    arguments.add_argument("--files", type=int, default=5_000)
    arguments.add_argument("--directory", help="where to work; /dev/shm keeps the disk out of it")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="headcount-bench-", dir=options.directory) as scratch:
        installed = Path(scratch) / "installed"
        fill(installed, options.files, options.mb << 20)
        print(f"{options.members} members, {options.mb} MB in {options.files} files each")
        found = {
            "without": stand_down(Path(scratch) / "without", options.members, None, known=True),
            "skipped": stand_down(Path(scratch) / "skipped", options.members, installed, known=True),
            "saved": stand_down(Path(scratch) / "saved", options.members, installed, known=False),
        }
        copies = [Path(scratch) / f"copy-{number}" for number in range(options.members)]
        for copy in copies:
            shutil.copytree(installed, copy)
        began = time.perf_counter()
        subprocess.run(["rm", "-rf", *map(str, copies)], check=True)
        print(f"rm -rf of as many files: {time.perf_counter() - began:.2f} s")
        for name, ended in found.items():
            ratio = ended.seconds / found["without"].seconds
            print(
                f"{name:8} down {ended.seconds:6.2f} s ({ratio:4.1f} times), .git grew by "
                f"{ended.grown / 1_000_000:7.2f} MB, {ended.salvages} salvages; the receipt lists "
                f"{ended.skipped:,} skipped files, {ended.skipped_bytes / 1_000_000:.1f} MB"
            )


if __name__ == "__main__":
    main()
