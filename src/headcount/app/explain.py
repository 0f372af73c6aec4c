"""Explain an error code: what it means, its usual cause, and what to do."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import NamedTuple

from headcount.compiler.diagnostics import CODES
from headcount.errors import UsageError

_DEFINITION = 3


class Page(NamedTuple):
    code: str
    exit: int
    what: str
    why: str = ""
    do: str = ""


@cache
def read_pages() -> dict[str, Page]:
    """Return every code in alphabetical order. The compiler keeps the texts of its own codes."""
    text = (resources.files("headcount.app") / "errors.toml").read_text("utf-8")
    pages = {code: Page(code, **fields) for code, fields in tomllib.loads(text).items()}
    for code, meaning in CODES.items():
        known = pages.get(code)
        # The compiler and other parts share a few codes.
        what = f"{known.what} In a definition: {meaning}" if known else meaning
        pages[code] = known._replace(what=what) if known else Page(code, _DEFINITION, what)
    return dict(sorted(pages.items()))


def explain(code: str) -> Page:
    from difflib import get_close_matches

    pages = read_pages()
    wanted = code.strip("[]")
    if wanted in pages:
        return pages[wanted]
    close = get_close_matches(wanted, list(pages), n=3)
    raise UsageError(
        f"Unknown error code {wanted!r}",
        "",
        (
            *([f"Did you mean {', '.join(close)}?"] if close else []),
            "List all codes with `headcount explain`",
        ),
        code="unknown-code",
    )


def write_reference() -> str:
    """Return the text of docs/reference/errors.md."""
    parts = [_INTRODUCTION]
    for page in read_pages().values():
        lines = [f"Exit code {page.exit}. {page.what}"]
        lines += [f"{said} {text}" for said, text in (("Because:", page.why), ("Do:", page.do)) if text]
        parts.append(f"## {page.code}\n\n" + "\n\n".join(lines) + "\n")
    return "\n".join(parts)


_INTRODUCTION = """\
# Error codes

An error names what happened, its cause, and what to do next. Its code is in square brackets. `--json` and
MCP have the same fields (`code`, `what`, `why`, `hints`). `headcount explain CODE` prints the entries below.

Exit codes: 0 success, 1 it ran and the result is negative, 2 usage, 3 the definition does not compile, 4 the
machine failed (store, git, tmux, process), 5 not allowed, 70 a bug in headcount.

`python -m headcount.app.explain` generates this page.
"""


if __name__ == "__main__":
    print(write_reference(), end="")
