"""What is refused inside of a member before any state is opened, or where there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headcount.app import caller as callers
from headcount.errors import NotAllowed
from headcount.store import open_store
from headcount.store.database import DATABASE
from headcount.store.identity import descends_from_member
from headcount.store.sqlite import InMemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OF_A_MEMBER = ("HEADCOUNT_MARK", "HEADCOUNT_MEMBER", "HEADCOUNT_TOKEN")


def is_member(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for name in _OF_A_MEMBER) or descends_from_member()


def refuse_python(sources: Iterable[str], environ: Mapping[str, str]) -> None:
    """A Python definition is a program, and `permissions = "edit"` allows a member no programs."""
    found = next((path for path in sources if path.endswith(".py")), None)
    if found is None or not is_member(environ):
        return
    raise NotAllowed(
        f"Did not read {found}", "a definition in Python is a program, and this runs inside of a member",
        ("Write the definition in TSX, which is read and never run", "Or let the operator build it"),
        code="python-in-member",
    )  # fmt: skip


def check_here(home: str, environ: Mapping[str, str], action: str) -> None:
    """By the one table, for commands that need no open state."""
    store = open_store(home) if os.path.exists(f"{home}/{DATABASE}") else InMemoryStore(home)
    try:
        callers.check(store, callers.identify(store, environ, home), action)
    finally:
        store.close()
