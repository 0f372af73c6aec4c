"""The directory that a client is given: what in it is the user's, what is ours, and what needs no network."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from headcount.agents import registry
from headcount.agents.client import HOOK_WAIT_S, Setup
from headcount.agents.registry import CLIENTS, read_version

PLUGIN = "@opencode-ai/plugin"


def prepare(client: str, place: Path, permissions: str = "edit", repository: str = "") -> dict[str, str]:
    setup = Setup(
        str(place / "own"), ("/py",), "s", permissions=permissions, repository=repository,
        instructions="You are ann.",
    )  # fmt: skip
    return CLIENTS[client].prepare(setup, {"HOME": str(place / "home")})


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def packages(place: Path) -> Any:
    path = place / "own/config/.config/opencode/package-lock.json"
    return json.loads(path.read_text())["packages"][""]["dependencies"] if path.exists() else None


def test_a_version_is_asked_for_without_a_trace_in_the_users_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gemini CLI leaves a file behind each time that it is asked."""
    program = tmp_path / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho 0.61.0\ntouch "${GEMINI_CLI_HOME:-$HOME}/left-behind"\n')
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)
    assert read_version("gemini", str(program.parent)) == "0.61.0"
    assert not (tmp_path / "left-behind").exists()


def test_a_version_that_did_not_come_in_time_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, slow = tmp_path / "claude", tmp_path / "slow"
    program.write_text(f"#!/bin/sh\n[ -e {slow} ] && exec sleep 60\necho 2.1.325\n")
    program.chmod(0o755)
    slow.touch()
    with monkeypatch.context() as impatient:
        impatient.setattr(registry, "_ASK_S", 0.2)
        assert read_version("claude", str(tmp_path)) == ""
    slow.unlink()
    assert read_version("claude", str(tmp_path)) == "2.1.325"


def test_settings_that_lead_nowhere_are_as_good_as_none(tmp_path: Path) -> None:
    """As a link to a file that is kept elsewhere, and is not there on this machine."""
    users = tmp_path / "home/.claude/settings.json"
    users.parent.mkdir(parents=True)
    users.symlink_to(tmp_path / "dotfiles/settings.json")
    prepare("claude", tmp_path)
    assert not (tmp_path / "own/config/settings.json").is_symlink()
    assert (tmp_path / "own/settings.json").exists()


def test_hooks_of_ours_stand_after_the_users(tmp_path: Path) -> None:
    mine = {"hooks": [{"type": "command", "command": "mine"}]}
    write(tmp_path / "home/.gemini/settings.json", {"hooks": {"AfterTool": [mine], "BeforeTool": [mine]}})
    prepare("gemini", tmp_path)
    hooks = json.loads((tmp_path / "own/config/.gemini/settings.json").read_text())["hooks"]
    assert hooks["BeforeTool"][0] == mine and hooks["AfterTool"][0] == mine
    assert hooks["BeforeTool"][1]["matcher"] == "^run_shell_command$"
    assert hooks["AfterTool"][1]["hooks"][0]["command"] == "/py hook PostToolUse"


def test_a_member_trusts_its_repository_and_workspace_and_no_other_folder_of_the_user(tmp_path: Path) -> None:
    projects = {"/repo": {"hasTrustDialogAccepted": True}, "/other": {"hasTrustDialogAccepted": True}}
    write(tmp_path / "home/.claude.json", {"projects": projects})
    prepare("claude", tmp_path, repository="/repo")
    trusted = json.loads((tmp_path / "own/config/.claude.json").read_text())["projects"]
    assert set(trusted) == {str(Path.cwd()), "/repo"}


def trusts(client: str, home: Path, root: str = "/a/repo", **environ: str) -> bool:
    return CLIENTS[client].trusts(root, {"HOME": str(home), **environ})


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_a_folder_that_the_user_was_never_asked_about_is_not_trusted(client: str, tmp_path: Path) -> None:
    assert not trusts(client, tmp_path)


def test_the_users_own_decision_about_a_folder_is_read_as_the_client_reads_it(tmp_path: Path) -> None:
    write(tmp_path / ".claude.json", {"projects": {"/a/repo": {"hasTrustDialogAccepted": True}}})
    assert trusts("claude", tmp_path) and not trusts("claude", tmp_path, "/a")
    assert not trusts("claude", tmp_path, "/a/repo/below")
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text(
        '[projects."/a/repo"]\ntrust_level = "trusted"\n[projects."/b"]\ntrust_level = "untrusted"\n'
    )
    assert trusts("codex", tmp_path) and not trusts("codex", tmp_path, "/b")


def test_gemini_takes_the_longest_rule_a_variable_and_the_switch_of_the_user(tmp_path: Path) -> None:
    rules = {"/a": "TRUST_FOLDER", "/a/repo": "DO_NOT_TRUST", "/b/one": "TRUST_PARENT"}
    write(tmp_path / ".gemini/trustedFolders.json", rules)
    assert not trusts("gemini", tmp_path) and not trusts("gemini", tmp_path, "/ab")
    assert trusts("gemini", tmp_path, "/a/other") and trusts("gemini", tmp_path, "/b/two")
    assert trusts("gemini", tmp_path, GEMINI_CLI_TRUST_WORKSPACE="true")
    assert not trusts("gemini", tmp_path, "/a/other", GEMINI_CLI_TRUST_WORKSPACE="false")
    write(tmp_path / ".gemini/settings.json", {"security": {"folderTrust": {"enabled": False}}})
    assert trusts("gemini", tmp_path)
    assert not trusts("gemini", tmp_path, GEMINI_RESTRICTED_MODE="true")


