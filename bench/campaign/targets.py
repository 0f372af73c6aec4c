"""headcount's own processes of one trial, found from outside, and the signals that a plan sends to them."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter

from .place import Place
from .plan import Kill
from .processes import Process, children, of_trial, read, send

_APPEARS_S = 4.0  # how long a target is waited for
_GIT_S = 0.5  # git runs for milliseconds: its parents are watched so long before they are listed again
_STOPPED_S = 1.0


def find(kind: str, place: str, token: str, but: frozenset[int]) -> list[Process]:
    """Return the processes of one kind: engine, keeper, reaper, helper or git. `but` is the user's."""
    all_of_it = of_trial(place, but)
    engines = [one for one in all_of_it if _is_engine(one)]
    if kind == "engine":
        return engines
    ours = [one for one in all_of_it if one.name.startswith("hc-")]
    above_agents = {one.parent for one in all_of_it if token.encode() in one.arguments}
    if kind == "keeper":
        return [one for one in ours if one.pid in above_agents]
    if kind == "reaper":
        return [one for one in ours if one.pid not in above_agents] or ours
    if kind == "git":
        return _git_below([*engines, *ours])
    return [
        one for one in all_of_it if one.parent in {e.pid for e in engines} and not one.name.startswith("git")
    ]


def headcounts_own(place: str, but: frozenset[int]) -> list[Process]:
    return [one for one in of_trial(place, but) if _is_engine(one) or one.name.startswith("hc-")]


def _git_below(parents: list[Process]) -> list[Process]:
    """Watch headcount's processes for a moment and return the first git that one of them starts."""
    deadline = time.monotonic() + _GIT_S
    while time.monotonic() < deadline:
        for parent in parents:
            for pid in children(parent.pid):
                child = read(pid)
                if child is not None and child.name.startswith("git"):
                    return [child]
        time.sleep(0.001)
    return []


def _is_engine(process: Process) -> bool:
    words = process.arguments.split(b"\0")
    return b"engine" in words and any(b"headcount" in word for word in words)


class Killer:
    """Sends the signals of one phase at their moments, in a thread of its own, until it is told to stop."""

    def __init__(
        self, kills: list[Kill], place: Place, but: frozenset[int], counts: Counter[str], stretch: float
    ) -> None:
        self._kills = kills
        self._stretch = stretch  # on a slow machine every moment comes later
        self._place = place
        self._but = but
        self._counts = counts
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        for kill in self._kills:
            if self._over.wait(max(0.0, began + kill.after_s * self._stretch - time.monotonic())):
                return
            self._perform(kill)

    def _perform(self, kill: Kill) -> None:
        deadline = time.monotonic() + _APPEARS_S
        while time.monotonic() < deadline and not self._over.is_set():
            hit = self._signal_down(kill) if kill.target == "down" else self._signal(kill)
            if hit:
                self._counts[f"{kill.target} {kill.signal}"] += hit
                return
            time.sleep(0.005)

    def _signal_down(self, kill: Kill) -> int:
        command = self._place.running
        if command is None or command.poll() is not None:
            return 0
        command.send_signal(getattr(signal, f"SIG{kill.signal}"))
        if kill.signal == "STOP":
            self._over.wait(_STOPPED_S)
            command.send_signal(signal.SIGCONT)
        return 1

    def _signal(self, kill: Kill) -> int:
        found = find(kill.target, self._place.top, self._place.token, self._but)
        # One of several, drawn from the moment of the plan: a replay hits the same kind, not the same pid.
        chosen = found[int(kill.after_s * 1000) % len(found)] if found else None
        if chosen is None or not send(chosen, getattr(signal, f"SIG{kill.signal}")):
            return 0
        if kill.signal == "STOP":
            self._over.wait(_STOPPED_S)
            send(chosen, signal.SIGCONT)
        return 1
