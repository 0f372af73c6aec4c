"""The leases of an engine: one a team, renewed in time, released when the team is closed, never stolen."""

from __future__ import annotations

import pytest

from headcount.engine.leases import TTL_S, Leases, lease_of
from headcount.errors import FencedOut
from headcount.store.sqlite import InMemoryStore


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> InMemoryStore:
    return InMemoryStore(clock=clock)


def test_another_host_waits_while_leases_are_renewed(store: InMemoryStore, clock: Clock) -> None:
    here, there = Leases(store, "here", clock), Leases(store, "there", clock)
    fence = here.fence("web")
    for _ in range(20):
        due = here.next_due()
        assert due is not None and due < clock.now + TTL_S / 2
        clock.now = due
        here.renew()
        with pytest.raises(FencedOut, match="web is taken"):
            there.fence("web")
    assert here.fence("web") == fence
    assert there.fence("api") is not None  # another team


def test_a_host_that_stopped_renewing_is_fenced_out(store: InMemoryStore, clock: Clock) -> None:
    here, there = Leases(store, "here", clock), Leases(store, "there", clock)
    old = here.fence("web")
    clock.now += TTL_S + 1
    there.fence("web")
    with pytest.raises(FencedOut, match="lost"):
        here.renew()
    with pytest.raises(FencedOut), store.write(old):
        pass


def test_the_next_engine_of_a_host_takes_over_at_once(store: InMemoryStore, clock: Clock) -> None:
    old = Leases(store, "here", clock).fence("web")
    new = Leases(store, "here", clock).fence("web")
    assert new.token > old.token
    with pytest.raises(FencedOut), store.write(old):
        pass
    with store.write(new):
        pass


def test_the_lease_of_a_closed_team_is_free(store: InMemoryStore, clock: Clock) -> None:
    here = Leases(store, "here", clock)
    here.fence("web")
    here.fence("api")
    here.release_all(but=("api",))
    assert store.take_lease(lease_of("web"), "there", 60) is not None
    assert store.take_lease(lease_of("api"), "there", 60) is None
    here.release_all()
    assert here.next_due() is None
    assert store.take_lease(lease_of("api"), "there", 60) is not None
