"""`headcount.toml` and the environment, as one value.

Every key is one row of `_KEYS`: where it stands, what it may be, its default and what it means. Reading,
checking, the environment variables and the reference page all come from there. A key that is not there, a
value of the wrong kind or an impossible one is an error that names the place and what is allowed; nothing is
guessed and nothing is dropped.

The environment wins over the file: `HEADCOUNT_POLICY_ANSWER_TIMEOUT_S=5` is `answer_timeout_s = 5` under
`[policy]`. Lists are written there as JSON (`["./judge.py", "-v"]`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from typing import Any, Final, NamedTuple, NoReturn

from headcount.domain.command_patterns import read_pattern
from headcount.domain.database_url import hide_password
from headcount.domain.names import SETTINGS_FILE, check_member_name
from headcount.domain.policy import NOTIFY_KINDS, Limits, Policy
from headcount.errors import Declined, UsageError
from headcount.value_classes import dataclass

FILE_NAME: Final = SETTINGS_FILE
ENVIRONMENT: Final = "the environment"

# Keys of the policy that an open team keeps, and why.
FIXED: Final = {
    "policy.checkpoint_s": "headcount reads it when a member starts",
    "policy.checkpoint_max_mb": "headcount reads it when a member starts",
    "policy.containment": "the proofs of a team are of one kind",
    "policy.require_merged": "its members were started with it",
    "policy.keep_days": "it is about closed teams",
    "policy.keep_mb": "it is about closed teams",
}


def _doc(text: str) -> dict[str, str]:
    return {"doc": text}


@dataclass(frozen=True, slots=True)
class Agent:
    """How one worker is started: by a client that headcount knows, or by a command."""

    agent: str = field(default="", metadata=_doc("the client to start it with"))
    command: tuple[str, ...] = field(
        default=(), metadata=_doc('or the command to start it with; also with `agent = "acp"`')
    )
    model: str = field(default="", metadata=_doc("the model to ask the client for"))
    permissions: str = field(default="", metadata=_doc("as `agents.permissions`, for this worker"))
    via: str = field(default="", metadata=_doc("as `agents.via`, for this worker"))
    terminal: bool = field(default=False, metadata=_doc("in a terminal, as `agents.terminal`"))
    salvage_private: tuple[str, ...] = field(
        default=(), metadata=_doc("patterns after those of `policy.salvage_private`, for this worker")
    )
    salvage_skip: tuple[str, ...] = field(
        default=(), metadata=_doc("patterns after those of `policy.salvage_skip`, for this worker")
    )
    setup: str = field(default="", metadata=_doc("as `workspace.setup`, for this worker"))
    copy: tuple[str, ...] = field(default=(), metadata=_doc("as `workspace.copy`, for this worker"))


@dataclass(frozen=True, slots=True)
class Agents:
    default: str = field(default="claude", metadata=_doc("the client for workers that name none"))
    permissions: str = field(
        default="edit",
        metadata=_doc('what a client may do unasked: "edit" its files, git and headcount; "full": all'),
    )
    via: str = field(
        default="native",
        metadata=_doc('how a known client is run: "native", or "acp" over the Agent Client Protocol'),
    )
    terminal: bool = field(
        default=False, metadata=_doc("clients in terminals that a person can attach to, instead of headless")
    )
    allow: tuple[str, ...] = field(
        default=(), metadata=_doc("commands that members may run unasked; `*` is any word")
    )
    deny: tuple[str, ...] = field(
        default=(), metadata=_doc("commands that members may not run, even if `allow` matches them")
    )
    workers: Mapping[str, Agent] = field(default_factory=dict)  # by name: [agents.NAME]


@dataclass(frozen=True, slots=True)
class Workspace:
    """How a new workspace is set up, before its member starts."""

    setup: str = field(default="", metadata=_doc("a command to run in each new workspace"))
    copy: tuple[str, ...] = field(
        default=(), metadata=_doc("ignored files and directories of your checkout to copy into it")
    )
    submodules: bool = field(default=False, metadata=_doc("initialise the submodules in it"))
    directory: str = field(
        default="",
        metadata=_doc('where workspaces are, outside of the repository; "": `.headcount/worktrees`'),
    )


@dataclass(frozen=True, slots=True)
class Integration:
    branch: str = field(default="", metadata=_doc('"": `headcount/<team>/integration`'))
    sync: str = field(default="", metadata=_doc("a command whose success means in sync"))


@dataclass(frozen=True, slots=True)
class Build:
    """How `headcount build` writes, where the command line leaves it open."""

    dialect: str = field(default="teammate", metadata=_doc("the calls to write, as `--dialect`"))
    layout: str = field(default="flat", metadata=_doc("where outputs go, as `--layout`"))


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates that a phase must pass. 0 means no limit, "" means no gate."""

    verify: str = field(default="", metadata=_doc("the command of the verification gate"))
    as_operator: bool = field(
        default=False, metadata=_doc("it may call `headcount` as you; otherwise such a call is refused")
    )
    max_file_lines: int = field(default=400, metadata=_doc("lines of a file; 0: no limit"))
    max_function_lines: int = field(default=50, metadata=_doc("lines of a function; 0: no limit"))
    max_total_lines: int = field(default=0, metadata=_doc("lines that a phase adds; 0: no limit"))

    @property
    def measures(self) -> bool:
        return bool(self.max_file_lines or self.max_function_lines or self.max_total_lines)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Services that several machines share. One machine may have a hub, too."""

    database: str = field(
        default="",
        metadata=_doc('the URL of a PostgreSQL database, without a password; "": a file on this machine'),
    )
    hub: str = field(
        default="",
        metadata=_doc("the repository that must have saved work before a member is killed; a git URL"),
    )


@dataclass(frozen=True, slots=True)
class Notify:
    """How you are notified, and of what. Every way that is set is used."""

    command: tuple[str, ...] = field(default=(), metadata=_doc("a command to run"))
    desktop: bool = field(default=False, metadata=_doc("a message on your desktop, by `notify-send`"))
    bell: bool = field(default=False, metadata=_doc("ring the terminal in which the team was started"))
    webhook: str = field(
        default="", metadata=_doc("an address to send JSON to, as Slack and ntfy take it; it stays secret")
    )
    kinds: tuple[str, ...] = field(default=NOTIFY_KINDS, metadata=_doc("what you are notified of"))

    @property
    def has_way(self) -> bool:
        return bool(self.command or self.desktop or self.bell or self.webhook)


@dataclass(frozen=True, slots=True)
class Settings:
    policy: Policy = field(default_factory=Policy)
    agents: Agents = field(default_factory=Agents)
    workspace: Workspace = field(default_factory=Workspace)
    integration: Integration = field(default_factory=Integration)
    gates: Gates = field(default_factory=Gates)
    limits: Limits = field(default_factory=Limits)
    build: Build = field(default_factory=Build)
    fleet: Fleet = field(default_factory=Fleet)
    notify: Notify = field(default_factory=Notify)
    # Where each key was set: the file or the environment. A key that is in neither has its default.
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)


SECTIONS: Final[dict[str, type[Any]]] = {
    "policy": Policy,
    "notify": Notify,
    "agents": Agents,
    "workspace": Workspace,
    "integration": Integration,
    "gates": Gates,
    "limits": Limits,
    "build": Build,
    "fleet": Fleet,
}


# --- what a value may be -----------------------------------------------------------------------------------


class Kind(NamedTuple):
    """`read` gives the value as it is kept, or raises ValueError; `allowed` says what it takes."""

    allowed: str
    read: Callable[[Any], Any]


def _seconds(least: float = 0) -> Kind:
    """Zero is refused where it would end a wait before it began."""

    def read(value: Any) -> float:
        if type(value) not in (int, float) or not 0 <= value <= sys.float_info.max:
            raise ValueError
        if value == 0 and least > 0:
            raise ValueError
        return value  # type: ignore[no-any-return]

    return Kind("a number of seconds above 0" if least else "a number of seconds, 0 or more", read)


def _count(least: int) -> Kind:
    def read(value: Any) -> int:
        if type(value) is not int or value < least:
            raise ValueError
        return value

    return Kind(f"a whole number, {least} or more", read)


def _choice(*words: str) -> Kind:
    def read(value: Any) -> str:
        if value not in words or type(value) is not str:
            raise ValueError
        return value

    return Kind("one of " + ", ".join(f'"{word}"' for word in words), read)


def _read_text(value: Any) -> str:
    if type(value) is not str or "\0" in value:
        raise ValueError
    return value


def _read_word(value: Any) -> str:
    if not _read_text(value).strip():
        raise ValueError
    return str(value)


def _read_url(value: Any) -> str:
    """A URL of git. Teams keep it in the database, where no password belongs."""
    text = _read_text(value)
    login = text.partition("://")[2].partition("/")[0].rpartition("@")[0]
    if text.startswith("-") or ":" in login or any(c.isspace() or not c.isprintable() for c in text):
        raise ValueError
    return text


def _read_flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


def _read_command(value: Any) -> tuple[str, ...]:
    if type(value) is not list or (value and not value[0]):
        raise ValueError
    return tuple(_read_text(part) for part in value)


def _read_patterns(value: Any) -> tuple[str, ...]:
    if type(value) is not list or any("\n" in _read_word(part) for part in value):
        raise ValueError
    return tuple(value)


def _read_command_patterns(value: Any) -> tuple[str, ...]:
    if type(value) is not list:
        raise ValueError
    for pattern in value:
        read_pattern(_read_word(pattern))
    return tuple(value)


def _read_paths(value: Any) -> tuple[str, ...]:
    """Paths below the checkout."""
    paths = _read_command(value)
    if any(path in ("", ".") or path.startswith("/") or ".." in path.split("/") for path in paths):
        raise ValueError
    return paths


def _read_database(value: Any) -> str:
    if value and not _read_text(value).startswith(("postgresql://", "postgres://")):
        raise ValueError
    return str(value)


def _read_judge(value: Any) -> str | tuple[str, ...]:
    if value in ("rules", "witness"):
        return str(value)
    if not value:
        raise ValueError
    return _read_command(value)


def _read_kinds(value: Any) -> tuple[str, ...]:
    if type(value) is not list or any(kind not in NOTIFY_KINDS for kind in value):
        raise ValueError
    return tuple(value)


def _read_address(value: Any) -> str:
    if value and not _read_text(value).startswith(("https://", "http://")):
        raise ValueError
    return _read_text(value)


_SECONDS: Final = _seconds(least=1)
_MONEY: Final = Kind("a number of dollars, 0 or more", _seconds().read)
_FLAG: Final = Kind("true or false", _read_flag)
_TEXT: Final = Kind("a text", _read_text)
_WORD: Final = Kind("a text that is not empty", _read_word)
_URL: Final = Kind("a URL or path of a git repository, without a password", _read_url)
_COMMAND: Final = Kind('a command as a list of texts, such as ["./notify.sh", "-v"]', _read_command)
_PATHS: Final = Kind('a list of paths below your checkout, such as [".env"]', _read_paths)
_JUDGE: Final = Kind('"rules", "witness", or a command as a list of texts', _read_judge)
_PATTERNS: Final = Kind('a list of gitignore patterns, such as ["*.key", "!test.key"]', _read_patterns)
_COMMANDS: Final = Kind(
    'a list of commands without shell operators, such as ["make test", "pytest *"]', _read_command_patterns
)

_NOTIFY_KINDS: Final = Kind(f"a list of {', '.join(NOTIFY_KINDS)}", _read_kinds)
_ADDRESS: Final = Kind("an address that begins with https:// or http://", _read_address)

# Where the type alone does not say what makes sense.
_KINDS: Final = {
    "policy.exit_grace_s": _seconds(),
    "policy.cycle_after_s": _seconds(),
    "policy.checkpoint_s": _seconds(),
    "policy.max_waits": _count(0),
    "policy.on_escalation": _choice("ask", "force-kill"),
    "policy.on_ask": _choice("ask", "lead", "deny"),
    "policy.notify": _COMMAND,
    "notify.command": _COMMAND,
    "notify.webhook": _ADDRESS,
    "notify.kinds": _NOTIFY_KINDS,
    "policy.review_rounds": _count(0),
    "policy.task_restarts": _count(0),
    "policy.restarts": _count(0),
    "policy.budget_tokens": _count(0),
    "policy.budget_turns": _count(0),
    "policy.budget_usd": _MONEY,
    "policy.budget_team_usd": _MONEY,
    "policy.budget_day_usd": _MONEY,
    "policy.cleanup_retries": _count(0),
    "policy.judge": _JUDGE,
    "policy.require_merged": _choice("run", "always", "never"),
    "policy.salvage_ignored_max_mb": _count(0),
    "policy.salvage_private": _PATTERNS,
    "policy.salvage_skip": _PATTERNS,
    "policy.containment": _choice("auto", "namespace", "cgroup", "subreaper"),
    "agents.default": _WORD,
    "agents.permissions": _choice("edit", "full"),
    "agents.via": _choice("native", "acp"),
    "agents.NAME.via": _choice("native", "acp"),
    "agents.allow": _COMMANDS,
    "agents.deny": _COMMANDS,
    "agents.NAME.agent": _WORD,
    "agents.NAME.command": Kind(_COMMAND.allowed, lambda value: _read_command(value or None)),
    "agents.NAME.model": _WORD,
    "agents.NAME.permissions": _choice("edit", "full"),
    "agents.NAME.salvage_private": _PATTERNS,
    "agents.NAME.salvage_skip": _PATTERNS,
    "agents.NAME.copy": _PATHS,
    "workspace.copy": _PATHS,
    "build.dialect": _choice("teammate", "team-tools", "agent", "auto"),
    "build.layout": _choice("flat", "claude"),
    "gates.max_file_lines": _count(0),
    "gates.max_function_lines": _count(0),
    "gates.max_total_lines": _count(0),
    "fleet.hub": _URL,
    "fleet.database": Kind("a URL that begins with postgresql://", _read_database),
}
_VARIABLES: Final = {"fleet.database": "HEADCOUNT_DATABASE", "fleet.hub": "HEADCOUNT_HUB"}
_BY_TYPE: Final = {"float": _SECONDS, "int": _count(1), "bool": _FLAG, "str": _TEXT}


class Key(NamedTuple):
    """One setting. `variable` is empty where the environment has none."""

    name: str
    default: Any
    doc: str
    kind: Kind
    variable: str

    @property
    def allowed(self) -> str:
        return self.kind.allowed


def _key(section: str, item: Field[Any], variable: str) -> Key:
    name = f"{section}.{item.name}"
    variable = _VARIABLES.get(name, variable)
    kind = _KINDS.get(name) or _BY_TYPE[str(item.type)]
    return Key(name, item.default, item.metadata["doc"], kind, variable)


def _make_keys() -> Iterator[Key]:
    for section, cls in SECTIONS.items():
        for item in fields(cls):
            if item.default is not MISSING and "doc" in item.metadata:
                yield _key(section, item, f"HEADCOUNT_{section}_{item.name}".upper())
    for item in fields(Agent):
        yield _key("agents.NAME", item, "")


_KEYS: Final = {key.name: key for key in _make_keys()}


def describe() -> tuple[Key, ...]:
    """Every setting there is, in the order of the reference page. `NAME` stands for a worker's name."""
    return tuple(_KEYS.values())


