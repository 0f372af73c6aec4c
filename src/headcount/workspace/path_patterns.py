"""Match paths against gitignore patterns from the settings, without git.

The settings `salvage_private` and `salvage_skip` are lists of such patterns. git itself applies patterns to
untracked files of one repository only; these also apply inside nested repositories. The rules are those of
gitignore(5): the last pattern that matches decides, `!` takes a path out again, and nothing below a directory
that matches can be taken out again.
"""

from __future__ import annotations

import os
import re
from dataclasses import field
from typing import NamedTuple

from headcount.value_classes import dataclass

_CLASS = re.compile(rb"\[([!^]?)(\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_NAMED = {  # POSIX classes, as git knows them
    b"alnum": rb"0-9A-Za-z", b"alpha": rb"A-Za-z", b"blank": rb" \t", b"digit": rb"0-9", b"lower": rb"a-z",
    b"punct": rb"!-/:-@\[-`{-~", b"space": rb"\s", b"upper": rb"A-Z", b"xdigit": rb"0-9A-Fa-f",
}  # fmt: skip


class _Rule(NamedTuple):
    """One pattern. `expression` matches a whole path without its final slash."""

    expression: re.Pattern[bytes]
    negated: bool
    directories_only: bool


@dataclass(frozen=True, slots=True)
class PathPatterns:
    """A list of gitignore patterns, ready to match. Paths are relative to the workspace, in bytes."""

    patterns: tuple[str, ...] = ()
    _rules: tuple[_Rule, ...] = field(init=False, repr=False, compare=False)
    _possible: re.Pattern[bytes] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rules = tuple(rule for pattern in self.patterns if (rule := _parse(os.fsencode(pattern))))
        wanted = [rule.expression.pattern for rule in rules if not rule.negated]
        # Nearly every path matches nothing. One search over it and all directories above it finds that out.
        anywhere = b"|".join(b"(?:%s)(?:/|\\Z)" % expression for expression in wanted)
        object.__setattr__(self, "_rules", rules)
        object.__setattr__(self, "_possible", re.compile(anywhere, re.DOTALL) if wanted else None)

    def __bool__(self) -> bool:
        return self._possible is not None

    def match(self, path: bytes) -> bool:
        """Whether a file or link at `path` matches, itself or by a directory above it."""
        return self.find(path) is not None

    def find(self, path: bytes) -> bytes | None:
        """What matches: the outermost directory above `path` that does, or `path` itself."""
        if self._possible is None or self._possible.match(path) is None:
            return None
        end = path.find(b"/")
        while end >= 0:
            if self._decide(path[:end], is_directory=True):
                return path[:end]
            end = path.find(b"/", end + 1)
        return path if self._decide(path, is_directory=False) else None

    def _decide(self, path: bytes, *, is_directory: bool) -> bool:
        for rule in reversed(self._rules):
            if (is_directory or not rule.directories_only) and rule.expression.fullmatch(path):
                return not rule.negated
        return False


NOTHING = PathPatterns()


def _parse(pattern: bytes) -> _Rule | None:
    """A rule, or None for a comment or a blank line."""
    text = re.sub(rb"(?<!\\) +\Z", b"", pattern)
    if not text or text.startswith(b"#"):
        return None
    negated = text.startswith(b"!")
    text = text[1:] if negated else text
    directories_only = text.endswith(b"/")
    text = text.rstrip(b"/") if directories_only else text
    # A slash at the beginning or in the middle ties the pattern to the top; else it matches at every depth.
    tied = b"/" in text
    text = text.removeprefix(b"/")
    if not text:
        return None
    expression = (b"" if tied else b"(?:.*/)?") + _translate(text)
    return _Rule(re.compile(expression, re.DOTALL), negated, directories_only)


def _translate(text: bytes) -> bytes:
    parts, at = [], 0
    while at < len(text):
        if text.startswith(b"**/", at) and (at == 0 or text[at - 1 : at] == b"/"):
            parts.append(b"(?:.*/)?")
            at += 3
        elif text[at:] == b"**" and text[at - 1 : at] == b"/":
            parts.append(b".+")
            at += 2
        elif text[at : at + 1] == b"*":
            while text[at : at + 1] == b"*":
                at += 1
            parts.append(b"[^/]*")
        elif text[at : at + 1] == b"?":
            parts.append(b"[^/]")
            at += 1
        elif found := _CLASS.match(text, at):
            parts.append(b"(?!/)[%s%s]" % (b"^" if found[1] else b"", _members(found[2])))
            at = found.end()
        else:
            at += text[at : at + 1] == b"\\" and at + 1 < len(text)
            parts.append(re.escape(text[at : at + 1]))
            at += 1
    return b"".join(parts)


def _members(inside: bytes) -> bytes:
    """What stands in brackets, as a regular expression writes it."""
    words = re.findall(rb"\[:(\w+):\]|\\(.)|(-)|(.)", inside, re.DOTALL)
    return b"".join(
        _NAMED.get(name, b"") or (re.escape(escaped) if escaped else dash or re.escape(plain))
        for name, escaped, dash, plain in words
    )
