"""Sums: a folder of what is released → SHA256SUMS of it; or whether another folder holds the same bytes.

usage:
  python ci/sums.py write FOLDER            FOLDER/SHA256SUMS, as sha256sum reads it
  python ci/sums.py same FOLDER OTHER       do all wheels and source distributions of FOLDER/SHA256SUMS lie in OTHER?

exit codes: 0 written, or the same; 1 not the same; 2 wrong usage, or nothing to read.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

SUMS = "SHA256SUMS"
# Statements name the zlib of the Python that built, and constraints are made of these.
_COMPARED = (".whl", ".tar.gz")


def main(arguments: list[str]) -> int:
    """Do what the arguments say; returns the exit code."""
    match arguments:
        case ["write", folder] if Path(folder).is_dir():
            return _write(Path(folder))
        case ["same", folder, other] if Path(folder, SUMS).is_file():
            return _same(Path(folder, SUMS), Path(other))
    print(__doc__, file=sys.stderr)
    return 2


def _write(folder: Path) -> int:
    sums = {file.name: _sha256(file) for file in sorted(folder.iterdir()) if file.name != SUMS}
    if not sums:
        print(f"error: {folder}: holds nothing\n    fix: npu-overlays build --out {folder}", file=sys.stderr)
        return 2
    made = folder / f".{SUMS}"
    made.write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), "utf-8")
    made.replace(folder / SUMS)
    print(f"{folder / SUMS}: {len(sums)} files")
    return 0


def _same(sums: Path, other: Path) -> int:
    lines = (line.partition("  ") for line in sums.read_text("utf-8").splitlines())
    wanted = {name: digest for digest, _, name in lines if name.endswith(_COMPARED)}
    there = {file.name: _sha256(file) for file in sorted(other.glob("*")) if file.name.endswith(_COMPARED)}
    wrong = dict.fromkeys(wanted.keys() - there.keys(), "is not made here")
    wrong |= dict.fromkeys(there.keys() - wanted.keys(), "is made here only")
    wrong |= {name: "has other bytes here" for name in wanted.keys() & there.keys() if wanted[name] != there[name]}
    python = ".".join(map(str, sys.version_info[:3]))
    for name, what in sorted(wrong.items()):
        print(f"error: {name}: {what}, with Python {python}", file=sys.stderr)
    if wrong or not wanted:
        fix = f"npu-overlays reproduce {sums.parent}/{next(iter(sorted(wrong)), '*.whl')} names what differs"
        print(f"    fix: {fix}", file=sys.stderr)
        return 1
    print(f"{len(wanted)} wheels and source distributions, the same bytes with Python {python}")
    return 0


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
