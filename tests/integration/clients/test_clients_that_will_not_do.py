"""A client that is missing, too old or stuck in a dialog: an error that says what to do, and nothing left."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from client_lab import CLIENTS, Lab, fingerprint, git

from headcount.agents.registry import CLIENTS as KNOWN
from headcount.app.doctor import examine
from headcount.errors import WorldError
from headcount.protocol.member import State


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_is_not_installed_is_refused(
    client: str, open_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = open_lab([])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(WorldError) as refused:
        lab.start("ann", client)
    assert refused.value.code == "client-missing"
    assert any("npm install -g" in hint for hint in refused.value.hints)
    with lab.app.store.read() as tx:
        assert not lab.app.load(tx, "crew").members


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_is_too_old_is_refused(
    client: str, open_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lab = open_lab([])
    program(tmp_path / "old", client, "echo '0.0.31'")
    monkeypatch.setenv("PATH", f"{tmp_path}/old:{os.environ['PATH']}")
    with pytest.raises(WorldError, match="too old") as refused:
        lab.start("ann", client)
    oldest = ".".join(map(str, KNOWN[client].oldest))
    assert refused.value.code == "client-too-old"
    assert "0.0.31" in refused.value.why and oldest in refused.value.why
    assert any(KNOWN[client].install in hint for hint in refused.value.hints)


def test_a_client_stuck_in_a_dialog_is_ended_and_named(open_lab: Callable[..., Lab]) -> None:
    """A dialog that is the user's to answer: whether this repository may read files outside of it."""
    lab = open_lab([])
    (lab.home / "notes.md").write_text("notes\n")
    Path(lab.app.root, "CLAUDE.md").write_text("@~/notes.md\n")
    git(lab.app.root, "add", "CLAUDE.md")
    git(lab.app.root, "commit", "--quiet", "-m", "instructions")
    member = lab.member(lab.start("ann", "claude", runtime="tmux"))
    assert member.state is State.GONE
    assert "dialog" in member.failure and "by hand" in member.failure, member.failure
    assert lab.alive() == []


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_F97_a_client_that_is_not_logged_in_is_refused_before_anything_is_started(
    client: str, open_lab: Callable[..., Lab]
) -> None:
    """Without a turn: by its own command, or by its files. Neither is changed by the question."""
    lab = open_lab([], ANTHROPIC_API_KEY="", GEMINI_API_KEY="")
    trust = f'[projects.{json.dumps(lab.app.root)}]\ntrust_level = "trusted"\n'
    (lab.home / ".codex" / "config.toml").write_text(trust)
    (lab.home / ".gemini" / "settings.json").write_text("{}")
    before = fingerprint(lab.home)
    with pytest.raises(WorldError) as refused:
        lab.start("ann", client)
    assert refused.value.code == "client-not-logged-in"
    (check,) = [one for one in examine(lab.app.home) if one.name == client]
    assert "not logged in" in check.found
    assert fingerprint(lab.home) == before
    assert lab.standin.requests == []


def program(place: Path, name: str, script: str) -> None:
    place.mkdir()
    (place / name).write_text(f"#!/bin/sh\n{script}\n")
    (place / name).chmod(0o755)
