"""Companions: what is put on an index or yanked there → why a wheel of ours could not be installed from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_overlays.index.distributions import Candidate
from npu_overlays.index.marks import Mark
from npu_overlays.index.pages import identity
from npu_summary.verify.companions import suffix_of


def lacking(found: Iterable[Candidate], versions: Callable[[str], Collection[Version]]) -> Iterator[str]:
    """Yield of each patched wheel that it lacks its companion.

    Args:
        found: the files that are given.
        versions: gives those of a project that the index is to hold, by its name.
    """
    for one in found:
        if not (one.name.endswith(".whl") and (named := identity(one.name))):
            continue
        name, version, _ = named
        suffix = f"-{suffix_of(str(version))}"
        companion = name.removesuffix(suffix)
        if suffix != "-" and companion != name and version not in versions(companion):
            yield f"{one.name}: requires {companion}=={version}, its companion, which is neither given nor on the index"


def yanked(marks: Iterable[Mark]) -> Iterator[str]:
    """Yield of each companion that is yanked what that does to the wheel that requires it."""
    for mark in marks:
        suffix = suffix_of(str(mark.version))
        if mark.reason is not None and suffix and not mark.project.endswith(f"-{suffix}"):
            patched = canonicalize_name(f"{mark.project}-{suffix}")
            yield (
                f"{mark.name}: is the companion of {patched}=={mark.version}, which uv refuses now; "
                f"--unyank it, and --yank {patched}=={mark.version}"
            )
