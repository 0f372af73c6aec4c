"""Describe agent clients as data: one `Client` for each file, all of one shape.

A client is started in one of two ways. **Headless**, turn by turn: each turn is one run of the program, which
continues the conversation of the last one. Between two turns no process of it is alive; `headcount client`
(`agents/host/host_process.py`) waits for mail there. Or in a **terminal**, where it is one long run.

Its configuration for headcount (the MCP server, hooks, permissions) is for that process alone: on its command
line, or in its own configuration directory. headcount reads the user's directories and never writes them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headcount.agents.host import Wanted
from headcount.domain.command_patterns import is_compound
from headcount.value_classes import dataclass

SERVER = "headcount"
"""The name of our MCP server in every client's settings."""

# What a member's server and shell need to be that member. Named where a client hands on only what is listed.
MEMBER_VARIABLES = (
    "HEADCOUNT_HOME",
    "HEADCOUNT_TEAM",
    "HEADCOUNT_MEMBER",
    "HEADCOUNT_GENERATION",
    "HEADCOUNT_TOKEN",
    "HEADCOUNT_MARK",
)


@dataclass(frozen=True, slots=True)
class Setup:
    """One member's start, as its client needs to know it."""

    directory: str
    """Of this incarnation, for the client's own files."""
    headcount: tuple[str, ...]
    """The command line of `headcount` itself."""
    session: str
    """A UUID, for clients that let us name the conversation."""
    model: str = ""
    permissions: str = "edit"
    """`edit`: its files, git and headcount, nothing else unasked. `full`: whatever it wants."""
    repository: str = ""
    """The repository's root, which the user trusts in this client."""
    instructions: str = ""
    allow: tuple[str, ...] = ()
    """Patterns of commands that it may run unasked, for clients that decide by rules of their own."""
    deny: tuple[str, ...] = ()
    ask_timeout_s: float = 600


class Turn(NamedTuple):
    """One headless run. The prompt arrives on standard input: other users can read a command line."""

    argv: list[str]
    stdin: str


class Step(NamedTuple):
    """One thing that a client or its model did. `agents/activity.py` makes activity and transcripts of it."""

    kind: str
    """`told` (a prompt), `waiting` (for the model), `said`, `tool`, `result`, `refused`."""
    text: str = ""
    """The prompt, the words, the activity, the output or the reason."""
    id: str = ""
    """Of the tool call."""
    about: str = ""
    """The command or the path of a tool."""
    failed: bool = False
    partial: bool = False
    """Its text continues in the next line."""


class Seen(NamedTuple):
    """The content of one line of a client's output or record. Empty for most lines."""

    tokens: int = 0
    limit: str = ""
    """It may ask nothing more for a while; in the words of the client."""
    resets_at: float | None = None
    overflow: str = ""
    """The conversation no longer fits."""
    login: str = ""
    """Nobody is logged in any more, and a person has to; in the words of the client."""
    error: str = ""
    """Another error that ended the turn; in the words of the client."""
    answered: bool = False
    """The model said something or called a tool. Without that a turn has not happened."""
    turn: str = ""
    """`begun` or `ended`, in a record."""
    answer: str = ""
    """Of the model, by its id: a record may have it in several lines, and what it cost in each."""
    activity: str = ""
    """Its present action, in words for people: "editing src/x.py", "running pytest: 2 failed"."""
    cost_usd: float = 0.0
    """The cost that the client reports, in dollars."""
    sum: str = ""
    """`turn` or `conversation`: the tokens are its sum, not those of one answer. A cost beside them is always
    that of the conversation."""
    refused: str = ""
    """A command that the client denied without asking anyone."""
    steps: tuple[Step, ...] = ()


NOTHING = Seen()


_FURTHEST_S = 35 * 86400.0  # no window of a limit is longer than a month
_ANSWERS = ("said", "tool")  # steps of the model
_MOST_TOKENS = 10**12  # no line of a client counts more
_MOST_USD = 1e6  # no line of a client costs more; infinity and NaN are not below it


def understand(read: Callable[[str], Seen], line: str) -> Seen:
    """Return what `read` finds in a line. An unknown shape yields nothing and never ends a member."""
    try:
        seen = read(line)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return NOTHING
    return checked(seen)


def checked(seen: Seen) -> Seen:
    """Return the same without figures that cannot be true and text that cannot be stored."""
    until = seen.resets_at
    known = isinstance(until, (int, float)) and 0 <= until < time.time() + _FURTHEST_S
    tokens = seen.tokens if isinstance(seen.tokens, int) and 0 < seen.tokens < _MOST_TOKENS else 0
    cost = seen.cost_usd if isinstance(seen.cost_usd, (int, float)) and 0 < seen.cost_usd < _MOST_USD else 0.0
    answered = seen.answered or any(step.kind in _ANSWERS for step in seen.steps)
    resets_at = until if known else None
    limit, overflow, login, error = map(_storable, (seen.limit, seen.overflow, seen.login, seen.error))
    return seen._replace(
        tokens=tokens, cost_usd=cost, resets_at=resets_at, answered=answered, limit=limit, overflow=overflow,
        login=login, error=error,
    )  # fmt: skip


