"""Build the environment of members and of the commands that headcount runs for a team.

`headcount up` may be called from a git hook, from a tmux pane or from an agent client. Each of them sets
variables that are about its own repository, terminal or session. A member that inherited them would commit
to the user's index, open sessions on the user's tmux server, or take itself for a part of another session.
So headcount builds the environment: everything of the operator's but the variables in this table.

docs/reference/environment.md shows the same table, and a test compares the two.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Removed always. `*` stands for any ending.
GIT_REPOSITORY = (  # `git rev-parse --local-env-vars` of git 2.38 to 2.51, and what git sets beside them
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_KEY_*",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_VALUE_*",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_*",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_PUSH_OPTION_*",
    "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
GIT_COMMIT = ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")
TERMINAL = (
    "STY",
    "TMUX",
    "TMUX_PANE",
    "TMUX_TMPDIR",
    "WINDOW",
    "ZELLIJ",
    "ZELLIJ_PANE_ID",
    "ZELLIJ_SESSION_NAME",
)
OUTER_TEAM = ("HEADCOUNT_*",)
OUTER_CLIENT = (  # that a session is running, and which; not the keys and settings of the user
    "CLAUDECODE",
    "CLAUDE_CODE_AGENT_*",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_PARENT_*",
    "CLAUDE_CODE_REMOTE*",
    "CLAUDE_CODE_SESSION_*",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_TASK_LIST_ID",
    "CLAUDE_CODE_TEAM_NAME",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PLUGIN_*",
    "CLAUDE_PROJECT_DIR",
    "CODEX_CI",
    "CODEX_INTERNAL_*",
    "CODEX_MANAGED_*",
    "CODEX_SANDBOX*",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "CURSOR_TRACE_ID",
    "GEMINI_CLI",
    "GEMINI_CLI_IDE_*",
    "OPENCODE",
    "OPENCODE_PID",
    "OPENCODE_PROCESS_ROLE",
    "OPENCODE_RUN_ID",
    "OPENCODE_SERVER_*",
)
REMOVED = {
    "git: one repository": GIT_REPOSITORY,
    "git: one commit": GIT_COMMIT,
    "a terminal multiplexer": TERMINAL,
    "another team": OUTER_TEAM,
    "a session of a client": OUTER_CLIENT,
}

# Removed only where git itself called us, as a hook or an alias: elsewhere they are the user's own choice.
FROM_GIT = ("GIT_EXEC_PATH",)
# With GIT_AUTHOR_DATE, as git sets the three for one commit. Where the committer, which git does not set, is
# in the environment too, the user's identity may be nowhere else: it becomes the author.
AUTHOR = {"GIT_AUTHOR_NAME": "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL": "GIT_COMMITTER_EMAIL"}
NO_EDITOR = ("GIT_EDITOR", ":")  # what git sets while no editor may be opened

_PATTERNS = tuple(pattern for group in REMOVED.values() for pattern in group)
_EXACT = frozenset(pattern for pattern in _PATTERNS if "*" not in pattern)
_ENDINGS = tuple(pattern for pattern in _PATTERNS if "*" in pattern)


def build_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a member, or a command of its team, takes over from `environ`. Safe to repeat."""
    built = {name: value for name, value in environ.items() if not _is_removed(name)}
    if not any(_matches(name, GIT_REPOSITORY) for name in environ):
        return built
    removed = {*FROM_GIT}
    if environ.get(NO_EDITOR[0]) == NO_EDITOR[1]:
        removed.add(NO_EDITOR[0])
    own: dict[str, str] = {}
    if "GIT_AUTHOR_DATE" in environ:
        removed.update(AUTHOR)
        own = {name: environ[committer] for name, committer in AUTHOR.items() if committer in environ}
    return {**{name: value for name, value in built.items() if name not in removed}, **own}


def _is_removed(name: str) -> bool:
    return name in _EXACT or _matches(name, _ENDINGS)


@cache  # asked about the same names for every git process
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
