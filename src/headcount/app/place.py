"""Whether a state directory was made here: at this path, on this machine, by this user.

An engine carries out what the state says is still to do. So a state directory that came with a clone, or was
copied from elsewhere, is not used. `place.json` records where a directory was made. Directories of older
versions have no record: they are accepted when git tracks nothing in them and the user owns them, and are
then recorded.

A pull can bring files into a directory that was made here: git overwrites ignored files. They are in its
index then. So the record also has the state of the index at the last check, and git is asked again after each
change of it.
"""

from __future__ import annotations

import json
import os
import stat
from _thread import get_ident

from headcount.errors import WorldError

try:
    from _sha256 import sha256  # type: ignore[import-not-found]  # what `hashlib` gives out, without its import of OpenSSL
except ImportError:  # from Python 3.12 on
    from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from headcount.app.app import App

RECORD = "place.json"
_INDEX = "index"
_GIT_S = 30
_MOST_BYTES = 1 << 14
_MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def check_place(home: str) -> None:
    """Refuse a directory that is another user's, comes with the repository, or was made elsewhere."""
    _check_owner(home)
    made, index = read_place(home), _index_state(home)
    if made is not None and made.get(_INDEX) == index and is_here(made, home):
        return
    _check_untracked(home)
    if made is None or is_here(made, home):
        write_place(home, index)
    else:
        raise WorldError(
            f"{home} was not created here",
            f"it was made {describe_place(made)}",
            ("See its content with `headcount adopt`", "Or delete it, and start again"),
            code="moved-state",
        )


def check_own(home: str) -> None:
    """What no command takes over: another user's directory, or one that came with the repository."""
    _check_owner(home)
    _check_untracked(home)


def this_place(home: str) -> dict[str, Any]:
    """The path as it is spelled below a real folder: a link to another state directory is another path."""
    folder, name = os.path.split(home)
    return {"path": os.path.join(os.path.realpath(folder), name), "machine": _machine(), "user": os.getuid()}


def is_here(made: Mapping[str, Any], home: str) -> bool:
    return all(made.get(name) == value for name, value in this_place(home).items())


def read_place(home: str) -> dict[str, Any] | None:
    """None where nothing is recorded. A record that makes no sense is a record of elsewhere."""
    try:
        fd = os.open(f"{home}/{RECORD}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        return {}
    try:
        # Anything else than a file, such as a directory, is a record of elsewhere, too.
        found = json.loads(os.read(fd, _MOST_BYTES)) if stat.S_ISREG(os.fstat(fd).st_mode) else {}
    except (ValueError, RecursionError):
        return {}
    finally:
        os.close(fd)
    return found if isinstance(found, dict) else {}


def write_place(home: str, index: list[int] | None = None) -> None:
    """Whole or not at all, and for the owner alone. `index` is the one in which nothing of it was found."""
    new = f"{home}/{RECORD}.{os.getpid()}.{get_ident()}"
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump({**this_place(home), _INDEX: index}, file)
    os.replace(new, f"{home}/{RECORD}")


def describe_place(made: dict[str, Any]) -> str:
    words = []
    if isinstance(made.get("path"), str):
        words.append(f"at {made['path']}")
    if made.get("machine") != _machine():
        words.append("on another machine")
    if made.get("user") != os.getuid():
        words.append("by another user")
    return " ".join(words) or "elsewhere"


def preview(app: App) -> dict[str, Any]:
    """What an engine would find to do in this state: open teams, their members, and acts that are pending."""
    made = read_place(app.home)
    with app.store.read() as tx:
        teams = [app.load(tx, name) for name in tx.team_names()]
        found = [
            {
                "team": team.name,
                "status": str(team.status),
                "members": [f"{m.key} ({m.state})" for m in team.live()],
                "acts": sorted({type(act).__name__ for act in tx.pending_acts(team.id)}),
                "workspaces": sorted(
                    str(fact["path"]) for fact in tx.facts(team.id, "workspace").values() if fact.get("path")
                ),
            }
            for team in teams
        ]
    return {
        "home": app.home,
        "made": made,
        "here": made is not None and is_here(made, app.home),
        "teams": found,
    }


def _check_owner(home: str) -> None:
    found = os.stat(home)
    if found.st_uid != os.getuid():
        raise WorldError(
            f"{home} belongs to another user",
            f"its owner has the user id {found.st_uid}, yours is {os.getuid()}",
            ("Set HEADCOUNT_HOME to a directory of your own",),
            code="foreign-state",
        )
    if found.st_mode & stat.S_IWOTH:
        import shlex

        raise WorldError(
            f"{home} can be written by every user of this machine",
            "another user could write actions for your engine there",
            (f"Check its content, then run `chmod 700 {shlex.quote(home)}`",),
            code="foreign-state",
        )


def _index_state(home: str) -> list[int]:
    """Return inode, size and time of the index that could track something in `home`. Empty without one.

    git replaces the file with each change, and nobody elsewhere can foresee these numbers.
    """
    place = os.path.dirname(home)
    while not os.path.lexists(f"{place}/.git") and place != os.path.dirname(place):
        place = os.path.dirname(place)
    directory = f"{place}/.git"
    try:
        if os.path.isfile(directory):
            with open(directory, encoding="utf-8", errors="surrogateescape") as file:
                directory = os.path.join(place, file.read(_MOST_BYTES).partition("gitdir: ")[2].strip())
        found = os.stat(f"{directory}/index")
    except OSError:
        return []
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def _check_untracked(home: str) -> None:
    import subprocess

    folder, name = os.path.split(home)
    # Of a hook: GIT_DIR and GIT_INDEX_FILE would lead to another index.
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        found = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "-C", folder, "ls-files", "-z", "--", f":(literal){name}"],
            capture_output=True, stdin=subprocess.DEVNULL, check=False, env=environ, timeout=_GIT_S,
        ).stdout  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise WorldError(
            f"Could not check {home}", f"git did not say within {_GIT_S} s whether it tracks something there",
            ("See what `git status` does here",), code="git-timeout",
        ) from error  # fmt: skip
    except OSError:
        return  # without git nothing is tracked
    if not found:
        return
    first = os.fsdecode(found.partition(b"\0")[0])
    raise WorldError(
        f"{home} came with the repository",
        f"git tracks {first}, and an engine would perform actions that a stranger wrote there",
        (
            "See who added it with `git log -- .headcount`",
            "Delete it, and remove it from git with `git rm -r --cached .headcount`",
        ),
        code="tracked-state",
    )


def _machine() -> str:
    """A digest of the machine's id, as its makers ask for; of the host name where there is none."""
    for path in _MACHINE_IDS:
        try:
            with open(path, encoding="ascii") as file:
                found = file.read().strip()
        except (OSError, ValueError):
            continue
        if found:
            return _digest(found)
    return _digest(os.uname().nodename)


def _digest(text: str) -> str:
    return str(sha256(f"headcount:{text}".encode()).hexdigest())[:32]
