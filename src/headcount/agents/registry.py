"""List the known clients, and check whether the installed ones can be used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import lru_cache

from headcount.agents import claude, codex, gemini, opencode
from headcount.agents.client import Client
from headcount.errors import WorldError

CLIENTS: dict[str, Client] = {
    module.CLIENT.name: module.CLIENT for module in (claude, codex, gemini, opencode)
}

_ASK_S = 30


def read_version(program: str, path: str | None = None) -> str:
    """Return the version that a program prints, or "". `path` is searched like PATH."""
    found = shutil.which(program, path=path)
    variable = CLIENTS[program].writes_when_asked if program in CLIENTS else ""
    try:
        return "" if found is None else _ask_version(found, os.stat(found).st_mtime, variable)
    except (OSError, subprocess.TimeoutExpired):
        return ""


@lru_cache
def _ask_version(found: str, _: float, variable: str) -> str:
    """Run a program for its version, once for each file, because it may take seconds. Retry failures."""
    with tempfile.TemporaryDirectory(prefix="headcount-") as elsewhere:
        done = subprocess.run(
            [found, "--version"], capture_output=True, text=True, errors="replace", timeout=_ASK_S,
            stdin=subprocess.DEVNULL, check=False,
            env={**os.environ, variable: elsewhere} if variable else None,
        )  # fmt: skip
    return done.stdout.strip().partition("\n")[0]


def version_numbers(text: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return tuple(int(part) for part in found.groups()) if found else ()


def check_installed(name: str, path: str | None = None) -> None:
    """Refuses a client that is not here or too old, before anything is started."""
    client = CLIENTS[name]
    hint = f"Install it with `{client.install}`"
    if shutil.which(name, path=path) is None:
        raise WorldError(
            f"{client.title} is not installed", f"there is no {name} on PATH",
            (hint, "See the installed clients with `headcount doctor`"), code="client-missing",
        )  # fmt: skip
    said = read_version(name, path)
    if version_numbers(said) < client.oldest:
        oldest = ".".join(map(str, client.oldest))
        raise WorldError(
            f"{client.title} is too old",
            f"{name} --version says {said or 'nothing'}; {oldest} or newer is needed",
            (hint,), code="client-too-old",
        )  # fmt: skip
