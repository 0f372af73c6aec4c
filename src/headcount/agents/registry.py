"""List the known clients, and check whether the installed ones can be used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache

from headcount.agents import claude, codex, gemini, opencode, version_cache
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
    if found is None:
        return ""
    try:
        return _read_cached(found, version_cache.identify(found), variable)
    except (OSError, subprocess.TimeoutExpired):
        return ""


@lru_cache
def _read_cached(found: str, identity: str, variable: str) -> str:
    """Ask each file once, because it may take seconds. A failure is not cached."""
    known = version_cache.read(identity)
    if known:
        return known
    version = _ask_version(found, variable)
    version_cache.write(identity, version)
    return version


def _ask_version(found: str, variable: str) -> str:
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


def find_account(name: str, environ: Mapping[str, str], model: str = "") -> str:
    """Return the client and account whose usage limit a member shares; "" for a plain command."""
    if name not in CLIENTS:
        return ""
    provider = model.partition("/")[0] if name == opencode.CLIENT.name else ""
    return ":".join(filter(None, (name, CLIENTS[name].account(environ), provider)))


def is_logged_out(name: str, environ: Mapping[str, str]) -> bool:
    """Return whether nobody is logged in to a client, without a turn. False if that is not certain."""
    client = CLIENTS[name]
    if client.account(environ):
        return False
    check = client.login_check
    if check is None:
        return True
    with tempfile.TemporaryDirectory(prefix="headcount-") as elsewhere:
        settings = check.settings(environ)
        if os.path.isfile(settings):
            shutil.copy(settings, elsewhere)
        try:
            done = subprocess.run(
                check.argv, capture_output=True, timeout=_ASK_S, stdin=subprocess.DEVNULL, check=False,
                cwd=elsewhere, env={**environ, check.variable: elsewhere, "PWD": elsewhere},
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 1


def check_login(name: str, environ: Mapping[str, str]) -> None:
    """Refuse a client to which nobody is logged in, before anything is started."""
    if is_logged_out(name, environ):
        client = CLIENTS[name]
        raise WorldError(
            f"Nobody is logged in to {client.title}", "every turn of its member would fail",
            (client.login_hint, "See all clients with `headcount doctor`"), code="client-not-logged-in",
        )  # fmt: skip
