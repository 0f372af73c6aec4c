"""Acts of one incarnation run one after the other; those of others do not wait for them."""

from __future__ import annotations

import threading
import time

from headcount.runtime.worker_pool import WorkerPool


def test_what_is_put_into_one_lane_runs_in_order_and_never_at_the_same_time() -> None:
    pool = WorkerPool(8)
    seen: list[int] = []
    running = threading.Semaphore(1)
    done = threading.Event()

    def work(number: int) -> None:
        assert running.acquire(blocking=False), "two at once"
        seen.append(number)
        running.release()
        if number == 99:
            done.set()

    for number in range(100):
        pool.put("ada", lambda n=number: work(n))
    assert done.wait(60)
    pool.close()
    assert seen == list(range(100))


def test_a_lane_that_hangs_delays_nobody_else() -> None:
    pool = WorkerPool(2)
    let_go, other = threading.Event(), threading.Event()
    pool.put("ada", lambda: let_go.wait(60))
    pool.put("ben", other.set)
    assert other.wait(60)
    let_go.set()
    pool.close()


def test_work_that_raises_does_not_close_its_lane() -> None:
    pool = WorkerPool(1)
    after = threading.Event()

    def fails() -> None:
        raise ValueError("a bug")

    pool.put("ada", fails)
    pool.put("ada", after.set)
    assert after.wait(60)
    pool.close()


def test_closing_lets_what_runs_finish_and_leaves_the_rest() -> None:
    pool = WorkerPool(1)
    began, let_go = threading.Event(), threading.Event()
    finished: list[str] = []

    def first() -> None:
        began.set()
        let_go.wait(60)
        finished.append("first")

    pool.put("ada", first)
    pool.put("ada", lambda: finished.append("second"))
    assert began.wait(60)
    threading.Timer(0.05, let_go.set).start()
    pool.close()
    assert finished == ["first"]


def test_how_long_work_is_under_way_is_counted_from_when_it_has_a_thread() -> None:
    pool = WorkerPool(1)
    begun, let_go = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        let_go.wait(60)

    pool.put("ada", first)
    pool.put("ben", lambda: None)
    assert begun.wait(60)
    time.sleep(0.01)
    assert (pool.seconds_under_way("ada") or 0) >= 0.01
    assert pool.seconds_under_way("ben") == 0
    assert pool.seconds_under_way("cat") is None
    let_go.set()
    pool.close()
    assert pool.seconds_under_way("ada") is None
