"""`headcount up` and `down` in a large repository, as a ratio to `git worktree add` for as many worktrees.

    python bench/large_repository.py [--files 100000] [--members 10] [--directory DIR]

Both run in the same repository: first as many plain `git worktree add` as there are members, one after the
other, then `headcount up` until all members run, then `headcount down`. Every member commits a change of its
own. The bench fails if a member did not start, if `down` reports anything but clean, or if a worktree or a
commit is missing afterwards.

It deletes nothing before the end, and writes to disk what the plain worktrees left in the cache before it
begins with `up`. On ext4 with the mount option `discard`, creating files was 10 times slower for minutes
after 300,000 others had been deleted, whoever created them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from findings import seconds

MEMBER = """
echo mine > d0/$HEADCOUNT_MEMBER.txt && git add d0 && git commit -qm work && touch $READY/$HEADCOUNT_MEMBER
while :; do headcount inbox --wait 5 --unread >/dev/null; headcount approve >/dev/null 2>&1 && exit 0; done
"""
TEAM = """from headcount import Command, Team, Teammate, define_team, define_worker
workers = [define_worker(f"m{{n}}", command=["bash", "{script}"]) for n in range({members})]
crew = define_team("crew", workers)
doc = Command(name="bench", description="bench")[
    Team(team=crew, description="bench")[
        [Teammate(worker=worker, description="works", prompt="work") for worker in workers]
    ]
]
"""


def make_large(top: Path, files: int) -> None:
    """By `git fast-import`: writing the files of a first checkout would only warm the disk's cache."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(top)], check=True)
    lines = ["commit refs/heads/main", "committer bench <bench@localhost> 0 +0000", "data 5", "first"]
    for n in range(files):
        text = f"file {n}\n" * 20
        lines += [f"M 100644 inline d{n % 500}/f{n}.txt", f"data {len(text)}", text]
    subprocess.run(["git", "fast-import", "--quiet"], cwd=top, input="\n".join(lines).encode(), check=True)
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=top, check=True)


def add_worktrees(top: Path, scratch: Path, members: int) -> None:
    for n in range(members):
        place = scratch / f"plain{n}"
        subprocess.run(["git", "worktree", "add", "-q", "-b", f"plain{n}", str(place)], cwd=top, check=True)


def environment(scratch: Path) -> dict[str, str]:
    ready = scratch / "ready"
    ready.mkdir()
    ours = os.path.dirname(sys.executable)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HEADCOUNT_", "GIT_", "TMUX"))}
    who = {f"GIT_{role}_{key}": "bench" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    return {**kept, **who, "PATH": f"{ours}:{os.environ['PATH']}", "READY": str(ready)}


def headcount(top: Path, env: dict[str, str], *args: str) -> str:
    done = subprocess.run(["headcount", *args], cwd=top, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"headcount {args[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def check(top: Path, answer: str, members: int) -> None:
    """Whether `down` told the truth: all clean, no worktree left, every commit on a branch."""
    outcomes = [member["outcome"] for member in json.loads(answer)["members"]]
    worktrees = subprocess.run(["git", "worktree", "list"], cwd=top, check=True, capture_output=True).stdout
    branches = subprocess.run(
        ["git", "for-each-ref", "--no-merged=main", "refs/heads/headcount"],
        cwd=top, check=True, capture_output=True,
    ).stdout  # fmt: skip
    if outcomes != ["clean"] * members or b"/.headcount/" in worktrees or branches.count(b"\n") != members:
        sys.exit(f"not as it should be: {outcomes}, {worktrees!r}, {branches!r}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=100_000)
    arguments.add_argument("--members", type=int, default=10)
    arguments.add_argument("--directory", help="where to work")
    options = arguments.parse_args()
    # The engine leaves some seconds after its team, and writes until then.
    with tempfile.TemporaryDirectory(
        prefix="headcount-bench-", dir=options.directory, ignore_cleanup_errors=True
    ) as name:
        scratch = Path(name)
        top = scratch / "repo"
        make_large(top, options.files)
        (scratch / "member.sh").write_text(MEMBER)
        (scratch / "team.py").write_text(TEAM.format(script=scratch / "member.sh", members=options.members))
        env = environment(scratch)
        plain = seconds(lambda: add_worktrees(top, scratch, options.members))
        subprocess.run(["sync"], check=True)
        try:
            up = seconds(lambda: headcount(top, env, "up", str(scratch / "team.py")))
            while len(os.listdir(env["READY"])) < options.members:
                time.sleep(0.05)
        except BaseException:
            headcount(top, env, "down", "--now", "--json")  # a failed run leaves no member
            raise
        answers: list[str] = []
        down = seconds(lambda: answers.append(headcount(top, env, "down", "--json")))
        check(top, answers[0], options.members)
        print(f"{options.files} files, {options.members} members")
        for what, took in (("git worktree add, one after the other", plain), ("up", up), ("down", down)):
            print(f"{what:40} {took:8.1f} s")
        print(f"{'up, as a ratio':40} {up / plain:8.2f}")


if __name__ == "__main__":
    main()
