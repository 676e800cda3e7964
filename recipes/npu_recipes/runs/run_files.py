"""Run files: paths → runs. The content of a file tells its form, not its name; a file of no form is refused."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs import events, tables
from npu_recipes.runs.collector import Collector
from npu_recipes.runs.console_log import read_console
from npu_recipes.runs.json_log import FILE_LOG, HISTORY, begins_as_json, loaded, read_json, read_lines
from npu_recipes.runs.names import is_there, members, parts_of, place_of
from npu_recipes.runs.series import Run

_FORMS = "name what a trainer logged or printed: `npu-recipes compare --help` lists the forms"
_STEPS = "name the log of each step, as trainer_state.json is"
# By its first bytes: what it is, and what to do.
_PACKED = {
    b"\x1f\x8b": ("is packed by gzip", "name it as <(zcat {file})"),
    b"BZh": ("is packed by bzip2", "name it as <(bzcat {file})"),
    b"\xfd7zXZ": ("is packed by xz", "name it as <(xzcat {file})"),
    b"\x28\xb5\x2f\xfd": ("is packed by zstd", "name it as <(zstdcat {file})"),
    b"PK\x03\x04": ("is a zip archive, as what torch saves is", "unpack it, and name a file in it"),
    b"PAR1": ("is a Parquet file", "export it as CSV"),
    b":W&B": ("is a file of wandb's own", "export the run's history as CSV or JSON"),
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# Where a trainer's folder has its log.
_LOGS = ("trainer_state.json", "trainer_log.jsonl", "logging.jsonl", "metrics.jsonl")
_HEAD, _SHOWN, _WIDTH = 4096, 6, 60


def refuse_packed(file: Path, name: str) -> None:
    """Refuse a file that has to be unpacked or exported first; `name` is what its user calls it."""
    with file.open("rb") as content:
        head = content.read(_HEAD)
    for begins, (what, fix) in _PACKED.items():
        if head.startswith(begins):
            raise RecipeError(Problem(where=name, what=what, fix=fix.format(file=name)))


def folder_problem(folder: Path) -> Problem:
    """Return why a folder without event files is no run, and which of its files to name."""
    logs: list[Path] = []
    for log in _LOGS:
        logs += [*folder.glob(log), *folder.glob(f"checkpoint-*/{log}")]
    newest = max(logs, key=lambda file: file.stat().st_mtime, default=None)
    fix = f"name {newest}" if newest else "name a file in it"
    return Problem(where=str(folder), what="is a folder without event files of TensorBoard", fix=fix)


def unread_problem(file: Path, name: str) -> Problem:
    """Return why a file holds no metrics; `name` is what its user calls it."""
    with file.open("rb") as content:
        look, fix = _look(file, name, content.read(_HEAD))
    return Problem(where=name, what=f"holds no metrics with steps: {look}", fix=fix or _FORMS)


def _look(file: Path, name: str, head: bytes) -> tuple[str, str]:
    if head.startswith(_UTF_16):
        return "it is text in UTF-16", f"name it as <(iconv -f utf-16 -t utf-8 {name})"
    if not head.strip():
        return "it is empty", ""
    if b"\0" in head:
        return "it looks like a binary file", ""
    if begins_as_json(file):
        return _look_of_json(file.read_text("utf-8-sig", "replace"))
    line = next(filter(None, map(str.strip, head.decode("utf-8", "replace").splitlines())), "")
    return f"it looks like text that begins with `{line[:_WIDTH]}`", ""


def _look_of_json(text: str) -> tuple[str, str]:
    """Return what JSON holds in place of records with steps, or where it is none; and what to do about it."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        first = loaded(text.lstrip().partition("\n")[0])
        if isinstance(first, dict):
            return f"it looks like lines of JSON without a step, the first with {_listed(first)}", _STEPS
        where = f"line {error.lineno}, column {error.colno}"
        return f"it looks like JSON that ends or goes wrong in {where}: {error.msg}", "write it again, whole"
    except RecursionError:
        return "it looks like JSON, nested too deep to be read", ""
    if isinstance(whole, dict):
        what = "it is a JSON object without a list of records that have a step and numbers"
        return f"{what}, with {_listed(whole)}", _STEPS
    what = "it is a JSON list without records that have a step and numbers"
    first = next((one for one in whole if isinstance(one, dict)), None)
    return (f"{what}, with {_listed(first)}" if first else what), _STEPS


def _listed(names: Iterable[str]) -> str:
    shown = list(islice(names, _SHOWN + 1))
    return (", ".join(shown[:_SHOWN]) + (", …" if len(shown) > _SHOWN else "")) or "nothing in it"


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
    read: list[list[Run]] = []
    for group in groups:
        names = members(group)
        if not names:
            problems.append(Problem(where=repr(group), what="names no file", fix="name what a run has logged"))
        runs = []
        for name in names:
            try:
                runs.append(read_run(name))
            except RecipeError as error:
                problems.extend(error.problems)
        read.append(runs)
    if problems:
        raise RecipeError(problems)
    return [_told_of_neighbours(runs) for runs in read]


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
