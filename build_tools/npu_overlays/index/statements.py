"""Statements: those beside wheels that an index gets → what of them is to lie there, and what no longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from npu_overlays.index.distributions import Candidate
from npu_overlays.index.opened import Project, Update
from npu_overlays.index.pages import Page
from npu_overlays.index.standing import STATEMENT, is_outdated, untruths


def given(made: Update, found: Sequence[Candidate], pages: Mapping[str, Page]) -> list[tuple[Path, Project]]:
    """Return the statements of wheels, which are wanted beside them, and whose they are."""
    digests = {link.filename: link.hashes.get("sha256", "") for page in pages.values() for link in page.links}
    digests = {name: sha256 for name, sha256 in digests.items() if sha256}
    projects = {one.file: made.projects[one.project] for one in found}
    files = (file for folder in made.request.folders for file in sorted(folder.glob(f"*{STATEMENT}")))
    wheels = {file: file.with_name(f"{file.name.removesuffix(STATEMENT)}.whl") for file in files}
    beside = [(file, projects[wheel]) for file, wheel in wheels.items() if wheel in projects]
    made.problems += [problem for file, _ in beside for problem in untruths(file, digests)]
    return beside


def outdated(made: Update) -> list[Path]:
    """Return the statements that would be false, which none is given in place of."""
    new = [(project.place, link) for project in made.projects.values() for link in project.new]
    # A statement names the companion, too, which lies with another project.
    beside = (place / f"{link.filename.removesuffix('.whl')}{STATEMENT}" for place, link in new)
    found = made.out.glob(f"*/*{STATEMENT}") if made.request.replace else beside
    digests = {link.filename: link.hashes["sha256"] for _, link in new}
    staged = made.folder.glob(f"*/*{STATEMENT}")
    replaced = {made.out / file.relative_to(made.folder) for file in staged}
    return sorted(file for file in found if file not in replaced and is_outdated(file, digests))
