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
    sections = _sections(Path("CHANGELOG.md").read_text("utf-8"), wanted)
    wrong = [
        f"{file}: version is {found[1] if found else 'missing'}, the tag is {tag}\n    fix: write {wanted} there"
        for file, found in versions.items()
        if not found or found[1] != wanted
    ]
    written = (
        f"move their lines by hand into the section {wanted}" if sections else f"towncrier build --version {wanted}"
    )
    if not any(text for _, text in sections):
        wrong.append(f"CHANGELOG.md: has no section `## {wanted}`, or nothing in it\n    fix: {written}")
    if len(sections) > 1:
        wrong.append(f"CHANGELOG.md: has {len(sections)} sections of {wanted}\n    fix: join them in one")
    if any("not released" in heading for heading, _ in sections):
        wrong.append(f"CHANGELOG.md: the heading of {wanted} says `not released yet`\n    fix: write the date instead")
    fragments = sorted(Path("changelog.d").glob("*.md"))
    if fragments:
        first = f"{fragments[0]}: this fragment and {len(fragments) - 1} more are not in CHANGELOG.md yet"
        wrong.append(f"{first}\n    fix: {written}")
    for one in wrong:
        print(f"error: {one}", file=sys.stderr)
    if not wrong:
        print(sections[0][1])
    return 1 if wrong else 0


def _sections(text: str, version: str) -> list[tuple[str, str]]:
    """Return the sections of a version, each with what its heading says behind the version and its text."""
    found = re.findall(rf"(?ms)^## \[?{re.escape(version)}\]?( .*?)?$\n(.*?)(?=^## |\Z)", text)
    return [(heading, body.strip()) for heading, body in found]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
