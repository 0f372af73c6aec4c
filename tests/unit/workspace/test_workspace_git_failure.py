"""What a user reads when git fails."""

from __future__ import annotations

import pytest

from headcount.workspace.git import Answer, failure

READ_ONLY = "error: unable to create temporary file: Read-only file system"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "exit status 128"),
        ("fatal: not a git repository\n", "fatal: not a git repository"),
        ("hint: do this\nfatal: no\n", "fatal: no"),
        (f"{READ_ONLY}\n", READ_ONLY),
        (f"{READ_ONLY}\nfatal: Unable to add (null)\n", f"{READ_ONLY}; fatal: Unable to add (null)"),
    ],
)
def test_the_cause_is_told_and_not_only_what_followed_from_it(said: str, why: str) -> None:
    assert failure(["hash-object"], Answer(128, b"", said.encode())).why == why
