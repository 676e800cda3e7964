"""Marks: versions that are not to be chosen any more, and those that are to be again → the pages that say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from packaging.version import Version

from npu_overlays.errors import Problem
from npu_overlays.index.pages import Page


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A wish of the user's.

    Args:
        project: normalized name.
        version: all of whose files are meant.
        reason: why it is not to be chosen, which installers show; None takes the mark away.
    """

    project: str
    version: Version
    reason: str | None

    @property
    def name(self) -> str:
        """What is meant, as it is asked for: ``app==1.0``."""
        return f"{self.project}=={self.version}"


def marked(pages: Mapping[str, Page], marks: tuple[Mark, ...], problems: list[Problem]) -> dict[str, Page]:
    """Return the pages with what the user wishes; versions there are none of are added to `problems`."""
    made = dict(pages)
    for mark in marks:
        page = made[mark.project]
        links = page.of_version(mark.version)
        if not links:
            problems.append(_unknown(mark, page))
        made[mark.project] = page.having(*(replace(link, yanked=mark.reason) for link in links))
    return made


def _unknown(mark: Mark, page: Page) -> Problem:
    there = ", ".join(page.versions)
    what = f"the index has no such version; it has {there}" if there else "the index has no such project"
    fix = "name one that it has, with its local version (+…)" if there else "correct the name"
    return Problem(where=mark.name, what=what, fix=fix)


def yanked_versions(page: Page) -> dict[Version, str]:
    """Return why versions are not to be chosen of which that is said of all files: a further file is none either."""
    reasons = {link.version: link.yanked for link in page.links if link.version and link.yanked is not None}
    chosen = {link.version for link in page.links if link.yanked is None}
    return {version: reason for version, reason in reasons.items() if version not in chosen}
