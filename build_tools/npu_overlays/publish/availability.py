"""Availability: what installers may choose of an index: yanked versions, and wheels that lack their companion."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_overlays.errors import Problem
from npu_overlays.publish.distributions import DistributionFile
from npu_overlays.publish.simple_pages import ProjectPage
from npu_summary.verify.companions import suffix_of


@dataclass(frozen=True, kw_only=True)
class Yank:
    """A request to yank a version, or to take that back."""

    project: str  # normalized name
    version: Version  # all of whose files are meant
    reason: str | None  # why it should not be chosen, which installers show; None takes a yank back

    @property
    def name(self) -> str:
        """The version as a requirement: ``app==1.0``."""
        return f"{self.project}=={self.version}"


def with_yanks(
    pages: Mapping[str, ProjectPage], yanks: Iterable[Yank], problems: list[Problem]
) -> dict[str, ProjectPage]:
    """Return pages with versions yanked as requested; versions that are on none are added to `problems`."""
    changed = dict(pages)
    for yank in yanks:
        page = changed[yank.project]
        if yank.version not in page.versions:
            there = ", ".join(map(str, page.versions))
            what = f"the index has no such version; it has {there}" if there else "the index has no such project"
            fix = "name one that it has, with its local version (+…)" if there else "correct the name"
            problems.append(Problem(where=yank.name, what=what, fix=fix))
        links = [replace(link, yanked=yank.reason) for link in page.links if link.version == yank.version]
        changed[yank.project] = page.with_links(*links)
    return changed


def yanked_versions(page: ProjectPage) -> dict[Version, str]:
    """Return the versions all of whose files are yanked, with the reason: a further file of one is yanked as well."""
    reasons: dict[Version, str] = {}
    available = set()
    for link in page.links:
        if link.yanked is None:
            available.add(link.version)
        elif link.version:
            reasons[link.version] = link.yanked
    return {version: reason for version, reason in reasons.items() if version not in available}


def wheels_without_companion(
    given: Iterable[DistributionFile], versions: Callable[[str], Collection[Version]]
) -> Iterator[str]:
    """Yield a warning for each given wheel whose companion is not on the index.

    `versions` gives those of a project that the index is to hold.
    """
    for one in given:
        suffix = f"-{suffix_of(str(one.version))}"
        companion = one.project.removesuffix(suffix)
        is_patched = one.name.endswith(".whl") and suffix != "-" and companion != one.project
        if is_patched and one.version not in versions(companion):
            required = f"{companion}=={one.version}"
            yield f"{one.name}: requires {required}, its companion, which is neither given nor on the index"


def yanked_companions(yanks: Iterable[Yank]) -> Iterator[str]:
    """Yield a warning for each companion that is yanked: the wheel that requires it cannot be installed then."""
    for yank in yanks:
        suffix = suffix_of(str(yank.version))
        if yank.reason is not None and suffix and not yank.project.endswith(f"-{suffix}"):
            patched = canonicalize_name(f"{yank.project}-{suffix}")
            yield (
                f"{yank.name}: is the companion of {patched}=={yank.version}, which uv refuses now; "
                f"--unyank it, and --yank {patched}=={yank.version}"
            )
