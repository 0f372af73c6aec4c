"""`headcount init`: a diff that a person can read; again changes nothing; all of it can be undone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from client_lab import CLIENTS, fingerprint, git, installed

from headcount.app.definition import read_definition
from headcount.app.settings_file import read_settings


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    place = tmp_path / "repo"
    place.mkdir()
    git(place, "init", "--quiet")
    return place


def headcount(repo: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headcount", *words], cwd=repo, capture_output=True, text=True
    )


def files(repo: Path) -> dict[str, bytes | str]:
    return {
        path: text for path, text in fingerprint(repo).items() if not path.startswith((".git/", ".headcount"))
    }


THEIRS = {
    ".mcp.json": '{"mcpServers": {"other": {"command": "other"}}}',
    ".claude/settings.json": '{\n\t"hooks": {"UserPromptSubmit": [{"hooks": []}]},\n\t"model": "opus"\n}\n',
    ".codex/config.toml": 'model = "o"',
    ".gemini/settings.json": '{"ui": {}}\n',
    "opencode.json": '{"model": "a/b", "mcp": {}}\n',
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("theirs", [{}, THEIRS], ids=["nothing there", "files of their own"])
def test_init_adds_works_twice_and_is_undone_byte_for_byte(
    client: str, theirs: dict[str, str], repo: Path
) -> None:
    for path, text in theirs.items():
        (repo / path).parent.mkdir(exist_ok=True)
        (repo / path).write_text(text)
    before = files(repo)
    assert headcount(repo, "init", "--client", client).returncode == 0
    once = files(repo)
    assert len({path for path in once if once[path] != before.get(path)}) >= 3
    again = headcount(repo, "init", "--client", client)
    assert "Written 0 of" in again.stdout and files(repo) == once
    assert headcount(repo, "init", "--undo").returncode == 0
    assert files(repo) == before


def test_what_was_edited_since_keeps_the_edits_and_loses_what_is_ours(repo: Path) -> None:
    headcount(repo, "init", "--client", "claude")
    settings = json.loads((repo / ".mcp.json").read_text())
    settings["mcpServers"]["mine"] = {"command": "mine"}
    (repo / ".mcp.json").write_text(json.dumps(settings))
    (repo / "team.py").write_text("# mine now\n")
    headcount(repo, "init", "--undo")
    assert json.loads((repo / ".mcp.json").read_text()) == {"mcpServers": {"mine": {"command": "mine"}}}
    assert (repo / "team.py").read_text() == "# mine now\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".mcp.json", b"{ // mine\n}"),
        (".mcp.json", b'{"mcpServers": []}'),
        (".mcp.json", b"\xff\xfe"),
        (".claude/settings.json", b'{"hooks": {"UserPromptSubmit": {}}}'),
    ],
)
def test_a_file_that_cannot_be_changed_is_named_and_nothing_is_written(
    path: str, text: bytes, repo: Path
) -> None:
    (repo / path).parent.mkdir(exist_ok=True)
    (repo / path).write_bytes(text)
    before = files(repo)
    done = headcount(repo, "init", "--client", "claude")
    assert done.returncode == 2 and path in done.stderr
    assert files(repo) == before


def test_what_was_made_unreadable_since_is_kept_and_the_rest_undone(repo: Path) -> None:
    headcount(repo, "init", "--client", "claude")
    (repo / ".mcp.json").write_text("{ // mine\n}")
    assert headcount(repo, "init", "--undo").returncode == 0
    assert files(repo) == {".mcp.json": files(repo)[".mcp.json"]}
    assert (repo / ".mcp.json").read_text() == "{ // mine\n}"


def test_the_example_compiles_and_the_settings_are_read(repo: Path) -> None:
    headcount(repo, "init", "--client", "gemini")
    assert [plan.name for plan in read_definition(str(repo / "team.py")).members] == ["ann", "bob"]
    settings = read_settings(str(repo / "headcount.toml"), {})
    assert (settings.agents.default, settings.build.dialect) == ("gemini", "agent")


def test_claude_code_reads_the_server_that_init_wrote(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headcount(repo, "init", "--client", "claude")
    shown = subprocess.run(
        [installed() / "claude", "mcp", "get", "headcount"],
        cwd=repo,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "headcount" in shown.stdout and "mcp" in shown.stdout, shown


def test_the_plugin_validates() -> None:
    plugin = Path(__file__).parents[3] / "plugin"
    done = subprocess.run(
        [installed() / "claude", "plugin", "validate", str(plugin)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "Validation passed" in done.stdout, done.stdout + done.stderr


def test_in_a_subdirectory_files_are_named_as_they_are_typed_there(repo: Path) -> None:
    (repo / "sub").mkdir()
    said = headcount(repo / "sub", "init").stdout
    assert "written    ../team.py: " in said and "`headcount up ../team.py`" in said
    assert (repo / "team.py").exists()


def test_undo_says_what_it_removed_and_that_there_was_nothing(repo: Path) -> None:
    headcount(repo, "init")
    said = headcount(repo, "init", "--undo").stdout.splitlines()
    assert said[0] == "removed    headcount.toml: it was not there before"
    assert said[-1] == "Took back 2 of 2 files."
    assert headcount(repo, "init", "--undo").stdout == "There is nothing to undo.\n"
