"""Which database a state directory uses: a file of its own, or a PostgreSQL that the settings name.

The choice is written into the state directory, so that the engine and members, which have neither the
operator's environment nor settings, open the same one. It changes only while no team is open.
"""

from __future__ import annotations

import os

from headcount.app.caller import has_member_variables
from headcount.domain.database_url import hide_password
from headcount.errors import StoreError
from headcount.store import is_made, open_store, read_url, write_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "HEADCOUNT_DATABASE"


def choose_database(home: str, settings: str | None, environ: Mapping[str, str]) -> None:
    """Use the database that the settings name, if they name one."""
    if has_member_variables(environ):
        return
    wanted = _wanted(settings, environ)
    if not wanted or wanted == read_url(home):
        return
    if is_made(home):
        _check_no_team(home, wanted)
    from headcount.app.place import this_place
    from headcount.store import claim

    place = this_place(home)
    owner = claim(wanted, f"{place['path']} of user {place['user']} on {place['machine']}")
    if owner:
        raise StoreError(
            f"The database {hide_password(wanted)} belongs to another state directory",
            f"{owner} uses it, and its engine would drive the teams of both",
            ("Create a database for this repository, and name it in `[fleet] database`",),
            code="database-taken",
        )
    write_url(home, wanted)


def _wanted(settings: str | None, environ: Mapping[str, str]) -> str:
    """Parse the settings only if they may name a database: most commands need none of them."""
    if VARIABLE not in environ and not (settings is not None and _mentions_database(settings)):
        return ""
    from headcount.app.settings_file import read_settings

    return read_settings(settings, environ).fleet.database


def _mentions_database(settings: str) -> bool:
    try:
        with open(settings, "rb") as file:
            return b"database" in file.read()
    except OSError:
        return False  # the command that needs them says so


def _check_no_team(home: str, wanted: str) -> None:
    store = open_store(home)
    try:
        with store.read() as tx:
            names = tx.team_names()
    finally:
        store.close()
    if names:
        used = read_url(home)
        raise StoreError(
            f"Did not change to the database {hide_password(wanted)}",
            f"{', '.join(names)} in {hide_password(used) if used else os.path.join(home, 'state.db')}: open",
            ("Stand the teams down with `headcount down`, or take the setting back",),
            code="other-database",
        )
