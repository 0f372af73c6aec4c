"""Take a checkpoint before a turn of a client, as a program of its own.

`headcount client` lives as long as its member and should stay small. The modules that read a workspace would
add a third to its memory. So it runs `python -m headcount.app.turn_checkpoint` in the member's environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

_LIMIT_S = 15.0  # its own limit, and the start of the process


def run() -> None:
    """Take one in another process. A turn begins without a checkpoint that fails or takes too long."""
    command = [sys.executable, "-P", "-m", __name__]
    quiet = subprocess.DEVNULL
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, timeout=_LIMIT_S, check=False)


def main() -> None:
    from headcount.app.member_checkpoints import take_checkpoint
    from headcount.app.session import open_session

    session = open_session(os.environ["HEADCOUNT_HOME"], os.environ, "read_mail")
    try:
        take_checkpoint(session, session.caller.team or "", session.caller.who, "before a turn")
    finally:
        session.close()


if __name__ == "__main__":
    main()
