"""Licences: an overlay and its source tree → the licence files of its wheel."""

from __future__ import annotations

from email.parser import HeaderParser
from pathlib import Path

from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.inputs import LICENCE_FILES
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.overlay.tables import place_in
from npu_overlays.sources.tree import SourceTree, is_licence


def licence_files(overlay: Overlay, tree: SourceTree) -> dict[str, bytes]:
    """Return the licence files of a wheel by name: its layers' own, and upstream's that these do not repeat.

    Raises:
        MergeError: one of the overlay's own takes the place of a file of upstream's without holding its text.
    """
    own: dict[str, Path] = {}
    for layer in overlay.chain:
        for name in LICENCE_FILES:
            if (layer.folder / name).is_file():
                own[name] = layer.folder / name
    files = {name: file.read_bytes() for name, file in own.items()}
    ours = _words(b"\n".join(files.values()))
    problems = []
    for path in overlay.license_files or _usual(tree):
        content = tree.licence(path)
        if content is None or _words(content) in ours:
            continue
        if path in own:
            what = f"{own[path]} and what lies beside it do not hold upstream's {path}"
            where = place_in(overlay.folder / CONFIG_FILE, "tool.overlay.license-files")
            fix = f"delete {path}, then upstream's is taken; or copy upstream's {path} into it"
            problems.append(Problem(where=where, what=what, fix=fix))
        files[path] = content
    MergeError.raise_for(problems)
    return dict(sorted(files.items()))


def _usual(tree: SourceTree) -> list[str]:
    listed = map(str, HeaderParser().parsestr(tree.metadata).get_all("License-File", []))
    held = (path for path in listed if tree.licence(path) is not None)
    return [*dict.fromkeys([*filter(is_licence, tree.entries), *tree.licences, *held])]


def _words(text: bytes) -> bytes:
    return b" ".join(text.split())
