"""Find what is missing on this machine, and how to get it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from glob import glob
from typing import TYPE_CHECKING, NamedTuple

from headcount.agents.registry import CLIENTS, is_logged_out, read_version, version_numbers
from headcount.app.retention import size_of
from headcount.app.settings_file import find_settings, read_settings
from headcount.domain.display import show_bytes
from headcount.errors import HeadcountError
from headcount.runtime.containment import (
    AUTO,
    CGROUP,
    NAMESPACE,
    SUBREAPER,
    can_make_cgroup,
    can_make_namespace,
    cgroup_of,
    choose,
    scope_command,
)
from headcount.runtime.worker_pool import side_by_side
from headcount.store import check_library
from headcount.workspace.hub import locate
from headcount.workspace.hub_setup import examine_hub
from headcount.workspace.left_branches import OURS
from headcount.workspace.ref_names import SALVAGE
from headcount.workspace.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.agents.client import Client

_GIT_MIN = (2, 38)
_HUB_S = 20.0


class Check(NamedTuple):
    """`state` is ok, missing (something will not work) or absent (optional, not here)."""

    name: str
    state: str
    found: str
    hint: str = ""


def examine(home: str) -> list[Check]:
    """Check this machine, and the disk that the state directory `home` takes."""
    checks: list[Callable[[], Check]] = [_python, _sqlite, _git, _tmux, _processes, _containment]
    clients = side_by_side(_client, list(CLIENTS.values()), len(CLIENTS))
    return [*(check() for check in checks), _disk(home), *_hub(home), *clients]


def _python() -> Check:
    found = ".".join(str(n) for n in sys.version_info[:3])
    ok = sys.version_info >= (3, 11)
    return Check("Python", "ok" if ok else "missing", found, "" if ok else "Install Python 3.11 or newer")


def _sqlite() -> Check:
    version, ok = check_library()
    hint = "" if ok else "Install the apsw wheel: older SQLite can corrupt a database in WAL mode"
    return Check("SQLite", "ok" if ok else "missing", version, hint)


def _git() -> Check:
    found = version_of("git", "--version")
    numbers = tuple(int(n) for n in "".join(c if c.isdigit() else " " for c in found).split()[:2])
    ok = bool(found) and numbers >= _GIT_MIN
    return Check(
        "git", "ok" if ok else "missing", found or "not found", "" if ok else "Install git 2.38 or newer"
    )


def _tmux() -> Check:
    found = version_of("tmux", "-V")
    hint = "" if found else "Install tmux to run agents in terminals; without it they run as plain processes"
    return Check("tmux", "ok" if found else "absent", found or "not found", hint)


def _processes() -> Check:
    """What the proof rests on: subreaper, pidfd, and environments that we may read."""
    try:
        os.close(os.pidfd_open(os.getpid()))
        subreaper = ctypes.CDLL(None).prctl(37, ctypes.byref(ctypes.c_int()), 0, 0, 0) == 0
        readable = os.access("/proc/self/environ", os.R_OK)
    except (OSError, AttributeError) as error:
        return Check("processes", "missing", str(error), "headcount needs Linux 5.4 or newer with /proc")
    ok = subreaper and readable
    return Check("processes", "ok" if ok else "missing", "subreaper, pidfd, /proc" if ok else "not usable")


def _containment() -> Check:
    """What can hold a member's processes together here, and which of it `containment = "auto"` takes."""
    cgroup = can_make_cgroup(cgroup_of())
    scope = not cgroup and bool(scope_command())
    namespace = can_make_namespace()
    means = {CGROUP: cgroup or scope, NAMESPACE: namespace, SUBREAPER: True}
    can = ", ".join(name for name, available in means.items() if available)
    through = " through systemd-run --user --scope" if scope else ""
    taken = choose(AUTO, (), cgroup or scope, namespace)
    hint = "" if taken == CGROUP else "A delegated cgroup v2 (for example a systemd user session) proves more"
    return Check("containment", "ok", f"{can}; auto takes {taken}{through}", hint)


def _disk(home: str) -> Check:
    """The disk that headcount takes here, without the workspaces of open teams."""
    if not os.path.isdir(home):
        return Check("disk", "ok", f"nothing in {home}")
    runs, archives = glob(f"{home}/run/*/log.*"), glob(f"{home}/archive/*")
    logs = [*runs, *glob(f"{home}/archive/*/logs")]
    sizes = {
        "state": sum(map(size_of, glob(f"{home}/state.db*"))),
        "logs": sum(map(size_of, logs)),
        "archives": sum(map(size_of, archives)) - sum(map(size_of, set(logs) - set(runs))),
        "checkpoints": size_of(f"{home}/checkpoints"),
    }
    parts = [f"{name} {show_bytes(size)}" for name, size in sizes.items() if size]
    found = ", ".join([*parts, _count_refs(home)])
    return Check("disk", "ok", found, "See what can be removed with `headcount prune --dry-run`")


def _hub(home: str) -> list[Check]:
    """The hub in the settings, if there is one: whether it takes a push, and what it lacks."""
    root = os.path.dirname(home)
    try:
        url = locate(read_settings(find_settings(root), os.environ).fleet.hub, root)
        repo = Repository.find(root) if url else None
        if repo is None:
            return []
        found = examine_hub(repo, url, _HUB_S)
    except HeadcountError as error:
        hint = "Without it no member with work is stopped. See docs/how-to/a-second-copy.md"
        return [Check("hub", "missing", error.why or error.what, hint)]
    state = "missing" if found.faults else "ok"
    told = [url, *found.faults, *filter(None, [found.unknown])]
    hints = [] if found.hooked else ["It has no hook of headcount: every host could push every ref"]
    hints += ["Set it up with `headcount hub init DIR`"] if found.faults and os.path.isdir(url) else []
    return [Check("hub", state, "; ".join(told), ". ".join(hints))]


def _count_refs(home: str) -> str:
    """How much headcount has in the repository."""
    try:
        repo = Repository.find(os.path.dirname(home))
        names = repo.git.text("for-each-ref", "--format=%(refname)", OURS, SALVAGE) if repo else ""
    except HeadcountError as error:
        return f"refs not read: {error.what}"
    salvages = names.count(f"{SALVAGE}/")
    branches = names.count(OURS)
    return f"{salvages} salvage{'s' * (salvages != 1)}, {branches} branch{'es' * (branches != 1)}"


def _client(client: Client) -> Check:
    """Optional, each of them; one that is here must be new enough to be of use."""
    found = read_version(client.name)
    if not found:
        return Check(client.name, "absent", "not found", f"Install with `{client.install}`")
    oldest = ".".join(map(str, client.oldest))
    if version_numbers(found) < client.oldest:
        return Check(
            client.name, "absent", found, f"Too old: {oldest} or newer is needed. `{client.install}`"
        )
    if is_logged_out(client.name, os.environ):
        return Check(client.name, "absent", f"{found}, not logged in", client.login_hint)
    return Check(client.name, "ok", f"{found}: {_what_works(client)}")


def _what_works(client: Client) -> str:
    hooks = ", mail at its pauses" if client.hooked else ""
    return f"headless, terminal, MCP tools{hooks}"


def version_of(program: str, argument: str) -> str:
    """Its first line about itself, or nothing."""
    path = shutil.which(program)
    if path is None:
        return ""
    try:
        done = subprocess.run(
            [path, argument],
            capture_output=True,
            text=True,
            timeout=15,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().partition("\n")[0]
