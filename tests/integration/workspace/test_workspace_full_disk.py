"""A removal on a disk that is full fails, and succeeds as soon as there is room (F145)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gitworld import World, gone, work

from headcount.workspace.remove import Removed, remove

# Runs in a mount namespace of its own, in which /mnt is a file system of 16 MB.
ON_A_SMALL_DISK = """
import os
from pathlib import Path
from gitworld import git, gone, open_world
from headcount.errors import HeadcountError
from headcount.workspace.remove import Refused, Removed, remove
from headcount.workspace.verify import verify

top = Path("/mnt/repo")
git("/mnt", "init", "-q", str(top))
(top / "a.txt").write_text("a\\n")
git(top, "add", ".")
git(top, "commit", "-qm", "first")
world = open_world(top)
member = world.member()
Path(member.path, "work.bin").write_bytes(os.urandom(1 << 20))

def fill():
    with open("/mnt/ballast", "wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 12)):
                pass
        except OSError:
            pass

def fails(step):
    try:
        step()
    except (HeadcountError, OSError):
        return True
    return False

fill()
assert fails(lambda: world.salvage(member))
assert isinstance(remove(world.repo, member, gone(member)), Refused)
os.unlink("/mnt/ballast")
saved = world.salvage(member)
fill()
assert fails(lambda: remove(world.repo, member, gone(member)))
assert verify(world.repo, saved.ref, member).ok
os.unlink("/mnt/ballast")
assert isinstance(remove(world.repo, member, gone(member)), Removed)
assert verify(world.repo, saved.ref).ok and not git(top, "fsck", "--no-dangling")
"""


def test_F145_a_removal_that_failed_on_a_full_disk_succeeds_when_there_is_room(tmp_path: Path) -> None:
    script = tmp_path / "small_disk.py"
    script.write_text(ON_A_SMALL_DISK)
    inside = f'mount -t tmpfs -o size=16m none /mnt && exec "{sys.executable}" "{script}"'
    space = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inside]
    here = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    done = subprocess.run(space, env=here, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_F145_what_a_killed_removal_left_half_written_is_not_taken_for_work(world: World) -> None:
    work(world)
    member = world.member()
    Path(member.git_dir or "", "headcount.removing.123.new").write_text('{"nodes": [')
    assert isinstance(remove(world.repo, member, gone(member)), Removed)
