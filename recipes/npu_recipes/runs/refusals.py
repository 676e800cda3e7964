"""Refusals: a file that is no log of any form → what it looks like, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs.jsonlog import begins_as_json, loaded

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
    logs = [file for log in _LOGS for file in (*folder.glob(log), *folder.glob(f"checkpoint-*/{log}"))]
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
        return (
            f"it is a JSON object without a list of records that have a step and numbers, with {_listed(whole)}",
            _STEPS,
        )
    first = next((one for one in whole if isinstance(one, dict)), None)
    return (
        f"it is a JSON list without records that have a step and numbers{f', with {_listed(first)}' if first else ''}",
        _STEPS,
    )


def _listed(names: Iterable[str]) -> str:
    shown = list(islice(names, _SHOWN + 1))
    return (", ".join(shown[:_SHOWN]) + (", …" if len(shown) > _SHOWN else "")) or "nothing in it"
