"""Find and read `headcount.toml`, if no user but this one, or root, could have written it."""

from __future__ import annotations

import os
import stat

from headcount.app.home import is_git_directory
from headcount.domain.names import SETTINGS_FILE
from headcount.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.domain.settings import Settings


def find_settings(start: str) -> str | None:
    """`headcount.toml` beside the repository's `.git`, looked for upwards from `start` as git does."""
    folder = os.path.abspath(start)
    while not (os.path.isfile(f"{folder}/.git") or is_git_directory(f"{folder}/.git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    path = os.path.join(folder, SETTINGS_FILE)
    return path if os.path.exists(path) else None


def read_settings(path: str | None, environ: Mapping[str, str]) -> Settings:
    """Return the settings in this file, or the defaults, with the environment's on top."""
    from headcount.domain.settings import parse_settings

    text = ""
    if path is not None:
        check_owner(path)
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(path, error) from error
    return parse_settings(text, path or SETTINGS_FILE, environ)


def check_owner(path: str) -> None:
    """Refuse a file that another user may have written."""
    try:
        foreign = _why_not_ours(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if foreign:
        hint = "Settings name commands that headcount runs: own the file, and let nobody else write it"
        raise UsageError(f"Did not use {path}", foreign, (hint,), code="foreign-settings")


def _unreadable(path: str, error: Exception) -> UsageError:
    return UsageError(f"Cannot read {path}", str(error), code="unreadable-settings")


def _why_not_ours(path: str) -> str:
    """Why `path` may be another user's work, or "". Checks the file and the folder that it is in."""
    user = os.getuid()
    for place in (path, os.path.dirname(path)):
        found = os.stat(place)
        if found.st_uid not in (user, 0):
            return f"{place} belongs to the user with the id {found.st_uid}, and you are {user}"
        # In a sticky folder, such as /tmp, others can neither replace nor rename a file of ours.
        sticky = place != path and found.st_mode & stat.S_ISVTX
        if found.st_mode & stat.S_IWOTH and not sticky:
            return f"{place} can be written by every user of this machine"
    return ""