def _storable(text: str) -> str:
    """Without half a surrogate pair, which JSON may hold."""
    return str(text).encode(errors="replace").decode() if text else ""


def add_seen(so_far: Seen, now: Seen) -> Seen:
    """Combine two lines of one turn. The newer one counts; tokens and costs add up."""
    newer = {name: value for name, value in now._asdict().items() if value}
    tokens, cost = so_far.tokens + now.tokens, so_far.cost_usd + now.cost_usd
    return so_far._replace(**newer)._replace(tokens=tokens, cost_usd=cost)


class Record(NamedTuple):
    """The record that a client writes of its conversations, to follow it in a terminal."""

    files: str
    """Where, as a glob below the client's directory, which may have any name."""
    read: Callable[[str], Seen]
    in_turns: str = ""
    """`usage` or `all`: read without a terminal too, because the stream has it too late or not at all."""


class Screen(NamedTuple):
    """Regular expressions for the screen of a terminal, line by line (`re.MULTILINE`)."""

    ready: str
    dialog: str
    """At the start, where a dialog decides, whatever else is there."""
    asks: str
    """In the middle of its work: a person is asked something, and what is typed would be the answer. By the
    shape of such a dialog, in the place of the prompt, because the model's own words stand there too."""
    limit: str = ""
    """Of a client that tells nowhere else: the dialog about its usage limit, in which Enter tries again."""

    @property
    def hold(self) -> str:
        """Return the pattern of screens in which headcount types nothing."""
        return f"{self.asks}|{self.limit}" if self.limit else self.asks


class LoginCheck(NamedTuple):
    """A command by which the client itself tells whether a user is logged in. It exits with 1 if not."""

    argv: tuple[str, ...]
    variable: str
    """It names the client's directory. The command writes there, so it gets a directory of its own."""
    settings: Callable[[Mapping[str, str]], str]
    """The user's settings file, which is copied there: it may name another way to log in."""


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    title: str
    package: str
    oldest: tuple[int, ...]
    """The oldest version that this was seen to work with."""
    trusts: Callable[[str, Mapping[str, str]], bool]
    """Whether the user has told this client to trust the folder, by the client's own records."""
    trust_hint: str
    """How a person makes that decision; `{root}` is the folder, quoted for a shell."""
    account: Callable[[Mapping[str, str]], str]
    """Returns the account by the user's variables and files, without secrets. It is "" if they name none:
    then no user is logged in, unless `login_check` finds one."""
    prepare: Callable[[Setup, Mapping[str, str]], dict[str, str]]
    """Writes its files into `setup.directory`; what to add to its environment."""
    first_turn: Callable[[Setup, str], Turn]
    next_turn: Callable[[Setup, str], Turn]
    terminal: Callable[[Setup, str], list[str]]
    read_line: Callable[[str], Seen]
    screen: Screen
    exit_text: str
    hooked: bool = False
    """It calls `headcount hook` at its pauses, so mail reaches it in the middle of a turn."""
    record: Record | None = None
    """By which it is followed in a terminal."""
    conversations: tuple[str, ...] = ()
    """What the archive keeps of the client's directory: its records of conversations. The rest is settings
    and logins of the user, and headcount removes it when the team closes."""
    login_check: LoginCheck | None = None
    login_hint: str = ""
    writes_when_asked: str = ""
    """The variable that names its directory, if it writes there when it is only asked for its version."""

    @property
    def install(self) -> str:
        return f"npm install -g {self.package}"


# --- what several clients need ---------------------------------------------------------------------------


# Subcommands of git that a member with permissions = "edit" may run unasked. Each one changes or shows its
# own work. The list leaves out what runs another program by an option or a setting: -c, config,
# rebase --exec, bisect run, grep -O, submodule foreach, difftool, fetch --upload-pack, push --receive-pack.
GIT_COMMANDS = (
    "add", "am", "apply", "blame", "branch", "cat-file", "checkout", "cherry-pick", "clean", "commit",
    "describe", "diff", "for-each-ref", "log", "ls-files", "ls-tree", "merge", "merge-base", "mv", "reflog",
    "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog", "show", "show-ref", "stash",
    "status", "switch", "tag", "worktree list",
)  # fmt: skip
# Commands of headcount that the same member may run unasked. None of them starts a program that it names.
OWN_COMMANDS = (
    "inbox", "read", "send", "done", "idle", "approve", "reject", "task", "review", "status", "escalations",
    "asks", "decide", "down", "witness", "pause", "resume", "cycle", "logs", "report", "explain", "help",
    "--help", "--version",
)  # fmt: skip


def allowed_commands() -> list[str]:
    """Return the first words of every command that `edit` allows in a shell."""
    return [f"git {name}" for name in GIT_COMMANDS] + [f"headcount {name}" for name in OWN_COMMANDS]


