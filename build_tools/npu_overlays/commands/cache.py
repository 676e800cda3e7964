"""`cache`: the upstream sources that are kept → what each takes, and those that are given back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npu_overlays.commands.command import flag, json_option
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import checked_root
from npu_overlays.overlay.overlay_folders import load_all
from npu_overlays.overlay.project import Overlay
from npu_overlays.sources.cache import cache_root
from npu_overlays.sources.cache_contents import Holding, give_back, holdings, places
from npu_summary.plurals import plural

SUMMARY = "list the upstream sources that are kept, or remove them"
TIDY = False
DESCRIPTION = """\
List the upstream sources that are kept, their sizes, and the overlays that are
pinned to each. A source that is missing is fetched when it is needed, so all of
them can be removed at any time.

examples:
  npu-overlays cache
  npu-overlays cache --prune                remove what no overlay here needs
  npu-overlays cache --clear                remove everything
"""
_HEADINGS = ("size", "kind", "identity", "overlays")
_DIGITS = 12  # of an identity; JSON has all


@dataclass(frozen=True, kw_only=True)
class Options:
    """The folder of overlays, and what to remove."""

    root: Path
    prune: bool = flag("--prune", "remove the sources that no overlay is pinned to", alternative="optional")
    clear: bool = flag("--clear", "remove all sources", alternative="optional")
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    folder = cache_root()
    # Without a folder of overlays nothing is known to be needed: no reason to remove all of it.
    overlays = load_all(checked_root(options.root)) if options.prune or options.root.is_dir() else []
    held = holdings(folder)
    users = {one.path: _users(one, overlays, folder) for one in held}
    shown = [one for one in held if not users[one.path]] if options.prune else held
    if options.prune or options.clear:
        give_back(folder, shown)
    if options.json:
        console.json([_as_json(one, users[one.path]) for one in shown])
        return 0
    if shown:
        rows: list[tuple[str, str, str, str]] = []
        for one in shown:
            rows.append((_megabytes(one.size), one.kind, one.identity[:_DIGITS], ", ".join(users[one.path])))
        console.table(_HEADINGS, rows)
    said = "removed" if options.prune or options.clear else "kept"
    console.line(f"{folder}: {plural(len(shown), 'source')} {said}, {_megabytes(sum(one.size for one in shown))}")
    return 0


def _users(one: Holding, overlays: list[Overlay], folder: Path) -> list[str]:
    return [overlay.name for overlay in overlays if one.path in places(overlay.pin, folder)]


def _as_json(one: Holding, users: list[str]) -> dict[str, object]:
    return {"kind": one.kind, "identity": one.identity, "path": str(one.path), "size": one.size, "overlays": users}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
