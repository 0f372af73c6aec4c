"""One process that plays the story with an engine of its own, until the end or until it is killed.

    python -m tests.crash.worker PLACE [before|after N]

Prints how many durable writes it made when it comes to the end.
"""

from __future__ import annotations

import os
import sys

from headcount.app.resident import driving

from .story import Player, environment
from .watch import DurableWrites, keep_account


def main(place: str, when: str = "after", kill_at: str = "0") -> None:
    os.environ.update(environment(place))
    writes = DurableWrites(int(kill_at), when)
    writes.install()
    keep_account()
    player = Player(place)
    with driving(player.app):
        player.play()
    print(writes.count)


if __name__ == "__main__":
    main(*sys.argv[1:])
