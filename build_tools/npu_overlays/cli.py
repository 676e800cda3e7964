"""The command: arguments → an exit code; what takes time to import is imported where it can be interrupted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress

from npu_overlays.interrupts import Interrupted, interruptible, undisguised


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code, documented in ``--help``."""
    try:
        with interruptible(), undisguised():  # an import may turn an interrupt into a RuntimeError
            from npu_overlays.commands.invocation import run  # noqa: PLC0415  # a third of a second: see above

            return run(arguments)
    except Interrupted as error:
        with suppress(OSError, AttributeError):  # nobody listens
            sys.stderr.write(f"interrupted{': ' if error.state else ''}{error.state}\n")
        return error.exit_code
