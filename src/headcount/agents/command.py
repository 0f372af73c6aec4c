"""Any program as an agent: how its command line is made, and how it is asked to exit.

`{prompt}`, `{prompt_file}` and `{model}` are filled in, once and in one pass: a prompt that contains
`{model}` stays as it is, and so do all other braces. A program, or an argument that starts with `./`
or `../`, is meant relative to the file that defines it, because the agent itself runs in its workspace.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from headcount.errors import UsageError

_PLACEHOLDER = re.compile(r"\{(prompt|prompt_file|model)\}")


@dataclass(frozen=True, slots=True)
class CommandAgent:
    command: tuple[str, ...]
    directory: str
    """Of the definition."""
    exit_text: str | None = None
    """Typed to make it exit. None: SIGTERM is its own way."""

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise UsageError(
                "A command needs a program",
                "command is empty",
                ('Write it as a list, such as ["./agent.sh", "{prompt_file}"]',),
                code="empty-command",
            )

    def argv(self, prompt: str, prompt_file: str, model: str = "") -> tuple[str, ...]:
        values = {"prompt": prompt, "prompt_file": prompt_file, "model": model}

        def fill(word: str) -> str:
            return _PLACEHOLDER.sub(lambda match: values[match[1]], word)

        program, *arguments = self.command
        if "/" in program:
            program = self._beside_definition(program)
        return (fill(program), *(fill(self._argument(word)) for word in arguments))

    def _argument(self, word: str) -> str:
        return self._beside_definition(word) if word.startswith(("./", "../")) else word

    def _beside_definition(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.directory, path))
