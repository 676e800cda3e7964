"""`sdist`: overlays → source distributions of the patched files, from which hatchling alone makes the wheels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.commands.command import REPLACE, Selection, flag, json_option, path_option
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import select
from npu_overlays.interrupts import undisguised

if TYPE_CHECKING:
    from npu_overlays.wheels.fork import Fork

SUMMARY = "write source distributions that need only hatchling"
DESCRIPTION = """\
Write source distributions for users who build everything themselves: for each
overlay the patched files with their summary, and the companion. Building from
them needs hatchling, but neither git, nor upstream, nor npu-overlays, nor an
index; with the same version of hatchling, the wheels are those of `npu-overlays
build`, byte for byte. Each is built once before it is written.

examples:
  npu-overlays sdist                          the default stack, into sdists/
  npu-overlays sdist verl@d62da49 --out dist
  pip wheel --no-index --no-deps --no-build-isolation sdists/verl_npu-*.tar.gz
"""


@dataclass(frozen=True, kw_only=True)
class Options(Selection):
    """The overlays, and where their sources go."""

    out: Path = path_option("--out", "DIR", "where they go (default: sdists)", default="sdists")
    replace: bool = flag("--replace", REPLACE)
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    from npu_overlays.wheels.fork import fork_all  # noqa: PLC0415  # hatchling takes a fifth of a second

    with undisguised(f"nothing was written to {options.out}"):
        made = fork_all(select(options), options.choice, options.out, anyway=options.replace)
    if options.json:
        console.json(list(map(_as_json, made)))
        return 0
    for one in made:
        console.line(f"{one.sdist}", style="green")
        console.line(f"  {one.overlay}: companion {one.companion.name}")
    return 0


def _as_json(one: Fork) -> dict[str, str]:
    return {"overlay": one.overlay, "sdist": str(one.sdist), "companion": str(one.companion), "sha256": one.sha256}
