"""The object database: write blobs and trees to a quarantine, and read them back as bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import IO, NamedTuple

from headcount.errors import GitError, WorldError
from headcount.value_classes import dataclass
from headcount.workspace.disk_scan import CHUNK, hash_blob, hash_bytes, hash_object
from headcount.workspace.git import Git
from headcount.workspace.git_settings import is_plain
from headcount.workspace.safe_files import Target

LINK = "120000"  # git's mode of a symbolic link
# For objects in a quarantine, which is packed and synced as a whole: loose, they live for a moment only.
FAST = ("-c", "core.fsync=none", "-c", "core.looseCompression=1")


class Leaf(NamedTuple):
    """One entry of a tree: git's mode and the object."""

    mode: str
    oid: str


def read_types(git: Git, oids: Iterable[str]) -> dict[str, str]:
    """Which of these objects exist, and of which type."""
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    lines = git.run(
        "cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer", stdin=asked
    ).text.split("\n")
    pairs = (line.split(" ") for line in lines if line)
    return {oid: kind for oid, kind in pairs if kind != "missing"}


def read_sizes(git: Git, oids: Iterable[str]) -> dict[str, int]:
    """How many bytes each of these objects has; without those that do not exist."""
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    lines = git.run(
        "cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", stdin=asked
    ).text.split("\n")
    pairs = (line.split(" ") for line in lines if line)
    return {oid: int(size) for oid, size in pairs if size.isdigit()}


def write_blobs(git: Git, paths: Iterable[bytes]) -> list[str]:
    """Write files as they are on disk, without filters. Return the names that git gave them, in order."""
    lines = b"".join(_line(path) + b"\n" for path in paths)
    return git.run(*FAST, "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=lines).text.splitlines()


def _line(path: bytes) -> bytes:
    """One path on one line. Git unquotes a line that begins with a quote, cuts a final carriage return."""
    if not path.startswith(b'"') and b"\n" not in path and b"\r" not in path:
        return path
    special = {0x22: b'\\"', 0x5C: b"\\\\", 0x0A: b"\\n", 0x0D: b"\\r"}
    return b'"' + b"".join(special.get(octet, bytes([octet])) for octet in path) + b'"'


def write_tree(git: Git, index: str, leaves: Mapping[bytes, Leaf]) -> str:
    """A tree of these leaves, through an index file of its own."""
    lines = b"".join(f"{leaf.mode} {leaf.oid}\t".encode() + path + b"\0" for path, leaf in leaves.items())
    own = git.with_index(index)
    own.run("update-index", "-z", "--index-info", stdin=lines)
    return own.text(*FAST, "write-tree", "--missing-ok")


def read_tree(git: Git, tree: str) -> dict[bytes, Leaf]:
    """All leaves below a tree, by full path."""
    leaves = {}
    for record in git.run("ls-tree", "-r", "-z", "--full-tree", tree).records():
        meta, _, path = record.partition(b"\t")
        mode, _, oid = meta.decode().split(" ")
        leaves[path] = Leaf(mode, oid)
    return leaves


def write_leaf(
    target: Target, path: bytes, leaf: Leaf, chunks: Iterable[bytes], *, replace: bool = False
) -> None:
    """A file or link with these bytes below `target`."""
    if leaf.mode == LINK:
        target.write_link(path, b"".join(chunks), replace=replace)
    else:
        target.write_file(path, chunks, 0o755 if leaf.mode == "100755" else 0o644, replace=replace)


@dataclass(frozen=True, slots=True)
class Blob:
    """One object that was asked for. All of its chunks must be read before the next blob is."""

    oid: str
    size: int
    chunks: Iterator[bytes]
    kind: str = "blob"


def read_blobs(git: Git, oids: Iterable[str]) -> Iterator[Blob]:
    """The objects one after the other, in chunks: one may be larger than memory. Missing is a GitError."""
    for oid, blob in try_blobs(git, oids):
        if blob is None:
            raise GitError(f"Could not read object {oid}", "it is missing or broken", code="object-missing")
        yield blob


def try_blobs(git: Git, oids: Iterable[str]) -> Iterator[tuple[str, Blob | None]]:
    """As `read_blobs`, with None for what is missing."""
    with tempfile.TemporaryFile() as requests:
        asked = list(oids)
        requests.write("".join(f"{oid}\n" for oid in asked).encode())
        requests.seek(0)
        with open_answer(git, requests, "cat-file", "--batch", "--buffer") as answers:
            for oid in asked:
                header = answers.readline().split()
                if len(header) == 3:
                    size = int(header[2])
                    # Nearly all are small: one read, with the line end after it.
                    small = answers.read(size + 1) if size < CHUNK else b""
                    chunks = iter((small[:-1],)) if len(small) > size else _chunks(answers, size)
                    yield oid, Blob(oid, size, chunks, header[1].decode())
                else:
                    yield oid, None


def find_broken(git: Git, algorithm: str, leaves: Iterable[Leaf]) -> list[str]:
    """Blobs whose bytes, read out of the object database and hashed by us, are not what their name says."""
    oids = sorted({leaf.oid for leaf in leaves if leaf.mode != "160000"})
    return [oid for oid, blob in try_blobs(git, oids) if blob is None or not _is_whole(algorithm, blob)]


def _is_whole(algorithm: str, blob: Blob) -> bool:
    if blob.size < CHUNK:
        return hash_bytes(algorithm, "blob", blob.size, b"".join(blob.chunks)) == blob.oid
    return hash_blob(algorithm, blob.size, blob.chunks) == blob.oid


def find_whole(git: Git, algorithm: str, oids: Iterable[str]) -> list[str]:
    """Those of these objects, of any type, whose bytes are what their name says.

    git stops at the first damaged one, so it is started again behind it.
    """
    left, whole = list(oids), []
    while left:
        done = 0
        for oid, found in try_blobs(git, left):
            done += 1
            try:
                if found and hash_object(algorithm, found.kind, found.size, found.chunks) == oid:
                    whole.append(oid)
                    continue
            except WorldError:
                pass
            break
        left = left[done:]
    return whole


@contextmanager
def open_answer(git: Git, requests: IO[bytes] | None, *args: str | bytes) -> Iterator[IO[bytes]]:
    """What a git says, to be read piece by piece; whoever has read enough need not read all of it."""
    if not is_plain(args):  # it may run programs: then below a reaper, and to its end
        yield BytesIO(git.run(*args, stdin=requests.read() if requests else None, ok=range(256)).out)
        return
    with subprocess.Popen(
        git.command(*args),
        cwd=git.cwd,
        env=git.environment(),
        stdin=subprocess.DEVNULL if requests is None else requests,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        # A read that hangs (a network disk, a lazy fetch) ends with the process, as a missing object.
        watchdog = threading.Timer(git.time_left(), os.killpg, (process.pid, signal.SIGKILL))
        watchdog.daemon = True
        watchdog.start()
        try:
            assert process.stdout is not None
            yield process.stdout
        finally:
            watchdog.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def _chunks(answers: IO[bytes], size: int) -> Iterator[bytes]:
    left = size
    while left:
        chunk = answers.read(min(CHUNK, left))
        if not chunk:
            raise GitError("Could not read an object to its end", "git stopped", code="object-missing")
        left -= len(chunk)
        yield chunk
    answers.read(1)  # the line end after an object
