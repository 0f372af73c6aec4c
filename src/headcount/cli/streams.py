"""Standard output and error as they are: in another encoding, closed, full, or with nobody at the other
end.

On the path of every member command: imports next to nothing.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys

from headcount import __version__
from headcount.domain.display import printed
from headcount.errors import Bug, HeadcountError, WorldError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_ESCAPED = "headcount-escaped"
_READER_GONE = 141  # as if ended by SIGPIPE, as others in a pipe are (`| head`): nobody took the answer
_WRITING = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Escape characters that cannot be encoded, as JSON does."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{text[i : i + 4]}" for i in range(0, len(text), 4)), error.end


class Harmless(io.TextIOWrapper):
    """A standard stream whose text cannot control a terminal."""

    def write(self, text: str) -> int:
        super().write(printed(text))
        return len(text)

    def write_orders(self, text: str) -> None:
        """Write control sequences of our own. Text of others in it was cleaned before."""
        super().write(text)


def write_orders(stream: TextIO, text: str) -> None:
    if isinstance(stream, Harmless):
        stream.write_orders(text)
    else:
        stream.write(text)


def write_whole(text: str) -> None:
    """Write a document to standard output: exactly to a file, without control sequences to a terminal."""
    if sys.stdout.isatty():
        sys.stdout.write(text)
    else:
        sys.stdout.buffer.write(text.encode(errors="replace"))


def prepare() -> None:
    """Prepare the standard streams, so that no locale causes a traceback."""
    codecs.register_error(_ESCAPED, _escape)
    sys.stdout, sys.stderr = _wrap(sys.stdout), _wrap(sys.stderr)


def _wrap(stream: TextIO) -> TextIO:
    """Wrap a standard stream, unless it is closed or was replaced by a caller."""
    if type(stream) is io.TextIOWrapper and stream in (sys.__stdout__, sys.__stderr__):
        through, by_line, encoding = stream.write_through, stream.line_buffering, stream.encoding
        stream.flush()
        return Harmless(stream.detach(), encoding, _ESCAPED, line_buffering=by_line, write_through=through)
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors=_ESCAPED)
    return stream


def complain(text: str) -> None:
    """Print on standard error, if it is open."""
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")


def is_output(error: BaseException) -> bool:
    """Return whether the error is about standard output, not about a named file."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _WRITING


def not_taken(error: OSError) -> int:
    """Report that the answer could not be written. Drop the buffer, which Python would write again at
    exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno == errno.EPIPE:
        return _READER_GONE
    failed = WorldError("Could not write the answer", os.strerror(error.errno or 0), code="unwritable")
    complain(failed.render())
    return failed.exit_code


# Errors that no command foresees. These are the machine's: no right, no room, no descriptors.
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)


def explain(error: Exception) -> HeadcountError:
    """Turn an unforeseen exception into an error of ours. A bug is printed with its trace."""
    if isinstance(error, OSError) and error.errno in _REFUSED:
        what = f"Could not use {error.filename}" if error.filename else "The system refused"
        return WorldError(what, error.strerror or str(error), code="world")
    import traceback

    traceback.print_exception(error)
    return Bug(f"headcount {__version__} has a bug", f"{type(error).__name__}: {error}", code="bug")
