"""`--dialect auto`: ask the Claude Code on PATH for its version."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from headcount.compiler.dialects import TEAMMATE, dialect_for_version

if TYPE_CHECKING:
    from headcount.compiler.dialects import Dialect

TIMEOUT_S = 20


class Detected(NamedTuple):
    dialect: Dialect
    because: str


def detect_dialect(command: str = "claude") -> Detected:
    """The dialect that the client on PATH understands; the default one when there is none to ask."""
    path = shutil.which(command)
    if path is None:
        return Detected(TEAMMATE, f"no {command} on PATH")
    try:
        answer = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Detected(TEAMMATE, f"{path} --version failed: {error}")
    said = answer.stdout.decode(errors="replace").strip()
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    if found is None:
        return Detected(TEAMMATE, f"{path} --version said {said[:60]!r}")
    return Detected(dialect_for_version(tuple(map(int, found.groups()))), f"{path} is {found[0]}")