# --- reading -----------------------------------------------------------------------------------------------


def parse_settings(text: str, source: str, environ: Mapping[str, str]) -> Settings:
    values = _from_file(_parse_toml(text, source), source)
    origins = dict.fromkeys(values, SETTINGS_FILE)
    from_environment = _from_environment(environ)
    values.update(from_environment)
    origins |= dict.fromkeys(from_environment, ENVIRONMENT)
    workers: dict[str, dict[str, Any]] = {}
    sections: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    for name, value in values.items():
        section, *middle, last = name.split(".")
        (workers.setdefault(middle[0], {}) if middle else sections[section])[last] = value
    sections["agents"]["workers"] = {name: Agent(**found) for name, found in workers.items()}
    if values.get("policy.notify") and values.get("notify.command"):
        _fail("wrong-setting", f"policy.notify and notify.command are both in {source}", "they are the same")
    made = {name: cls(**sections[name]) for name, cls in SECTIONS.items()}
    return Settings(**made, origins=origins)


def _parse_toml(text: str, source: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} is not TOML", str(error), code="unreadable-settings") from error


def _from_file(raw: dict[str, Any], source: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for section, table in raw.items():
        if section not in SECTIONS:
            _unknown(section, SECTIONS, source, "section")
        if not isinstance(table, dict):
            _wrong(section, table, "a section, such as [policy]", source)
        for name, value in table.items():
            if section == "agents" and f"agents.{name}" not in _KEYS:
                values.update(_worker(name, value, source))
            else:
                place = f"{section}.{name}"
                values[place] = _checked(place, place, value, source)
    return values


def _worker(name: str, table: Any, source: str) -> dict[str, Any]:
    place = f"agents.{name}"
    if not isinstance(table, dict):
        # Not a worker's table, so most likely a key of [agents] itself, misspelt.
        _unknown(place, ("agents.default",), source, "setting", f"a worker is a table, [{place}]")
    check_member_name(name)
    if "agent" in table and "command" in table and table["agent"] != "acp":
        both = f"{place} in {source} has both agent and command"
        _fail("wrong-setting", both, 'a worker is started by one of them; only agent = "acp" needs both')
    return {
        f"{place}.{key}": _checked(f"{place}.{key}", f"agents.NAME.{key}", value, source)
        for key, value in table.items()
    }


def _checked(place: str, name: str, value: Any, source: str) -> Any:
    key = _KEYS.get(name)
    if key is None:
        here, section = place.rpartition(".")[0], name.rpartition(".")[0]
        names = (other.rpartition(".") for other in _KEYS)
        _unknown(place, [f"{here}.{last}" for other, _, last in names if other == section], source)
    try:
        read = key.kind.read(value)
    except ValueError:
        _wrong(place, value, key.allowed, source)
    if name == "fleet.database" and hide_password(read) != read:
        where = "put it into ~/.pgpass, or the whole URL into HEADCOUNT_DATABASE"
        _fail("wrong-setting", f"{place} in {source} has a password", f"the file may be shared: {where}")
    return read


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    known = {key.variable: key for key in _KEYS.values() if key.variable}
    prefixes = tuple(f"HEADCOUNT_{section}_".upper() for section in SECTIONS)
    values: dict[str, Any] = {}
    for variable in sorted(name for name in environ if name.startswith(prefixes) or name in known):
        key = known.get(variable)
        if key is None:
            _unknown(variable, known, ENVIRONMENT)
        try:
            values[key.name] = key.kind.read(_from_text(environ[variable], key))
        except ValueError:
            _wrong(variable, environ[variable], key.allowed, ENVIRONMENT)
    return values


def parse_changes(words: Sequence[str]) -> dict[str, Any]:
    """Read `KEY=VALUE`, with the keys and the checks of the file, as changes of an open team's policy.

    Texts need no quotes, and a list is JSON, as in the environment. Returns values by field of `Policy`.
    """
    known = [name for name in _KEYS if name.startswith("policy.") and name not in FIXED]
    changes: dict[str, Any] = {}
    for word in words:
        given, equals, text = word.partition("=")
        name = given.strip() if "." in given else f"policy.{given.strip()}"
        key = _KEYS.get(name)
        if not equals:
            _fail("wrong-setting", f"{word!r} is not a change", "it must be KEY=VALUE")
        if key is None:
            _unknown(name, known, "`headcount set`")
        if name not in known:
            _refuse_fixed(name)
        try:
            changes[name.partition(".")[2]] = key.kind.read(_from_text(text.strip(), key))
        except (ValueError, RecursionError):
            _wrong(name, text, key.allowed, "`headcount set`")
    return changes


def _from_text(text: str, key: Key) -> Any:
    """What the text would be in TOML: a list is JSON, a number a number, and texts need no quotes."""
    if key.kind in (
        _COMMAND,
        _PATHS,
        _JUDGE,
        _PATTERNS,
        _COMMANDS,
        _NOTIFY_KINDS,
    ) and text.lstrip().startswith("["):
        import json

        return json.loads(text)
    if type(key.default) is bool:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if type(key.default) in (int, float):
        return int(text) if text.strip().lstrip("+-").isdigit() else float(text)
    return text


# --- errors ------------------------------------------------------------------------------------------------


def _unknown(name: str, known: Any, source: str, what: str = "setting", why: str = "") -> NoReturn:
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    hints = (f"Did you mean {close[0]}?",) if close else ()
    choices = f"there are {', '.join(sorted(known))}"
    _fail("unknown-setting", f"{name} in {source} is not a {what}", why or choices, hints)


def _wrong(name: str, value: Any, allowed: str, source: str) -> NoReturn:
    shown = repr(hide_password(value) if isinstance(value, str) else value)
    if "webhook" in name.lower():  # it may be a secret
        shown = "what it is"
    _fail("wrong-setting", f"{name} in {source} cannot be {shown}", f"it must be {allowed}")


def _refuse_fixed(name: str) -> NoReturn:
    raise Declined(
        f"{name} of an open team cannot change",
        FIXED.get(name, "only the [policy] of a team can"),
        (f"Set it in {SETTINGS_FILE} for the teams that you start later",),
        code="fixed-setting",
    )


def _fail(code: str, what: str, why: str, hints: tuple[str, ...] = ()) -> NoReturn:
    raise UsageError(what, why, (*hints, "See all settings with `headcount explain settings`"), code=code)
