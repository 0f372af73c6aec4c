"""Match a shell command with the patterns of `[agents] allow` and `deny`.

A pattern is a list of words. It matches one simple command, by its words. A command that a shell could read
in any other way matches nothing: one with an operator, a substitution, an expansion, a redirection, a comment
or a second line. So the words are exactly what the shell would pass to the program.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

_LONGEST = 16_000
# Outside of quotes a shell gives each of these a meaning: operators and redirections, substitutions, patterns
# of file names, braces, home directories, comments, history.
_ACTIVE = frozenset(";&|<>()$`*?[]{}~#!")
_OPERATORS = frozenset(";&|<>()`")
_ACTIVE_IN_DOUBLE_QUOTES = frozenset("$`!")
_STAR = "\ue000"  # stands for * while the words of a pattern are read


class UnsafeCommand(ValueError):
    """The text is not one simple command with fixed words."""


def read_words(command: str) -> list[str]:
    """Return the words of one simple command. Raise `UnsafeCommand` if it could be anything else."""
    text = command.strip(" \t\n")
    if not text or len(text) > _LONGEST:
        raise UnsafeCommand("it is empty or too long")
    before = " "
    for letter, quote, escaped in _read_letters(text):
        if (letter < " " and letter != "\t") or "\x7f" <= letter <= "\x9f" or "\ud800" <= letter <= "\udfff":
            raise UnsafeCommand("it has more than one line, or a control character")
        if quote == '"' and letter in _ACTIVE_IN_DOUBLE_QUOTES:
            raise UnsafeCommand(f"{letter} is active in double quotes")
        if not quote and not escaped and (letter in _ACTIVE or (letter == "=" and before in " \t")):
            raise UnsafeCommand(f"{letter} is not in quotes")
        before = letter
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UnsafeCommand(str(error)) from None
    if not words or "=" in words[0]:
        raise UnsafeCommand("it begins with an assignment")
    return words


def _read_letters(text: str) -> Iterator[tuple[str, str, bool]]:
    """Return each letter, the quote that it stands in, and whether a backslash is before it."""
    quote, escaped = "", False
    for letter in text:
        yield letter, quote, escaped
        if escaped:
            escaped = False
        elif letter == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter


def is_compound(command: str) -> bool:
    """Return whether a shell would run more than one program: by an operator, a substitution, a new line."""
    return any(
        letter == "\n"
        or (letter in "`$" and quote == '"')
        or (letter in _OPERATORS and not quote and not escaped)
        for letter, quote, escaped in _read_letters(command.strip())
    )


def read_pattern(pattern: str) -> list[str]:
    """Return the words of a pattern. Raise `UnsafeCommand` for one that can match no command or every one."""
    if _STAR in pattern or "\\" in pattern:
        raise UnsafeCommand("a pattern has no backslash")
    words = [word.replace(_STAR, "*") for word in read_words(pattern.replace("*", _STAR))]
    if "*" in words[0]:
        raise UnsafeCommand("its first word must be a program")
    return words


def matches(pattern: str, words: list[str]) -> bool:
    """Return whether a pattern matches the words of a command.

    `*` stands for any letters of one word; as the last word, for any further words or none.
    """
    try:
        wanted = read_pattern(pattern)
    except UnsafeCommand:
        return False
    if wanted[-1] == "*":
        wanted, words = wanted[:-1], words[: len(wanted) - 1]
    return len(words) == len(wanted) and all(
        re.fullmatch(".*".join(map(re.escape, want.split("*"))), word, re.DOTALL)
        for want, word in zip(wanted, words, strict=True)
    )


def exact_pattern(command: str) -> str:
    """Return the pattern that matches this command and no other. Raise `UnsafeCommand` if there is none."""
    words = read_words(command)
    if any("*" in word or "\\" in word for word in words):
        raise UnsafeCommand("a pattern gives * another meaning")
    pattern = shlex.join(words)
    if read_pattern(pattern) != words:
        raise UnsafeCommand("no pattern has these words")
    return pattern


def decide_by_patterns(command: str, allow: Iterable[str], deny: Iterable[str]) -> tuple[bool, str] | None:
    """Return whether a command is allowed, and the pattern that decides. None: nothing decides it."""
    try:
        words = read_words(command)
    except UnsafeCommand:
        return None
    for allowed, patterns in ((False, deny), (True, allow)):
        for pattern in patterns:
            if matches(pattern, words):
                return allowed, pattern
    return None
