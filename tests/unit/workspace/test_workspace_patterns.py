"""gitignore patterns of the settings match what git itself would match."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from headcount.domain.policy import PRIVATE
from headcount.workspace.path_patterns import PathPatterns

PIECES = [
    ".env", ".env.*", "!.env.example", "*.pem", "/x", "sub/", "build/**", "**/x", "a/**/x*", "src/*",
    "!src/x", "[a-b]*", "[!a]", "\\#c", "\\!d*", "x?", "/build/", "*", "!*/", "!*.key", "**", "[[:lower:]]",
    "[]x]", "a\\ b", "x ", "# comment", "", "src/**/sub", "!/src", "[x-z]1", "keys.key",
]  # fmt: skip
NAMES = [".env", ".env.local", ".env.example", "a.pem", "x", "sub", "a b", "[x]", "#c", "!d", "id_rsa"]
DIRECTORIES = ["src", "sub", "build", "a", "keys.key", "x"]


@pytest.mark.parametrize(
    ("path", "private"),
    [
        (".env", True), ("deep/er/.env.production", True), (".env.example", False), ("x/.env.sample", False),
        ("tls/server.key", True), ("home/id_ed25519", True), ("id_ed25519.pub", False),
        ("environment.py", False), ("src/key.py", False), (".env.d/token", True), ("certs.pem/readme", True),
    ],
)  # fmt: skip
def test_default_patterns_name_secrets_and_not_their_templates(path: str, private: bool) -> None:
    assert PathPatterns(PRIVATE).match(path.encode()) is private


def test_patterns_match_exactly_what_git_matches(tmp_path: Path) -> None:
    chance = random.Random(7)
    top = tmp_path / "top"
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    made = set()
    for _ in range(150):
        place = top.joinpath(*(chance.choice(DIRECTORIES) for _ in range(chance.randint(0, 3))))
        file = place / (chance.choice(NAMES) + chance.choice(["", ".txt", ".key", "1"]))
        try:
            place.mkdir(parents=True, exist_ok=True)
            file.touch(exist_ok=False)
            made.add(file.relative_to(top).as_posix())
        except OSError:
            continue  # one name cannot be a file and a directory
    for _ in range(60):
        patterns = tuple(chance.choice(PIECES) for _ in range(chance.randint(1, 5)))
        (tmp_path / "patterns").write_text("\n".join(patterns) + "\n")
        command = ["git", "-C", str(top), "ls-files", "-o", "-i", "-z", "-X", str(tmp_path / "patterns")]
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        ours = PathPatterns(patterns)
        assert {path for path in made if ours.match(path.encode())} == {*listed} - {""}, patterns


def test_no_patterns_match_nothing() -> None:
    assert not PathPatterns()
    assert not PathPatterns(("# only a comment", "!taken-out"))
    assert not PathPatterns(("!taken-out",)).match(b"taken-out")


def test_name_that_is_not_utf8_is_matched_by_its_bytes() -> None:
    assert PathPatterns(("*.key",)).match(b"\xff\xfe.key")
