"""Whether the user trusts the repository, in each client's own records.

A client loads hooks, servers and plugins from the folder that it starts in. Alone it asks the user first.
A member cannot ask, so headcount uses the decision that the user made before. The operator's command reads it
for the repository's root, and stores it with each start. So an engine on another host, or a member that
changes the client's files later, decides nothing.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from headcount.agents.registry import CLIENTS
from headcount.app.home import find_repository_above
from headcount.errors import NotAllowed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.app.app import App

TRUSTED = "trusted"  # of a team's settings: the clients that trust the repository's root


def trusted_root(app: App) -> str:
    """The folder that the decision is about: the main worktree, or else the folder that holds the state."""
    return find_repository_above(app.root) or os.path.realpath(app.root)


def read_trust(app: App, environ: Mapping[str, str]) -> list[str]:
    """The clients that the user has told to trust this repository."""
    root = trusted_root(app)
    return [name for name, client in CLIENTS.items() if client.trusts(root, environ)]


def check_trust(app: App, trusted: Iterable[str], agents: Iterable[str]) -> None:
    """Refuse a client that would have asked the user. A command of the user's own needs no trust."""
    refused = next((name for name in agents if name in CLIENTS and name not in trusted), None)
    if refused is None:
        return
    client, root = CLIENTS[refused], trusted_root(app)
    raise NotAllowed(
        f"{client.title} does not trust {root}",
        "it would run hooks and servers of the repository, and a member cannot ask you",
        (client.trust_hint.format(root=shlex.quote(root)), "Then start it again"),
        code="untrusted-repository",
    )
