"""Source: the rows of a data set, from the user's folder, or from the hub."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import at_home
from npu_recipes.preparation.rows import Row, arrow

_FORMS = (".parquet", ".jsonl", ".json")
_FIX = "name a folder with two files, one with the word train in its name and one with test: .parquet, .jsonl or .json"


def read_rows(source: str, *, hub: str, config: str, split: str) -> Iterator[Row]:
    """Yield the rows of a split, one after the other: some sets have millions.

    Args:
        source: a folder with a file that has the split, and no other, for a word of its name; empty for the hub.
        hub: the name of the data set there.
        config: which of its configurations; empty for its only one.
        split: which of its splits.

    Raises:
        RecipeError: they cannot be read or fetched.
    """
    yield from _of_file(_file(at_home(source), split)) if source else _of_hub(hub, config, split)


def _file(place: Path, split: str) -> Path:
    if not place.is_dir():
        # A test on the data that was trained on would only show that it was memorised.
        what = "is one file, for train and for test" if place.exists() else "there is no such file or folder"
        raise RecipeError(Problem(where=str(place), what=what, fix=_FIX))
    found = []
    for file in place.rglob("*.*"):
        # The words of its name: `latest` is no test.
        words = set(re.findall("[a-z]+", file.stem.lower()))
        if file.suffix in _FORMS and words & {"train", "test"} == {split}:
            found.append(file)
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(str, sorted(found)))
    what = f"holds {len(found)} files for {split}: {listed}" if found else f"holds none for {split}"
    raise RecipeError(Problem(where=str(place), what=what, fix=_FIX))


def _of_file(file: Path) -> Iterator[Row]:
    read = {".parquet": _of_parquet, ".jsonl": _of_lines}.get(file.suffix, _of_json)
    try:
        for number, row in enumerate(read(file)):
            if not isinstance(row, dict):
                msg = f"row {number} is no object with names and values"
                raise ValueError(msg)
            yield row
    except (OSError, ValueError) as error:
        fix = "correct the file, or name another with --source"
        raise RecipeError(Problem(where=str(file), what=f"cannot be read: {error}", fix=fix)) from error


def _of_parquet(file: Path) -> Iterator[Any]:
    for batch in arrow().parquet.ParquetFile(file).iter_batches(4096):
        yield from batch.to_pylist()


def _of_lines(file: Path) -> Iterator[Any]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                if line.strip():
                    yield json.loads(line)
            except json.JSONDecodeError as error:
                msg = f"line {number}, column {error.colno}: {error.msg}"
                raise ValueError(msg) from error


def _of_json(file: Path) -> Iterator[Any]:
    rows = json.loads(file.read_text("utf-8"))
    if not isinstance(rows, list):
        msg = "it is no list of rows"
        raise ValueError(msg)
    yield from rows


def _of_hub(hub: str, config: str, split: str) -> Iterator[Row]:
    try:
        import datasets  # noqa: PLC0415  # verl brings it
    except ImportError as error:
        fix = "install verl-npu, which brings it, or name files you have: --source FOLDER"
        raise RecipeError(Problem(where="datasets", what="is not installed", fix=fix)) from error
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    try:
        yield from datasets.load_dataset(hub, *([config] if config else []), split=split)
    except Exception as error:
        # The libraries below raise errors of many classes if the hub cannot be reached.
        fix = "set HF_ENDPOINT to a mirror, or download it elsewhere and name it: --source FOLDER"
        raise RecipeError(Problem(where=hub, what=_why_not(error), fix=fix)) from error


def _why_not(error: Exception) -> str:
    """Return why a data set cannot be fetched: the library raises the same error for different causes."""
    from datasets.exceptions import DatasetNotFoundError  # noqa: PLC0415  # verl brings it
    from huggingface_hub import constants  # noqa: PLC0415  # likewise

    said = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if constants.HF_HUB_OFFLINE:
        return "was not fetched before, and HF_HUB_OFFLINE forbids asking for it"
    if isinstance(error, DatasetNotFoundError):
        return f"is not on {constants.ENDPOINT}, or not for everybody"
    if isinstance(error, ConnectionError) or "LocalEntryNotFoundError" in said:
        return f"{constants.ENDPOINT} cannot be reached: {said}"
    return f"cannot be fetched from {constants.ENDPOINT}: {said}"
