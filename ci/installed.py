"""Installed: a folder of what is released → each stack of it installed on this Python, and asked whether it is whole.

usage:
  python ci/installed.py FOLDER

Installs, for each stack whose upstreams support the Python that runs this, its wheels and companions from FOLDER into
a new environment, without dependencies and without an index; then runs --verify and prints the summary's first line.
exit codes: 0 all are whole; 1 one is not, or cannot be installed; 2 wrong usage, or FOLDER holds none for this Python.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from try_wheels import install

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
_STATEMENTS = "*.intoto.json"


def main(arguments: list[str]) -> int:
    """Install and ask; returns the exit code."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    built = _built(Path(arguments[0]).absolute())
    groups = _groups(_supported() & built.keys())
    if not groups:
        print(f"error: {arguments[0]}: no wheels of any stack for Python {PYTHON}", file=sys.stderr)
        return 2
    failed = [name for name, overlays in groups.items() if not _is_whole(name, [built[one] for one in overlays])]
    for name in failed:
        print(f"error: {name}: not as built, with Python {PYTHON}; see above", file=sys.stderr)
    return 1 if failed else 0


def _built(folder: Path) -> dict[str, list[Path]]:
    """Return the wheel and the companion of each overlay, as their statements name them."""
    found = {}
    for file in sorted(folder.glob(_STATEMENTS)):
        said = json.loads(file.read_text("utf-8"))
        overlay = said["predicate"]["buildDefinition"]["externalParameters"]["overlay"]
        found[str(overlay)] = [folder / subject["name"] for subject in said["subject"]]
    return found


def _supported() -> set[str]:
    """Return the overlays whose upstream supports this Python."""
    return {str(cell["overlay"]) for cell in _asked("matrix")["include"] if cell["python"] == PYTHON}


def _groups(overlays: set[str]) -> dict[str, list[str]]:
    """Return what is installed together: the overlays of each stack, once, and those that no stack names alone."""
    stacked: dict[str, set[str]] = {}
    for one in _asked("list", "--json")["overlays"]:
        for stack in one["stacks"] or [one["name"]]:
            stacked.setdefault(stack, set()).add(one["name"])
    named: dict[frozenset[str], str] = {}
    for name, members in stacked.items():
        if members <= overlays:
            named.setdefault(frozenset(members), name)
    return {name: sorted(members) for members, name in named.items()}


def _asked(*command: str) -> Any:
    """Return what npu-overlays says, as JSON."""
    done = subprocess.run([sys.executable, "-m", "npu_overlays", *command], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def _is_whole(name: str, files: list[list[Path]]) -> bool:
    """Install wheels with their companions, and return whether they are found to be what was built."""
    print(f"== {name}, with Python {PYTHON}", flush=True)
    with tempfile.TemporaryDirectory(prefix="npu-overlays-") as folder:
        environment = Path(folder) / "environment"
        try:
            install(environment, [file for pair in files for file in reversed(pair)], [])
        except subprocess.CalledProcessError:
            return False
        package = f"{files[-1][0].name.partition('-')[0]}_summary"
        asked = [str(environment / "bin" / "python"), "-I", "-m", package]
        return subprocess.run([*asked, "--verify"], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
