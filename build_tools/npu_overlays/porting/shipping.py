"""Shipping: an overlay on another state of upstream → the same without what is not there any more to be shipped."""

from __future__ import annotations

from dataclasses import replace

from npu_overlays.acquisition import absent
from npu_overlays.errors import Problem, SourceError
from npu_overlays.overlay.project import Overlay
from npu_overlays.tree import SourceTree


def without_absent(overlay: Overlay, tree: SourceTree) -> tuple[Overlay, tuple[str, ...]]:
    """Return an overlay that ships what a tree holds of its packages and licence files, and a note on the others.

    Args:
        overlay: the one that is ported, on its new pin.
        tree: upstream there.

    Raises:
        SourceError: nothing is left to be shipped.
    """
    missing = absent(overlay, tree)
    gone = {key: [path for name, path in missing if name == key] for key, _ in missing}
    packages = tuple(path for path in overlay.pin.packages if path not in gone.get("packages", ()))
    holder = tree.source.archive or f"commit {tree.source.commit[:9]}"
    if not packages:
        tops = sorted({path.partition("/")[0] for path in tree.entries if path.endswith(".py")})
        what = f"holds none of the shipped packages: {', '.join(overlay.pin.packages)}"
        fix = f"name another revision; of Python it has {', '.join(tops) or 'nothing'}"
        raise SourceError(Problem(where=holder, what=what, fix=fix))
    kept = replace(
        overlay,
        pin=replace(overlay.pin, packages=packages),
        license_files=tuple(path for path in overlay.license_files if path not in gone.get("license-files", ())),
    )
    notes = (
        f"{holder} holds no {', '.join(f'`{path}`' for path in paths)}, so {key} of the new pin leaves it out"
        for key, paths in gone.items()
    )
    return kept, tuple(notes)
