"""Which commands a pattern of `[agents] allow` matches: one simple command, as the shell itself reads it."""

from __future__ import annotations

import random
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.domain.command_patterns import (
    UnsafeCommand,
    decide_by_patterns,
    exact_pattern,
    is_compound,
    matches,
    read_pattern,
    read_words,
)

# Each does something else than `pytest` alone, or is read differently by different shells.
TRICKS = [
    "pytest; rm -rf ~", "pytest;rm -rf ~", "pytest && rm x", "pytest & rm x", "pytest || rm x", "pytest | sh",
    "pytest |& sh", "pytest\nrm -rf ~", "pytest\r\nrm x", "pytest \\\nrm", "pytest `rm x`", "pytest $(rm x)",
    'pytest "$(rm x)"', 'pytest "`rm x`"', "pytest $HOME", "pytest ${X}", 'pytest "$X"', "pytest $'\\x3b'",
    'pytest $"x"', "pytest > /etc/passwd", "pytest>out", "pytest 2>&1", "pytest < in", "pytest <(rm x)",
    "pytest >(sh)", "pytest << EOF\nEOF", "pytest <<< x", "(pytest)", "{ pytest; }", "pytest () { rm x; }",
    "pytest {a,b}", "pytest ~/x", "pytest *", "pytest tests/?.py", "pytest [ab]", "pytest # x", "pytest !x",
    "! pytest", "X=1 pytest", "LD_PRELOAD=./x.so pytest", "PATH=. pytest", "pytest\x00rm", "pytest\x0brm x",
    "pytest\x1b[2J", "pytest \x7f", "pytest \x85rm", "pytest 'x", 'pytest "x', "pytest \\", "", "   ", "\n",
    'pytest "\\$(rm x)"', 'pytest "a\\`rm\\`"', "pytest =ls", "pytest x" * 4000, "pytest \ud800",
]  # fmt: skip
# These are words of one simple command, whatever they look like.
OTHERS = [
    "pytestx", "./pytest", "/tmp/pytest", "py test", "time pytest", "env pytest", "sh -c pytest",
    "exec pytest", "command pytest", "'pytest '", "''pytest''x", "PYTEST", "python -m pytest",
]  # fmt: skip
PLAIN = {
    "pytest": ["pytest"],
    "  pytest \n": ["pytest"],
    "pytest -q tests/test_a.py::test_b": ["pytest", "-q", "tests/test_a.py::test_b"],
    "'pytest' -k 'a or b; rm $(x) `y` > z'": ["pytest", "-k", "a or b; rm $(x) `y` > z"],
    'pytest -k "a and not (b)"': ["pytest", "-k", "a and not (b)"],
    "py\\test a\\ b\\;": ["pytest", "a b;"],
    "pytest --x=1 HEAD^ ''": ["pytest", "--x=1", "HEAD^", ""],
    'pytest "a\\"b\\\\c\\d"': ["pytest", 'a"b\\c\\d'],
    "pytest\t-x": ["pytest", "-x"],
}


@pytest.mark.parametrize("command", TRICKS)
def test_F108_what_is_not_one_simple_command_matches_nothing(command: str) -> None:
    assert decide_by_patterns(command, ["pytest *", "pytest", "rm *", "sh *"], ["pytest *"]) is None


@pytest.mark.parametrize("command", OTHERS)
def test_another_program_is_not_allowed(command: str) -> None:
    assert decide_by_patterns(command, ["pytest *"], []) is None


@pytest.mark.parametrize(("command", "words"), PLAIN.items())
def test_the_words_are_those_of_the_shell(command: str, words: list[str]) -> None:
    assert read_words(command) == words == _by_shell([command])[0]
    assert decide_by_patterns(command, ["pytest *"], []) == (True, "pytest *")


