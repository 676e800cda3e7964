"""Reading: paths → runs. Which form a file has, its content says, not its name."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs import events, tables
from npu_recipes.runs.collecting import Collector
from npu_recipes.runs.consolelog import read_console
from npu_recipes.runs.jsonlog import FILE_LOG, HISTORY, begins_as_json, read_json, read_lines
from npu_recipes.runs.names import is_there, members, parts_of, place_of
from npu_recipes.runs.refusals import folder_problem, refuse_packed, unread_problem
from npu_recipes.runs.series import Run


def read_groups(*groups: str) -> list[list[Run]]:
    """Read groups of runs.

    Args:
        groups: each a file or folder, several with commas between them, or a pattern such as ``gpu-*.log``;
            ``FILE#RUN`` names one run of an export that holds several, ``FIRST+SECOND`` one run that was resumed.

    Returns:
        The runs of each group, in the order they were named.

    Raises:
        RecipeError: some of them cannot be read; it lists them all.
    """
    problems: list[Problem] = []
    read = [[_attempted(name, problems) for name in _members(group, problems)] for group in groups]
    if problems:
        raise RecipeError(problems)
    return [_told_of_neighbours([run for run in runs if run]) for runs in read]


def _members(group: str, problems: list[Problem]) -> Iterable[str]:
    names = members(group)
    if not names:
        problems.append(Problem(where=repr(group), what="names no file", fix="name what a run has logged"))
    return names


def _told_of_neighbours(runs: list[Run]) -> list[Run]:
    """Return runs, with a note where event files of one folder, which are of one run, were named as several."""
    folders = [
        run.places[0][0].parent if run.form == events.FORM and run.places[0][0].is_file() else None for run in runs
    ]
    note = "is one of several event files of a folder, and taken for a run of its own: of one run, name the folder"
    return [
        replace(run, notes=(*run.notes, note)) if folder and folders.count(folder) > 1 else run
        for run, folder in zip(runs, folders, strict=True)
    ]


def _attempted(name: str, problems: list[Problem]) -> Run | None:
    try:
        return read_run(name)
    except RecipeError as error:
        problems.extend(error.problems)
    except OSError as error:
        problems.append(Problem(where=name, what=f"cannot be read: {error.strerror or error}"))
    return None


def read_run(name: str) -> Run:
    """Read what one run logged; raises `RecipeError` where it is of no form that is known, or holds no metrics."""
    first, *later = parts = parts_of(name)
    form, notes, collector = _read_part(first)
    forms = [form]
    for part in later:
        form, odd, more = _read_part(part)
        forms.append(form)
        notes += odd
        collector.follow(more)
    logged = collector.logged()
    return Run(
        name=name,
        form=", ".join(dict.fromkeys(forms)),
        metrics=logged.series,
        notes=(*notes, *logged.notes),
        places=tuple((place.resolve(), run) for place, run in map(place_of, parts)),
        records=logged.records,
        counted=logged.counted,
        unread=logged.unread,
    )


def _read_part(name: str) -> tuple[str, list[str], Collector]:
    """Read one of the files of a run; returns its form, notes, and what it holds."""
    place, run = place_of(name)
    path = name.removesuffix(f"#{run}")
    if not is_there(str(place)):
        raise RecipeError(Problem(where=path, what="there is no such file", fix="name what a run has logged"))
    with _again_and_again(place) as file:
        form, notes, collector = _read(file, path, run)
        if not collector:
            raise RecipeError(unread_problem(file, path))
    collector.settle(in_time=form not in {tables.FORM, HISTORY})
    if run and form not in {tables.FORM, HISTORY, FILE_LOG}:
        what = f"a {form} holds one run, which has no name"
        raise RecipeError(Problem(where=name, what=what, fix=f"name it as {path}"))
    return form, notes, collector


def _read(place: Path, path: str, run: str) -> tuple[str, list[str], Collector]:
    """Read a file by the first form that fits; returns that form, notes, and what it holds."""
    collector = Collector()
    if folder := events.event_folder(place):
        return events.FORM, events.read_events(folder, collector), collector
    if place.is_dir():
        raise RecipeError(folder_problem(place))
    refuse_packed(place, path)
    if begins_as_json(place):
        form, notes = read_json(place, collector, run)
        if form:
            return form, notes, collector
    elif (odd := tables.read_table(place, collector, run)) is not None:
        return tables.FORM, odd, collector
    if found := read_console(place):
        return found.form, list(found.notes), found.collector
    # Of a file logger's lines the first may be cut off, or be something that another program said.
    return *read_lines(place, collector, run), collector


@contextmanager
def _again_and_again(place: Path) -> Iterator[Path]:
    """Yield a file that can be read more than once: of a pipe, as a shell's ``<(zcat gpu.log.gz)`` is, a copy."""
    if not place.is_fifo():
        yield place
        return
    with tempfile.NamedTemporaryFile(prefix="npu-recipes-") as copy, place.open("rb") as pipe:
        shutil.copyfileobj(pipe, copy)
        copy.flush()
        yield Path(copy.name)
