"""Use a member's own terminal through the runtime, to follow the client in it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.runtime.process_runtime import Handle
    from headcount.runtime.tmux import TmuxRuntime


class Terminal:
    """Taken up when it is first needed, and then kept: a handle has descriptors."""

    def __init__(self, home: str, mark: str, hold: str = "") -> None:
        """`hold`: what it shows while nothing may be typed there."""
        self._home = home
        self._mark = mark
        self._hold = hold
        self._taken_up: tuple[TmuxRuntime, Handle] | None = None

    def _take_up(self) -> tuple[TmuxRuntime, Handle] | None:
        if self._taken_up is None:
            from headcount.runtime.tmux import TmuxRuntime

            runtime = TmuxRuntime(self._home)
            handle = runtime.adopt(self._mark, {"hold": self._hold})
            self._taken_up = None if handle is None else (runtime, handle)
        return self._taken_up

    def printed(self) -> int:
        """Return how many bytes were ever printed. While it is the same, so is the screen."""
        from headcount.runtime.log import end_of_log

        found = self._take_up()
        return 0 if found is None else end_of_log(found[1].directory.path)

    def read(self) -> str:
        found = self._take_up()
        return "" if found is None else found[0].capture(found[1])

    def press(self, keys: str) -> None:
        found = self._take_up()
        if found is not None:
            found[0].press(found[1], keys)

    def type(self, text: str, tag: str) -> bool:
        """Type a text by the runtime's rules: at a pause, once for each tag, and check that it was taken."""
        found = self._take_up()
        return found is not None and found[0].nudge(found[1], text, tag=tag)
