"""Remove directories that members wrote: of any depth, and without rights of their own."""

from __future__ import annotations

import os
import shutil
import subprocess


def remove_tree(path: str) -> None:
    """Remove a directory as far as the user may. Safe to repeat, and follows no link.

    Python recurses for each level and fails at about a thousand of them. The programs of the system do not.
    """
    try:
        shutil.rmtree(path, ignore_errors=True)
    except RecursionError:
        pass
    if os.path.isdir(path) and not os.path.islink(path):
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*command, "--", path], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
