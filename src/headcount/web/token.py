"""The token of the page: new at each start, or kept in a file where an address has to stay valid."""

from __future__ import annotations

import os
import secrets

from headcount.errors import WorldError

_BYTES = 32
_SHORTEST = 32


def read_token(path: str | None) -> str:
    """Without a file a new one; with one what is in it, made for its owner alone if it is not there."""
    if path is None:
        return secrets.token_urlsafe(_BYTES)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "r+", encoding="utf-8", errors="replace") as file:
            os.fchmod(file.fileno(), 0o600)
            token = file.read().strip()
            if not token:
                token = secrets.token_urlsafe(_BYTES)
                file.write(f"{token}\n")
    except OSError as error:
        raise WorldError(
            f"Could not use {path}",
            error.strerror or str(error),
            ("Name another file",),
            code="bad-token-file",
        ) from None
    if len(token) < _SHORTEST or not token.isascii():
        raise WorldError(
            f"{path} holds no token", f"it must have at least {_SHORTEST} plain characters",
            ("Delete it, and start again: a new one is made",), code="bad-token-file",
        )  # fmt: skip
    return token