@pytest.mark.parametrize(
    ("pattern", "command", "does"),
    [
        ("make test", "make test", True),
        ("make test", "make  'test'", True),
        ("make test", "make test install", False),
        ("make test", "make", False),
        ("npm run test:*", "npm run test:unit", True),
        ("npm run test:*", "npm run test:unit x", False),
        ("npm run test:*", "npm run build", False),
        ("go * ./...", "go vet ./...", True),
        ("go * ./...", "go run x ./...", False),
        ("pytest *", "pytest", True),
        ("a.b *", "axb c", False),
    ],
)
def test_a_star_is_any_letters_of_a_word_and_at_the_end_any_words(
    pattern: str, command: str, does: bool
) -> None:
    assert matches(pattern, read_words(command)) is does


def test_deny_wins_however_the_command_is_quoted() -> None:
    for command in ("git push origin", "git 'push'", 'git  p"us"h -f', "gi\\t push"):
        assert decide_by_patterns(command, ["git *"], ["git push *"]) == (False, "git push *")
    assert decide_by_patterns("git pull", ["git *"], ["git push *"]) == (True, "git *")


@pytest.mark.parametrize(
    "pattern", ["*", "* x", "py* x", "a; b", "a > b", "a $x", "X=1 a", "a 'b", "", "a\\ b"]
)
def test_a_pattern_that_cannot_be_meant_is_refused(pattern: str) -> None:
    with pytest.raises(UnsafeCommand):
        read_pattern(pattern)
    assert not matches(pattern, ["a"])


def test_the_pattern_of_always_matches_that_command_alone() -> None:
    command = "pytest -k 'a; b' \"it's\""
    pattern = exact_pattern(command)
    assert matches(pattern, read_words(command))
    assert not matches(pattern, [*read_words(command), "x"])
    for unfit in ("pytest '*'", "pytest 'a\\b'", "pytest; rm x"):
        with pytest.raises(UnsafeCommand):
            exact_pattern(unfit)


def test_compound_commands_are_known() -> None:
    for command in ("a; b", "a && b", "a | b", "a > b", "a `b`", "a $(b)", 'a "$(b)"', "a\nb", "(a)"):
        assert is_compound(command), command
    for command in ("a 'b; c'", 'a "b; (c)"', "a \\; b", "a b\n", "a *", "a $b"):
        assert not is_compound(command), command


# --- against real shells ---------------------------------------------------------------------------------

_LETTERS = "aab  -=.,/:@%+^_'\"\\ \t;&|<>()$`*?[]{}~#!\n\r\x0b\x00ü\u00a0"
_PIECES = [
    "'a b'",
    '"a b"',
    "\\ ",
    '\\"',
    "''",
    '"\\\\"',
    " x=1",
    " --a=b",
    " -k",
    "^",
    '"a\\b"',
    "'$(a)'",
    "\\;",
]
_COUNT = 20_000


def _by_shell(commands: list[str], shell: str = "bash") -> list[list[str]]:
    """The words that a shell passes on for each command. No accepted word has these two letters in it."""
    stripped = (command.strip(" \t\n") for command in commands)
    script = "\n".join(f"printf '%s\\0' {command}; printf '\\1'" for command in stripped)
    done = subprocess.run(
        [shell], input=script.encode(), capture_output=True, cwd="/", timeout=60, check=True
    )
    return [[word.decode() for word in part.split(b"\0")[:-1]] for part in done.stdout.split(b"\1")[:-1]]


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_whatever_is_accepted_has_the_words_that_a_shell_passes_on(shell: str) -> None:
    chance = random.Random(14)
    accepted = {}
    for _ in range(_COUNT):
        parts = [
            chance.choice(_LETTERS if chance.random() < 0.6 else _PIECES) for _ in range(chance.randint(1, 9))
        ]
        command = f"x {''.join(parts)}"
        try:
            accepted[command] = read_words(command)
        except UnsafeCommand:
            continue
    assert len(accepted) > _COUNT / 10
    assert _by_shell(list(accepted), shell) == list(accepted.values())


@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8), min_size=1, max_size=5))
def test_quoted_words_are_read_back(words: list[str]) -> None:
    command = shlex.join(["x", *words])
    try:
        assert read_words(command) == ["x", *words]
    except UnsafeCommand:
        assert any("!" in word or "=" in word for word in words) or len(command) > 16_000


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_text_makes_the_reader_fail(pattern: str, command: str) -> None:
    decide_by_patterns(command, [pattern], [pattern])
