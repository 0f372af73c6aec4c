"""Whatever stands at the other end of standard output: no traceback, and an honest exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_NAME = "日本 ☂ 😀"


def _headcount(
    words: str, place: Path, redirect: str = "", before: str = "", **env: str
) -> subprocess.CompletedProcess[bytes]:
    command = f"{before} {sys.executable} -m headcount {words} {redirect}"
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return subprocess.run(
        ["bash", "-c", command], cwd=place, env={**kept, "HOME": str(place), **env}, capture_output=True,
        timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("words", ["--help", "explain", "inbox --help", "explain --json"])
def test_a_reader_that_goes_away_ends_it_quietly(words: str, tmp_path: Path) -> None:
    """It is gone before anything is written: the other end of a FIFO that was opened and closed."""
    reader_left = "mkfifo f; exec 3<>f 4>f 3<&-;"
    done = _headcount(words, tmp_path, ">&4 4>&-", before=reader_left)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("words", ["--help", "explain", "inbox --help"])
def test_a_full_disk_is_told_and_is_no_bug_of_ours(words: str, tmp_path: Path) -> None:
    done = _headcount(words, tmp_path, "> /dev/full")
    assert done.returncode == 4
    assert done.stderr.startswith(b"Error: Could not write the answer [unwritable]")


def test_an_error_is_never_written_among_the_answers(tmp_path: Path) -> None:
    done = _headcount("down", tmp_path, "2>&-")
    assert (done.returncode, done.stdout) == (2, b"")


def test_closed_standard_output_is_no_traceback(tmp_path: Path) -> None:
    assert b"Traceback" not in _headcount("status", tmp_path, ">&-").stderr
    assert b"Traceback" not in _headcount("inbox", tmp_path, ">&-").stderr


def test_what_the_terminal_cannot_show_is_escaped_and_json_stays_json(tmp_path: Path) -> None:
    poor = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "1"}
    shown = _headcount(f"explain '{_NAME}'", tmp_path, **poor)
    assert (shown.returncode, shown.stdout) == (2, b"")
    assert b"\\u65e5\\u672c" in shown.stderr
    answer = json.loads(_headcount(f"explain '{_NAME}' --json", tmp_path, **poor).stdout)
    assert _NAME in answer["error"]["what"]
