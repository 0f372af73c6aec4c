"""The list of this user's state directories: who may write it, and what is dropped."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from headcount.app import known_repositories
from headcount.app.known_repositories import list_homes, remember


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": "/nowhere"}


def make(tmp_path: Path, name: str) -> str:
    place = tmp_path / name / ".headcount"
    place.mkdir(parents=True)
    return str(place)


def test_it_is_for_its_owner_alone_and_forgets_what_is_removed(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    one, other = make(tmp_path, "one"), make(tmp_path, "other")
    for home in (one, other, one):
        remember(home, environ)
    assert list_homes(environ) == [one, other]
    file = tmp_path / "state" / "headcount" / "repositories.json"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    os.rmdir(one)
    assert list_homes(environ) == [other]
    assert json.loads(file.read_text()) == {"homes": [other]}


def test_nothing_of_another_user_is_read(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = make(tmp_path, "one")
    remember(one, environ)
    file = tmp_path / "state" / "headcount" / "repositories.json"
    file.chmod(0o666)  # others could have written it
    assert list_homes(environ) == []
    file.chmod(0o600)
    assert list_homes(environ) == [one]
    (tmp_path / "link").symlink_to(one)
    file.write_text(json.dumps({"homes": [str(tmp_path / "link"), one, "a\0b", 7]}))
    assert list_homes(environ) == [one]
    monkeypatch.setattr(known_repositories.os, "getuid", lambda: os.geteuid() + 1)
    assert list_homes(environ) == []


@pytest.mark.parametrize("text", ["", "[", "{}", '{"homes": 1}', "[" * 100_000])
def test_a_broken_list_is_an_empty_one_and_is_written_again(
    tmp_path: Path, environ: dict[str, str], text: str
) -> None:
    one = make(tmp_path, "one")
    place = tmp_path / "state" / "headcount"
    place.mkdir(parents=True, mode=0o700)
    (place / "repositories.json").write_text(text)
    (place / "repositories.json").chmod(0o600)
    assert list_homes(environ) == []
    remember(one, environ)
    assert list_homes(environ) == [one]


def test_where_it_cannot_be_written_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    environ = {"XDG_STATE_HOME": str(tmp_path / "file"), "HOME": "/nowhere"}
    remember(make(tmp_path, "one"), environ)
    assert list_homes(environ) == []


def test_of_several_writers_at_once_nobody_is_forgotten(tmp_path: Path, environ: dict[str, str]) -> None:
    homes = [make(tmp_path, f"r{number}") for number in range(8)]
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=remember, args=(home, environ)) for home in homes]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(list_homes(environ)) == sorted(homes)
