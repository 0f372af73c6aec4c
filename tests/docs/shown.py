"""Comparing what a page shows with what was printed.

What differs from run to run (times, object ids, numbers of messages, the directory) is made equal on both
sides. On a page, `…` stands for the rest of a line or a part of it, and a line of `…` alone for any lines.
"""

from __future__ import annotations

import re

_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,40}\b"), "<object>"),
    (re.compile(r"\b\d+\.\d s\b"), "<seconds>"),
    (re.compile(r"\bm\d+\b"), "<mail>"),  # members write to each other meanwhile
    (re.compile(r"[ ]+$", re.M), ""),
)


def normal(text: str, home: str) -> str:
    text = text.replace(home, "/home/you")
    for pattern, instead in _VARIES:
        text = pattern.sub(instead, text)
    return text.rstrip("\n")


def fits(page: str, printed: str, home: str) -> bool:
    lines = normal(page, home).split("\n")
    pattern = "\n".join(".*" if line == "…" else _line(line) for line in lines)
    return re.fullmatch(pattern, normal(printed, home), re.S) is not None


def _line(line: str) -> str:
    return "[^\n]*".join(re.escape(part) for part in line.split("…"))
