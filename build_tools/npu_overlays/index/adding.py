"""Adding: a wheel or sdist → the page of its project with it, or what keeps it away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from npu_overlays.errors import OutputError, Problem
from npu_overlays.index.distributions import Candidate, digest, read
from npu_overlays.index.opened import Project, Update, noting
from npu_overlays.index.pages import Link
from npu_overlays.index.placing import copy, unchanged
from npu_overlays.index.standing import METADATA, has_metadata, is_given_out
from npu_overlays.progress import step


def add(made: Update, one: Candidate) -> None:
    """Put a file on the page of its project, unless it is there as it is."""
    project = made.projects[one.project]
    listed, place = project.listed.get(one.name), project.place / one.name
    if listed and listed.beside and unchanged(one.file, place, project.at) and has_metadata(listed, place):
        return
    step(f"reading {one.name}")
    staged = made.folder / one.project / one.name
    with noting(made.problems):
        sha256 = copy(one.file, staged)
        found = read(staged, one, sha256)
        same = is_given_out(staged, listed, place)
        if not same and not made.request.replace:
            raise OutputError(_other_bytes(one, made.out))
        if same and listed and not listed.beside:
            staged.unlink()  # it is given out from elsewhere, and stays so
            return
        link = _marked_as_before(found.link, listed, project, same=same)
        project.new.append(link)
        if found.metadata:
            staged.with_name(one.name + METADATA).write_bytes(found.metadata)
        # It is written again with its new time, so that it need not be read the next time.
        if not (link == listed and _lies_there(place, sha256) and has_metadata(link, place)):
            made.added.append(one.name)


def _lies_there(place: Path, sha256: str) -> bool:
    return place.is_file() and digest(place) == sha256


def _marked_as_before(link: Link, listed: Link | None, project: Project, *, same: bool) -> Link:
    """Return what is said of a file, with what others said of these bytes or, where it is new, of its version."""
    if listed is None:
        return replace(link, yanked=project.yanked.get(link.version) if link.version else None)
    marked = replace(link, yanked=listed.yanked)
    return replace(marked, more=listed.more, attributes=listed.attributes) if same else marked


def _other_bytes(one: Candidate, out: Path) -> Problem:
    what = f"{out} has another file under this name, and gave it out: whoever noted its digest would be refused"
    fix = 'npu-overlays revise OVERLAY --why "…", and build again; or --replace, where nobody has taken it yet'
    return Problem(where=str(one.file), what=what, fix=fix)
