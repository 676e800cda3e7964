"""Places: what is wrong with a file of a work tree → the same, with what the overlay says of that file, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from npu_overlays.errors import MergeError, Problem, listing
from npu_overlays.overlay.content import Content
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
    """Yield where an overlay says something of a file, and on which line."""
    yield from (one.where for one in content.operations if one.path == path)
    yield from (one.where for one in content.edits if one.path == path)
    yield from (one.file for one in content.files if one.path == path)
    for one in content.patches:
        if path in read_patch(one).paths:
            yield one.at(line_of(one.content, path))
