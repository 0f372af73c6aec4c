"""Whose a file is: settings and state count only where no user but this one, or root, could write them."""

from __future__ import annotations

import os
import stat


def why_not_ours(path: str) -> str:
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


def is_git_directory(path: str) -> bool:
    """Whether git would take the folder for a repository. An empty one named `.git` is none."""
    return (
        os.path.isfile(f"{path}/HEAD") and os.path.isdir(f"{path}/objects") and os.path.isdir(f"{path}/refs")
    )