def wanted_command(given: Mapping[str, Any]) -> Wanted | None:
    """Return the permission that a call of the client's shell needs; None if its own rules decide it.

    Those look at each part of a compound command, and headcount permits whole ones.
    """
    call = given.get("tool_input")
    command = call.get("command") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(command, str) or is_compound(command):
        return None
    if f"{command.strip()} ".startswith(tuple(f"{words} " for words in allowed_commands())):
        return None
    title, detail = f"Run: {command.strip()}", str(call.get("description") or "")
    only = call.keys() <= {"command", "description", "timeout", *_DIRECTORIES}
    below = next((str(call[name]) for name in _DIRECTORIES if call.get(name)), "")
    where = os.path.join(str(given.get("cwd") or os.getcwd()), below)
    return Wanted("command", title, detail if only else json.dumps(call), command if only else "", where)


_DIRECTORIES = ("dir_path", "workdir")
PERMIT = "permit"


def write_permit(setup: Setup) -> str:
    """Return a new secret for the rules of a client, and write it to a file for headcount's hook.

    The rules deny a command without it. The hook asks, and adds it to a command that was allowed. So nothing
    is allowed if the hook is missing, fails or is killed.
    """
    import secrets

    permit = f"headcount-{secrets.token_hex(16)}"
    write_file(f"{setup.directory}/{PERMIT}", permit)
    return permit


def server_command(setup: Setup) -> tuple[str, list[str]]:
    """Return program and arguments of our MCP server."""
    return setup.headcount[0], [*setup.headcount[1:], "mcp"]


def write_file(path: str, content: str) -> str:
    """Write a file for its owner alone, because settings may hold secrets."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(content)
    return path


def fingerprint(secret: str) -> str:
    """Return what tells one secret from another, and does not give it away."""
    import hashlib

    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def write_json(path: str, value: object) -> str:
    return write_file(path, json.dumps(value, indent=2) + "\n")


def read_json(path: str) -> dict[str, Any]:
    """Return the settings in a file of the user; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def as_event(line: str) -> dict[str, Any]:
    """Return a line of JSON output; empty for anything else."""
    if not line.startswith("{"):
        return {}
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def mirror(source: str, target: str, *, copied: tuple[str, ...] = (), left_out: tuple[str, ...] = ()) -> None:
    """Create a directory that mirrors the user's.

    Its entries are links. Files that the client may write are copies, and its state starts empty.
    """
    os.makedirs(target, mode=0o700, exist_ok=True)
    for entry in os.listdir(source) if os.path.isdir(source) else ():
        there, here = f"{source}/{entry}", f"{target}/{entry}"
        if entry in left_out or os.path.lexists(here):
            continue
        if entry not in copied:
            os.symlink(os.path.abspath(there), here)
        elif os.path.isfile(there):
            shutil.copyfile(there, here)
            os.chmod(here, 0o600)
        elif os.path.isdir(there):  # not a link to what is gone: the client would write through it
            shutil.copytree(there, here, symlinks=True, ignore_dangling_symlinks=True)


_RESETS = re.compile(r"(?:resets?_?at|reset)\D{0,12}(\d{10})\b")
# "try again at 6:31 AM", "try again at Nov 17th, 2026 6:31 AM": on this machine's clock, without seconds.
_DAY = r"(\w{3})\w* (\d{1,2})\w*,? (\d{4}),? "
_CLOCK = re.compile(rf"(?i)(?:again|resets) at (?:{_DAY})?(\d{{1,2}}:\d\d) ?([AP]M)")
_DAY_S = 86400.0
_JUST_PASSED_S = 600.0  # a message may be older than the minute it names, and clocks differ


def reset_time(text: str, now: float | None = None) -> float | None:
    """Return the time that a message about a limit names, if any."""
    found = _RESETS.search(text)
    if found:
        return float(found[1])
    clock = _CLOCK.search(text)
    return _read_clock(clock, time.time() if now is None else now) if clock else None


def _read_clock(clock: re.Match[str], now: float) -> float | None:
    """Return a clock time, rounded up to its minute; without a day, the next one or one just passed."""
    month, day, year, hour, half = clock.groups()
    today = time.localtime(now)
    date = f"{month} {day} {year}" if month else time.strftime("%b %d %Y", today)
    try:
        at = time.mktime(time.strptime(f"{date} {hour} {half}", "%b %d %Y %I:%M %p")) + 60
    except ValueError:
        return None
    if month:
        return at
    return next(near for near in (at - _DAY_S, at, at + _DAY_S) if near > now - _JUST_PASSED_S)


# How long a call of `headcount hook` may take.
HOOK_WAIT_S = 30.0
"""The longest that the hook itself waits for anything."""
HOOK_LIMIT_S = int(2 * HOOK_WAIT_S)
"""A client may give the hook up after this time, which includes its start and a busy store."""
