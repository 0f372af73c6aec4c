"""The environment of a member is built from the operator's by one table."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from headcount.domain.environment import AUTHOR, FROM_GIT, NO_EDITOR, REMOVED, build_environment

PAGE = Path(__file__).parents[3] / "docs/reference/environment.md"


def test_F1_every_local_variable_of_this_git_is_removed() -> None:
    local = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert build_environment(dict.fromkeys(local, "x")) == {}


def test_F1_variables_of_one_commit_are_removed_in_a_hook() -> None:
    hook = {
        "GIT_INDEX_FILE": ".git/index",
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_AUTHOR_EMAIL": "ann@localhost",
        "GIT_AUTHOR_DATE": "@1 +0000",
        "GIT_EDITOR": ":",
        "GIT_EXEC_PATH": "/usr/lib/git-core",
        "GIT_SSH_COMMAND": "ssh -4",
        "GIT_CONFIG_GLOBAL": "/home/ann/git",
        "HOME": "/home/ann",
    }
    assert build_environment(hook) == {
        "GIT_SSH_COMMAND": "ssh -4",
        "GIT_CONFIG_GLOBAL": "/home/ann/git",
        "HOME": "/home/ann",
    }


def test_F1_identity_that_is_only_in_the_environment_is_kept_in_a_hook() -> None:
    hook = {"GIT_PREFIX": "", "GIT_AUTHOR_DATE": "@1 +0000", "GIT_AUTHOR_NAME": "Guest"}
    assert build_environment({**hook, "GIT_COMMITTER_NAME": "Ann"}) == {
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_COMMITTER_NAME": "Ann",
    }


def test_what_the_user_has_set_outside_of_a_hook_is_kept() -> None:
    own = {
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_AUTHOR_EMAIL": "ann@localhost",
        "GIT_EDITOR": "vim",
        "GIT_EXEC_PATH": "/opt/git",
        "CLAUDE_CONFIG_DIR": "/home/ann/.claude",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CODEX_HOME": "/home/ann/.codex",
        "GEMINI_API_KEY": "k",
        "OPENCODE_CONFIG": "/home/ann/opencode.json",
    }
    assert build_environment(own) == own


def test_F2_variables_of_a_terminal_and_of_an_outer_session_are_removed() -> None:
    outer = ("TMUX", "TMUX_PANE", "STY", "HEADCOUNT_MARK", "HEADCOUNT_TOKEN", "CLAUDECODE", "GEMINI_CLI")
    assert build_environment(dict.fromkeys((*outer, "PATH"), "x")) == {"PATH": "x"}


def test_reference_page_has_every_variable_of_the_table() -> None:
    section = PAGE.read_text().partition("## What a member does not inherit\n")[2].partition("\n## ")[0]
    shown = set(re.findall(r"`([A-Z][A-Z_]+\*?)`", section))
    table = {pattern for group in REMOVED.values() for pattern in group}
    assert shown - {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} == {*table, *FROM_GIT, *AUTHOR, NO_EDITOR[0]}
