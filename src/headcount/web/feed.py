"""Pushing: one thread reads a team for all who watch it, and each watcher is sent what is new to it.

The store's bell wakes the thread; it reads at most ten times a second. A watcher keeps the view that it was
last sent, and a patch is made from that one to the newest: a slow browser skips views, and never queues them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from headcount.app.page import Onlooker, TeamList, make_patch
from headcount.app.transcripts import read_transcript
from headcount.app.unsaved_work import keep_looking
from headcount.errors import Bug, HeadcountError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from headcount.app.app import App
    from headcount.ports import Store

_EVERY_S = 0.1
_LOOK_S = 0.5  # without a bell: activity, and mail between members, which rings only its reader
_KEEP_ALIVE_S = 15.0
_STILL_HERE = ": still here\n\n"
_PART = 64_000  # characters of a transcript in one event
_TAIL = 400_000  # of what a member did before somebody looked
_LONGEST = 4_000
Patch = dict[str, Any]


class Watch:
    """A view that is read again whenever `channel` rings, as long as it has watchers."""

    def __init__(self, store: Store, channel: str, look: Callable[[], Any]) -> None:
        self._store = store
        self._channel = channel
        self._look = look
        self._loop = asyncio.get_running_loop()
        self._news: set[asyncio.Event] = set()
        self._view: Any = None
        self._error: HeadcountError | None = None
        self.over = threading.Event()
        self.watchers = 0

    def start(self, *others: Callable[[], None]) -> None:
        """Start the reader in its own thread, and other tasks that run as long as it does."""
        for work in (self._read, *others):
            threading.Thread(target=work, name=f"watch {self._channel}", daemon=True).start()

    def end(self) -> None:
        self.over.set()
        self._store.ring([self._channel])

    async def wait(self, seen: Any, timeout_s: float) -> Any:
        """A view that is newer than `seen`; None when the time is over, or the same when we are."""
        news = asyncio.Event()
        self._news.add(news)
        try:
            if (self._view is None or self._view is seen) and self._error is None:
                await asyncio.wait_for(news.wait(), timeout_s)
        except TimeoutError:
            return None
        finally:
            self._news.discard(news)
        if self._error is not None:
            raise self._error
        return self._view

    def _read(self) -> None:
        self._store.listen(self._channel)
        while not self.over.is_set():
            began = time.monotonic()
            try:
                view = self._look()
            except Exception as error:
                self._error = _as_ours(error)
                self.tell()
                return
            if view is not self._view:
                self._view = view
                self.tell()
            self.over.wait(max(0.0, _EVERY_S - (time.monotonic() - began)))
            self._store.wait(self._channel, _LOOK_S)

    def tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            self.over.set()  # the server has ended

    def _wake(self) -> None:
        for news in self._news:
            news.set()


class Feed:
    """The watches of all that is watched."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._watches: dict[str, Watch] = {}
        self._over = False

    def end(self) -> None:
        """Close every stream, so that a server can end at once."""
        self._over = True
        for watch in self._watches.values():
            watch.tell()

    def team(self, name: str) -> AsyncIterator[str]:
        """Yield the whole view of a team first, then patches."""
        return self._events(f"team/{name}", lambda: self._watch_team(name), make_patch)

    def teams(self) -> AsyncIterator[str]:
        """Yield the list of teams, and again whenever it changes."""
        return self._events("engine", self._watch_teams, lambda _, now: {"teams": now})

    async def transcript(self, team: str, member: str) -> AsyncIterator[str]:
        """Yield what a member did, and what it does next until it is gone. Each stream has a thread."""
        lines = read_transcript(self._app, member, team, follow=True)
        thread = ThreadPoolExecutor(1, "transcript")
        sent = time.monotonic()
        limit = _TAIL
        try:
            while not self._over:
                text = await asyncio.get_running_loop().run_in_executor(thread, _read_part, lines, limit)
                if text is None:
                    break
                limit = _PART
                if text or time.monotonic() - sent > _KEEP_ALIVE_S:
                    sent = time.monotonic()
                    yield _event({"text": text}) if text else _STILL_HERE
            yield _event({"over": True})
        except HeadcountError as error:
            yield _event({"error": error.as_dict()})
        finally:
            thread.shutdown(wait=False)

    def _watch_team(self, name: str) -> Watch:
        onlooker = Onlooker(self._app, name)
        watch = Watch(self._app.store, f"team/{name}", onlooker.look)
        watch.start(lambda: self._count(name, onlooker, watch))
        return watch

    def _count(self, name: str, onlooker: Onlooker, watch: Watch) -> None:
        try:
            keep_looking(self._app, name, onlooker.seen, watch.over.wait)
        except HeadcountError:
            return  # there is no such team, as the reader says

    def _watch_teams(self) -> Watch:
        last: list[Any] = []
        teams = TeamList(self._app)

        def look() -> list[Any]:
            nonlocal last
            now = teams.read()
            last = last if now == last and last else now
            return last

        watch = Watch(self._app.store, "engine", look)
        watch.start()
        return watch

    async def _events(
        self, channel: str, begin: Callable[[], Watch], patch: Callable[[Any, Any], Patch]
    ) -> AsyncIterator[str]:
        """Server-sent events, and a comment when nothing happens for a while."""
        watch = self._watches.get(channel) or self._watches.setdefault(channel, begin())
        watch.watchers += 1
        seen = None
        try:
            while not self._over:
                view = await watch.wait(seen, _KEEP_ALIVE_S)
                if view is None or view is seen:
                    yield _STILL_HERE
                    continue
                yield _event(patch(seen, view))
                seen = view
                await asyncio.sleep(_EVERY_S)
        except HeadcountError as error:
            yield _event({"error": error.as_dict()})
        finally:
            watch.watchers -= 1
            if not watch.watchers and self._watches.get(channel) is watch:
                del self._watches[channel]
                watch.end()


def _read_part(lines: Iterator[str], limit: int) -> str | None:
    """Return the next lines, the last `limit` characters of them; "" after a pause, None at the end."""
    parts: list[str] = []
    size = 0
    for text in lines:
        if not text:
            break
        parts.append("\n".join(_cut(line) for line in text.split("\n")))
        size += len(parts[-1])
        while size - len(parts[0]) > limit:
            size -= len(parts.pop(0))
        if limit == _PART and size >= _PART:
            break
    else:
        return "".join(parts)[-limit:] or None
    return "".join(parts)[-limit:]


def _cut(line: str) -> str:
    more = len(line) - _LONGEST
    return line if more <= 0 else f"{line[:_LONGEST]}… {more:,} more characters"


def _as_ours(error: Exception) -> HeadcountError:
    """Report the error that ended a reader, so that no page silently shows old data."""
    if isinstance(error, HeadcountError):
        return error
    traceback.print_exception(error, file=sys.stderr)
    return Bug(
        "The team cannot be read", "this is a bug in headcount", ("See the output of `headcount serve`",)
    )


def _event(data: Patch) -> str:
    """Return an event as one line of JSON, without line breaks."""
    return f"data: {json.dumps(data, ensure_ascii=True, separators=(',', ':'))}\n\n"