@pytest.mark.parametrize("broken", ["", "[]", "7", '{"projects": 7}', '{"projects": {"/a/repo": 7}}'])
def test_records_of_a_client_that_make_no_sense_trust_nothing(broken: str, tmp_path: Path) -> None:
    for name in (".claude.json", ".codex/config.toml", ".gemini/trustedFolders.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(broken)
    assert not any(trusts(client, tmp_path) for client in ("claude", "codex", "gemini"))


def test_opencode_reads_the_repositorys_settings_only_where_the_user_says_so(tmp_path: Path) -> None:
    """It has no question about trust, and would load the plugins of any folder."""
    variable = "OPENCODE_DISABLE_PROJECT_CONFIG"
    assert prepare("opencode", tmp_path)[variable] == "true"
    setup = Setup(str(tmp_path / "two"), ("/py",), "s")
    wanted = CLIENTS["opencode"].prepare(setup, {"HOME": str(tmp_path / "home"), variable: "false"})
    assert variable not in wanted


def test_every_client_gives_a_hook_more_time_than_it_ever_waits(tmp_path: Path) -> None:
    prepare("gemini", tmp_path / "gemini")
    prepare("claude", tmp_path / "claude")
    gemini = json.loads((tmp_path / "gemini/own/config/.gemini/settings.json").read_text())["hooks"]
    claude = json.loads((tmp_path / "claude/own/settings.json").read_text())["hooks"]
    limits_s = [entry["hooks"][-1]["timeout"] / 1000 for (entry,) in gemini.values()]
    limits_s += [entry["hooks"][-1]["timeout"] for (entry,) in claude.values()]
    assert len(limits_s) == 9 and min(limits_s) >= HOOK_WAIT_S + 20


@pytest.mark.parametrize(("permissions", "denied"), [("edit", True), ("full", False)])
def test_what_would_ask_a_person_is_denied_and_commands_only_with_edit(
    permissions: str, denied: bool, tmp_path: Path
) -> None:
    prepare("gemini", tmp_path, permissions)
    rules = tomllib.loads((tmp_path / "own/policy.toml").read_text())["rule"]
    assert rules[0]["decision"] == "deny" and "ask_user" in rules[0]["toolName"]
    commands = [rule for rule in rules if rule["toolName"] == "run_shell_command"]
    assert [rule["decision"] for rule in commands] == (["allow", "allow", "deny"] if denied else [])
    assert all({"toolName", "decision", "priority"} <= rule.keys() for rule in rules)


def test_opencode_is_told_that_its_package_is_there_so_that_it_asks_no_network(tmp_path: Path) -> None:
    prepare("opencode", tmp_path)
    assert packages(tmp_path) == {PLUGIN: "*"}
    assert (tmp_path / "own/config/.config/opencode/node_modules").is_dir()


def test_packages_that_the_user_has_are_used_and_never_installed_over(tmp_path: Path) -> None:
    users = tmp_path / "home/.config/opencode"
    write(users / "package.json", {"dependencies": {"their-plugin": "1"}})
    write(users / "node_modules/their-plugin/package.json", {})
    prepare("opencode", tmp_path)
    assert packages(tmp_path) == {"their-plugin": "1", PLUGIN: "*"}
    assert (tmp_path / "own/config/.config/opencode/node_modules/their-plugin").is_dir()
    assert not (users / "package-lock.json").exists()


def test_packages_that_the_user_wants_and_has_not_are_left_to_be_installed(tmp_path: Path) -> None:
    write(tmp_path / "home/.config/opencode/package.json", {"dependencies": {"their-plugin": "1"}})
    prepare("opencode", tmp_path)
    assert packages(tmp_path) is None


@pytest.mark.parametrize("theirs", ["AGENTS.md", "AGENTS.override.md"])
def test_codex_users_own_instructions_stay_and_ours_join_the_users_words(tmp_path: Path, theirs: str) -> None:
    """Neither are on the command line."""
    users = tmp_path / "home/.codex"
    users.mkdir(parents=True)
    (users / "config.toml").write_text('developer_instructions = "Be brief."\n')
    (users / theirs).write_text("Speak plainly.")
    prepare("codex", tmp_path)
    own = tmp_path / "own/config"
    assert tomllib.loads((own / "config.toml").read_text()) == {"developer_instructions": "Be brief."}
    assert (own / theirs).read_text() == "Speak plainly.\n\nYou are ann."
    assert (users / theirs).read_text() == "Speak plainly."
    words = CLIENTS["codex"].terminal(
        Setup(str(tmp_path / "own"), ("/py",), "s", instructions="You are ann."), "Begin."
    )
    assert not any("You are ann." in word for word in words)


@pytest.mark.parametrize(
    ("named", "names"), [(None, ["GEMINI.md"]), ("A.md", ["A.md"]), (["A.md", "B.md"], ["A.md", "B.md"])]
)
def test_gemini_reads_our_instructions_from_a_file_beside_the_users(
    tmp_path: Path, named: object, names: list[str]
) -> None:
    write(tmp_path / "home/.gemini/settings.json", {"context": {"fileName": named, "x": 1}} if named else {})
    prepare("gemini", tmp_path)
    own = tmp_path / "own/config/.gemini"
    context = json.loads((own / "settings.json").read_text())["context"]
    assert context["fileName"] == [*names, "headcount-member.md"]
    assert (own / "headcount-member.md").read_text() == "You are ann."
