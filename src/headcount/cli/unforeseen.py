"""What no command has foreseen, as an error like any other: the machine refused, or it is a bug of ours."""

from __future__ import annotations

import errno
import traceback

from headcount import __version__
from headcount.errors import Bug, HeadcountError, WorldError

_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)


def explain(error: Exception) -> HeadcountError:
    """A bug with its trace, which is what somebody who mends it needs."""
    if isinstance(error, OSError) and error.errno in _REFUSED:
        return _refused(error)
    traceback.print_exception(error)
    return Bug(f"headcount {__version__} has a bug", f"{type(error).__name__}: {error}", code="bug")


def _refused(error: OSError) -> WorldError:
    """Wherever it happened: no right, no room and no descriptors are the machine's, not ours."""
    what = f"Could not use {error.filename}" if error.filename else "The system refused"
    return WorldError(what, error.strerror or str(error), code="world")
