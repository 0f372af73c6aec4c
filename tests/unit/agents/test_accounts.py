"""Whose usage limit a client works under, whether a user is logged in, and which version it has."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headcount.agents import registry, version_cache
from headcount.agents.registry import CLIENTS, check_login, find_account, is_logged_out, read_version
from headcount.errors import WorldError


def program(place: Path, name: str, script: str) -> dict[str, str]:
    """A client that is a shell script, and the environment of its user."""
    bin_ = place / "bin"
    bin_.mkdir(exist_ok=True)
    (bin_ / name).write_text(f"#!/bin/sh\n{script}\n")
    (bin_ / name).chmod(0o755)
    return {"HOME": str(place), "PATH": f"{bin_}:/usr/bin:/bin"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    registry._read_cached.cache_clear()
    return tmp_path


def test_two_keys_are_two_accounts_and_neither_is_given_away(home: Path) -> None:
    found = [find_account("claude", {"HOME": str(home), "ANTHROPIC_API_KEY": key}) for key in ("one", "two")]
    assert len(set(found)) == 2
    assert all(name.startswith("claude:") and "one" not in name for name in found)
    (home / ".claude.json").write_text(json.dumps({"oauthAccount": {"accountUuid": "u-1"}}))
    assert find_account("claude", {"HOME": str(home)}) not in ("claude", *found)


def test_an_account_of_opencode_is_that_of_its_provider(home: Path) -> None:
    env = {"HOME": str(home)}
    assert find_account("opencode", env, "anthropic/x") != find_account("opencode", env, "openai/y")
    assert find_account("command", env) == ""


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_F97_a_client_that_denies_a_login_is_refused_before_a_start(client: str, home: Path) -> None:
    """It gets a directory of its own, because it writes there when it is asked."""
    variable = CLIENTS[client].login_check.variable  # type: ignore[union-attr]
    env = program(home, client, f'echo "$@" >> "$HOME/asked"; touch "${variable}/written"; exit 1')
    with pytest.raises(WorldError) as refused:
        check_login(client, env)
    assert refused.value.code == "client-not-logged-in" and "og in" in refused.value.hints[0]
    assert "status" in (home / "asked").read_text()
    assert not list(home.rglob("written"))
    assert not is_logged_out(client, program(home, client, "exit 0"))
    assert not is_logged_out(client, program(home, client, "exit 2"))  # it does not know that command


@pytest.mark.parametrize(
    ("client", "env", "file", "content"),
    [
        ("claude", {"ANTHROPIC_API_KEY": "k"}, "", ""),
        ("claude", {}, ".claude/.credentials.json", "{}"),
        ("claude", {}, ".claude/settings.json", '{"apiKeyHelper": "./key.sh"}'),
        ("claude", {"CLAUDE_CODE_USE_BEDROCK": "1"}, "", ""),
        ("codex", {}, ".codex/auth.json", '{"tokens": {"account_id": "a"}}'),
        ("codex", {}, ".codex/config.toml", 'model_provider = "mine"'),
        ("gemini", {"GEMINI_API_KEY": "k"}, "", ""),
        ("gemini", {}, ".gemini/settings.json", '{"security": {"auth": {"selectedType": "oauth-personal"}}}'),
        ("gemini", {}, ".gemini/.env", "GEMINI_API_KEY=k"),
        ("opencode", {}, "", ""),
    ],
)
def test_a_login_that_the_users_files_show_costs_no_question(
    client: str, env: dict[str, str], file: str, content: str, home: Path
) -> None:
    users = program(home, client, 'touch "$HOME/asked"; exit 1')
    if file:
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(content)
    check_login(client, {**users, **env})
    assert not (home / "asked").exists()


def test_gemini_without_any_login_is_refused(home: Path) -> None:
    assert is_logged_out("gemini", {"HOME": str(home)})


# --- versions ------------------------------------------------------------------------------------------


def test_a_version_is_asked_for_once_for_each_file_across_commands(home: Path) -> None:
    env = program(home, "gemini", 'echo asked >> "$HOME/asked"; echo 0.61.0')
    for _ in range(2):
        registry._read_cached.cache_clear()  # as another command
        assert read_version("gemini", env["PATH"]) == "0.61.0"
    assert (home / "asked").read_text() == "asked\n"
    program(home, "gemini", 'echo asked >> "$HOME/asked"; echo 0.62.0')
    assert read_version("gemini", env["PATH"]) == "0.62.0"


def test_a_file_that_was_replaced_in_the_same_size_and_time_is_asked_again(home: Path) -> None:
    """npm gives all files the same time."""
    env = program(home, "gemini", "echo 0.61.0")
    path = home / "bin" / "gemini"
    os.utime(path, (1, 1))
    assert read_version("gemini", env["PATH"]) == "0.61.0"
    program(home, "gemini", "echo 0.62.0")
    os.utime(path, (1, 1))
    assert read_version("gemini", env["PATH"]) == "0.62.0"


@pytest.mark.parametrize("trick", ["link", "others may write", "no JSON", "a list"])
def test_a_cache_that_another_could_have_written_is_not_believed(trick: str, home: Path) -> None:
    program(home, "gemini", "echo 0.61.0")
    identity = version_cache.identify(str(home / "bin" / "gemini"))
    version_cache.write(identity, "9.9.9")
    cache = home / ".cache" / "headcount" / "client-versions.json"
    assert version_cache.read(identity) == "9.9.9" and cache.stat().st_mode & 0o777 == 0o600
    if trick == "link":
        cache.rename(home / "elsewhere")
        cache.symlink_to(home / "elsewhere")
    elif trick == "others may write":
        cache.chmod(0o666)
    else:
        cache.write_text("{" if trick == "no JSON" else "[1]")
    assert version_cache.read(identity) == ""
