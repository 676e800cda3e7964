"""Notes: a tag → what CHANGELOG.md says of that version, for the release; refused where the two do not fit.

usage:
  python ci/notes.py v0.2.0 > notes.md

exit codes: 0 printed; 1 the tag, a version in a pyproject.toml, CHANGELOG.md and changelog.d do not go together;
2 wrong usage.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_VERSION = re.compile(r'(?m)^version = "(.+)"$')
# They are released together, under one version: what npu-doctor's is, the index has once.
_PROJECTS = ("pyproject.toml", "build_tools/pyproject.toml", "recipes/pyproject.toml")


def main(arguments: list[str]) -> int:
    """Print the section, or what is wrong; returns the exit code."""
    if len(arguments) != 1 or not arguments[0].startswith("v"):
        print(__doc__, file=sys.stderr)
        return 2
    tag = arguments[0]
    wanted = tag.removeprefix("v")
    versions = {file: _VERSION.search(Path(file).read_text("utf-8")) for file in _PROJECTS}
    section = _section(Path("CHANGELOG.md").read_text("utf-8"), wanted)
    wrong = [
        f"{file}: version is {found[1] if found else 'missing'}, the tag is {tag}\n    fix: write {wanted} there"
        for file, found in versions.items()
        if not found or found[1] != wanted
    ]
    if not section:
        wrong.append(f"CHANGELOG.md: has no section `## {wanted}`\n    fix: towncrier build --version {wanted}")
    fragments = sorted(Path("changelog.d").glob("*.md"))
    if fragments:
        first = f"{fragments[0]}: this fragment and {len(fragments) - 1} more are not in CHANGELOG.md yet"
        wrong.append(f"{first}\n    fix: towncrier build --version {wanted}, or move their lines by hand")
    for one in wrong:
        print(f"error: {one}", file=sys.stderr)
    if not wrong:
        print(section)
    return 1 if wrong else 0


def _section(text: str, version: str) -> str:
    """Return what stands below the heading of a version; empty where there is nothing."""
    found = re.search(rf"(?ms)^## \[?{re.escape(version)}\]?(?: .*?)?$\n(.*?)(?=^## |\Z)", text)
    return found[1].strip() if found else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
