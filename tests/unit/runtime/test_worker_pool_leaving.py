"""Work that hangs is not waited for beyond a limit, and keeps no process from ending."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from headcount.runtime.worker_pool import WorkerPool, side_by_side

_HANGS = """
import threading
from headcount.runtime.worker_pool import WorkerPool, side_by_side
began = threading.Event()
def hang(_=None):
    began.set()
    threading.Event().wait()
pool = WorkerPool(2)
pool.put("ada", lambda: side_by_side(hang, [1, 2], 2))
began.wait()
print(pool.close(0.01))
"""


def test_closing_says_what_it_did_not_wait_for() -> None:
    pool = WorkerPool(2)
    began, let_go = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        let_go.wait(10)

    pool.put("ada", work)
    assert began.wait(10)
    assert not pool.close(0.01)
    let_go.set()
    assert pool.close(10)
    assert pool.finished() == [None]
    assert not pool.busy


def test_nothing_begins_once_it_is_closed() -> None:
    pool = WorkerPool(1)
    assert pool.close(1)
    pool.put("ada", lambda: pytest.fail("it began"))
    assert not pool.busy


def test_a_process_ends_although_something_in_it_hangs() -> None:
    done = subprocess.run([sys.executable, "-c", _HANGS], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


def test_side_by_side_answers_in_the_order_of_the_questions() -> None:
    second = threading.Event()

    def work(number: int) -> int:
        if number == 1:
            assert second.wait(10), "they do not run side by side"
        else:
            second.set()
        return 10 * number

    assert side_by_side(work, [1, 2, 3], 2) == [10, 20, 30]
    assert side_by_side(work, [], 2) == []


def test_side_by_side_raises_what_was_raised_and_leaves_nothing_undone() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        if number == 2:
            raise ValueError("two")
        done.append(number)

    with pytest.raises(ValueError, match="two"):
        side_by_side(work, [1, 2, 3], 1)
    assert done == [1, 3]
