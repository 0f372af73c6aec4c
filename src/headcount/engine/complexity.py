"""How long the files and functions are that a phase added, by a library that knows languages."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Measured(NamedTuple):
    problems: tuple[str, ...]
    total: int
    longest: int


def measure(place: str, added: Mapping[str, int], gates: Mapping[str, Any]) -> Measured:
    """`added` is the number of lines that the phase added to each file. A limit of 0 means none."""
    problems: list[str] = []
    longest = 0
    for path in sorted(added):
        text = _read(f"{place}/{path}")
        if text is None:
            continue
        lines = text.count("\n") + (not text.endswith("\n") and text != "")
        if gates["max_file_lines"] and lines > gates["max_file_lines"]:
            problems.append(f"{path} has {lines} lines, the limit is {gates['max_file_lines']}")
        try:
            found = functions(path, text)
        except RecursionError:  # what could not be measured has not passed (E3)
            problems.append(f"{path} could not be measured: it is nested too deeply")
            continue
        for name, first, length in found:
            longest = max(longest, length)
            if gates["max_function_lines"] and length > gates["max_function_lines"]:
                limit = gates["max_function_lines"]
                problems.append(f"{path}:{first} {name} has {length} lines, the limit is {limit}")
    total = sum(added.values())
    if gates["max_total_lines"] and total > gates["max_total_lines"]:
        problems.append(f"{total} lines were added, the limit is {gates['max_total_lines']}")
    return Measured(tuple(problems), total, longest)


def functions(path: str, text: str) -> list[tuple[str, int, int]]:
    """Name, first line and length of each function; none in a language that nobody knows."""
    import lizard

    language = lizard.get_reader_for(path)
    if language is None:
        return []
    # As its `analyze_source_code` does it, which says on standard error what it could not read, and goes on.
    context = lizard.FileInfoBuilder(path)
    reader = language(context)
    tokens = reader.generate_tokens(text)
    for processor in lizard.analyze_file.processors:
        tokens = processor(tokens, reader)
    for _ in reader(tokens, reader):
        pass
    found = context.fileinfo.function_list
    return [(f.name, f.start_line, f.end_line - f.start_line + 1) for f in found]


def _read(path: str) -> str | None:
    """None for what is not text, or is not there any more."""
    if os.path.islink(path) or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        data = file.read()
    if b"\0" in data:
        return None
    return data.decode(errors="replace")
