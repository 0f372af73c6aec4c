"""The completion scripts, in the shells that they are for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from termlab import TermLab


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A `headcount` that is this one."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "headcount"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m headcount "$@"\n')
    script.chmod(0o755)
    return f"{tmp_path}/bin:{os.environ['PATH']}"


def in_shell(lab: TermLab, path: str, shell: str, *words: str) -> list[str]:
    found = shutil.which(shell)
    assert found is not None, f"{shell} is not installed: apt-get install {shell}"
    env = {**os.environ, "PATH": path}
    done = subprocess.run(
        [found, *words], cwd=lab.app.root, env=env, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


def bash(lab: TermLab, path: str, *words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    script = (
        f'eval "$(headcount completion bash)"; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; '
        '_headcount; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return in_shell(lab, path, "bash", "-c", script)


def zsh(lab: TermLab, path: str, *words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    script = (
        "compdef() { :; }; _describe() { print -l -- ${${(P)2}%%:*}; }; compadd() { print -l -- ${(P)2}; };"
        f'eval "$(headcount completion zsh)"; words=({line}); CURRENT={len(words)}; _headcount'
    )
    return in_shell(lab, path, "zsh", "-f", "-c", script)


def fish(lab: TermLab, path: str, *words: str) -> list[str]:
    script = f"headcount completion fish | source; complete -C '{' '.join(words)}'"
    return in_shell(lab, path, "fish", "--no-config", "-c", script)


@pytest.mark.parametrize("shell", [bash, zsh, fish])
def test_commands_options_and_names_are_completed(lab: TermLab, path: str, shell: object) -> None:
    assert callable(shell)
    lab.create()
    lab.start("ada")
    assert "status" in shell(lab, path, "headcount", "st")
    assert "--keep-team" in shell(lab, path, "headcount", "down", "--k")
    assert "crew" in shell(lab, path, "headcount", "down", "")
    assert "ada" in shell(lab, path, "headcount", "logs", "")
    assert "restore" in shell(lab, path, "headcount", "salvage", "")
    assert "force-kill" in shell(lab, path, "headcount", "decide", "")
    assert {"lead", "all", "ada"} <= set(shell(lab, path, "headcount", "send", ""))
    assert "stop_grace_s=" in shell(lab, path, "headcount", "set", "")
    assert "ada" in shell(lab, path, "headcount", "witness", "findings", "")


@pytest.mark.parametrize("shell", [bash, zsh, fish])
def test_salvages_are_completed_by_their_short_names(lab: TermLab, path: str, shell: object) -> None:
    assert callable(shell)
    lab.create()
    lab.start("ada", "echo x > loose.txt; exit 0")
    lab.wait(lambda team: team.members["ada#1"].settled)
    found = shell(lab, path, "headcount", "salvage", "restore", "")
    assert "ada" in found and "verify" not in found


def test_without_any_state_there_are_no_names_and_no_error(lab: TermLab, path: str) -> None:
    assert bash(lab, path, "headcount", "down", "") in ([], [""])
