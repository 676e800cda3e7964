"""What any check of installed files has to pay: folders on the command line, every file of theirs read and hashed."""

from __future__ import annotations

import hashlib
import os
import sys


def main(folders: list[str]) -> None:
    """Hash every file below the folders."""
    for folder in folders:
        for here, _, names in os.walk(folder):
            for name in names:
                # Strings, as the checks themselves use: pathlib alone would double the time.
                with open(os.path.join(here, name), "rb") as file:  # noqa: PTH118, PTH123
                    hashlib.sha256(file.read()).digest()


if __name__ == "__main__":
    main(sys.argv[1:])
