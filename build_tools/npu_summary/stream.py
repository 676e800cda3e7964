"""Stream: any text or bytes → standard output of any encoding, even if its reader leaves early."""

from __future__ import annotations

import errno
import os
import sys


def emit(content: str | bytes) -> str:
    """Print to standard output and flush it; returns why it could not be printed, nothing when all is well.

    Text keeps to the output's own encoding, with escapes for what that lacks; bytes pass as they are. A reader that
    left (``| head -1``) is no error.
    """
    if sys.stdout is None:  # closed by the caller: `>&-`
        return ""
    try:
        _write(content)
        sys.stdout.flush()
    except OSError as error:
        try:  # noqa: SIM105  # contextlib is one more import at every start
            # Python's own flush at exit stays silent.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (OSError, ValueError):  # not a real file: nothing will be flushed at exit
            pass
        return "" if error.errno in {errno.EPIPE, errno.EINVAL} else f"standard output: {error.strerror}"
    return ""


def warn(message: str, *, package: str) -> None:
    """Print one message to standard error, if there is one."""
    if sys.stderr is not None:
        sys.stderr.write(f"{package}: {message}\n")


def printable(text: str) -> str:
    """Return a text with control and other unprintable characters escaped, so that it stays on one line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _write(content: str | bytes) -> None:
    out = sys.stdout
    if isinstance(content, bytes):
        if hasattr(out, "buffer"):
            out.flush()
            out.buffer.write(content)
            return
        content = content.decode("utf-8", "replace")
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="backslashreplace")
    out.write(content)
