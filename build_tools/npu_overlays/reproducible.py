"""Reproducible output: equal inputs give equal bytes, and a file appears whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from npu_overlays.errors import OutputError, Problem


def canonical_json(value: Any) -> bytes:  # whatever JSON holds
    """Return JSON whose bytes depend only on the value: sorted keys, UTF-8, one final line end."""
    return (json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file under a temporary name and rename it; raises `OutputError` and leaves the old one on failure."""
    temporary = ""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(temporary).chmod(0o644)
        os.replace(temporary, file)  # noqa: PTH105  # replace is the atomic step this function exists for
    except OSError as error:
        Path(temporary).unlink(missing_ok=True) if temporary else None
        raise cannot_write(file, error) from error


def cannot_write(file: Path, error: OSError) -> OutputError:
    """Return the error for a file that cannot be written."""
    fix = "free some space or name another folder with --out"
    return OutputError(Problem(where=str(file), what=f"cannot be written: {error.strerror or error}", fix=fix))
