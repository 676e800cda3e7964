"""Overlay places: problems with files of a work tree → the same, with the places of the overlay that change them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from npu_overlays.errors import MergeError, Problem, listing
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import SourcedEdit
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.patches import line_of, read_patch


@contextmanager
def naming_places(content: Content) -> Iterator[None]:
    """Make problems with files of a work tree name the places of the overlay that change them."""
    try:
        yield
    except MergeError as error:
        raise MergeError([_named(content, one) for one in error.problems]) from error


def _named(content: Content, problem: Problem) -> Problem:
    places = list(dict.fromkeys(_places(content, re.sub(r":\d+$", "", problem.where))))
    if not places or any(place in str(problem) for place in places):
        return problem
    return replace(problem, what=f"{problem.what}; the overlay changes it in {listing(places)}")


def _places(content: Content, path: str) -> Iterator[str]:
    """Yield the files and lines of an overlay that change a file."""
    changes: tuple[Operation | SourcedEdit, ...] = (*content.operations, *content.edits)
    for one in changes:
        if one.path == path:
            yield one.where
    for file in content.files:
        if file.path == path:
            yield file.file
    for patch in content.patches:
        if path in read_patch(patch).paths:
            yield patch.at(line_of(patch.content, path))
