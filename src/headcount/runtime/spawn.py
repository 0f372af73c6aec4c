"""One start, on disk: `<state>/run/<mark>/`, and what the keeper has written there.

Whatever an engine knew before it crashed, these files say whether the start happened, which
processes it made, how the agent ended and when nothing was left.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, NamedTuple

from headcount.errors import ProcessError
from headcount.runtime.keeper import EMPTY, EXIT, PROCESS, as_json, process_json, write_once


class Identity(NamedTuple):
    """A process, for as long as this boot lasts: a recycled pid has another start time."""

    pid: int
    start: int


@dataclass(frozen=True, slots=True)
class Record:
    """What the keeper wrote before the agent ran."""

    mark: str
    agent: Identity
    keeper: Identity
    boot: str
    at: float
    pane: str = ""
    session: str = ""
    server_pid: int = 0


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How the agent's own process ended. Both None: it is gone, and nobody was there to see how."""

    code: int | None
    signal: int | None
    at: float
    error: str = ""
    """Why its program could not be run at all."""

    def __str__(self) -> str:
        if self.error:
            return f"never ran: {self.error}"
        if self.code is not None:
            return f"exited with code {self.code}"
        return f"ended by signal {self.signal}" if self.signal else "gone, nobody saw how"


@dataclass(frozen=True, slots=True)
class Emptied:
    """The keeper's last word: the kernel had no child left for it. `reaped` are (pid, wait status)."""

    at: float
    count: int
    reaped: tuple[tuple[int, int], ...]


_HOLD = "hold"


class SpawnDirectory:
    def __init__(self, path: str) -> None:
        self.path = path

    def put_hold(self, pattern: str) -> None:
        """Before its start, so that whoever types there later, after whatever crash, knows of it."""
        with open(self.file(_HOLD), "w", encoding="utf-8") as file:
            file.write(pattern)

    def hold(self) -> str:
        """What the terminal shows while nothing may be typed there; "" when nothing is known."""
        try:
            with open(self.file(_HOLD), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def file(self, name: str) -> str:
        return f"{self.path}/{name}"

    def record(self) -> Record | None:
        """None: not started, or called off, and then it never will be. ProcessError: it cannot be read."""
        fields = self._read(PROCESS)
        if fields is None or "cancelled" in fields:
            return None
        try:
            return _record(fields)
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(PROCESS, error) from error

    def known(self) -> Record | None:
        """The record, where there is one that can be read: a damaged one is worth no more than none."""
        try:
            return self.record()
        except ProcessError:
            return None

    def put_back(self, record: Record) -> None:
        """As the keeper wrote it; and with its directory there again, the keeper can write how it ends."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        place = [record.pane, record.session, str(record.server_pid)] if record.pane else []
        text = process_json(record.mark, record.agent, record.keeper, record.boot, record.at, place)
        write_once(self.file(PROCESS), text)

    def is_called_off(self) -> bool:
        try:
            return "cancelled" in (self._read(PROCESS) or {})
        except ProcessError:
            return False

    def cancel(self) -> bool:
        """Make a start that has not happened impossible. False when it has happened."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        if write_once(self.file(PROCESS), as_json(cancelled=1)):
            return True
        return self.known() is None

    def exit_status(self) -> ExitStatus | None:
        """None as well when it cannot be read: then nobody saw how it ended."""
        try:
            fields = self._read(EXIT) or {}
            return ExitStatus(fields["code"], fields["signal"], fields["at"], fields["error"])
        except (ProcessError, KeyError, TypeError):
            return None

    def emptied(self) -> Emptied | None:
        """None as well when it cannot be read: then the proof goes by the mark."""
        try:
            fields = self._read(EMPTY) or {}
            reaped = tuple((pid, status) for pid, status in fields["reaped"])
            return Emptied(fields["at"], fields["count"], reaped)
        except (ProcessError, KeyError, TypeError, ValueError):
            return None

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            # Not waited for, should it be a pipe.
            with open(os.open(self.file(name), os.O_RDONLY | os.O_NONBLOCK)) as file:
                fields: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            return None
        except (ValueError, OSError) as error:
            raise self._damaged(name, error) from error
        return fields

    def _damaged(self, name: str, error: Exception) -> ProcessError:
        what = f"{self.file(name)} cannot be read"
        return ProcessError(what, str(error), code="process-record-damaged")


def _record(fields: dict[str, Any]) -> Record:
    pane, session, server = fields["place"] or ("", "", "0")
    return Record(
        mark=fields["mark"],
        agent=Identity(fields["pid"], fields["start"]),
        keeper=Identity(fields["keeper"], fields["keeper_start"]),
        boot=fields["boot"],
        at=fields["at"],
        pane=pane,
        session=session,
        server_pid=int(server),
    )
