"""Inspection: a wheel → its summary, without installing it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from npu_overlays.errors import OutputError, Problem
from npu_overlays.wheels.wheel_reader import not_ours, read_members
from npu_summary import changes, installed, jsontext, layout, page, yaml

Style = Literal["text", "yaml", "json"]


def carries_summary(wheel: Path) -> bool:
    """Return whether a wheel is a patched one; raises `OutputError` if the file is no wheel."""
    return bool(read_members(wheel, lambda path: _is_of_summary(path, installed.DATA)))


def read_record(wheel: Path) -> changes.Changes:
    """Return the content of a wheel's ``changes.json``; raises `OutputError` if the file is not a wheel of ours."""
    try:
        return changes.parse(_read(wheel, installed.DATA))
    except changes.Unreadable as error:
        fix = "build the wheel again"
        raise OutputError(Problem(where=f"{wheel}: changes.json", what=str(error), fix=fix)) from error


def wheel_summary(
    wheel: Path, *, style: Style = "text", why: bool = False, every: bool = False, diff: bool = False
) -> str:
    """Return the summary of a wheel as its own summary package would print it, or the diff it carries."""
    if diff:
        return _read(wheel, installed.DIFF).decode("utf-8", errors="surrogateescape")
    record = read_record(wheel)
    if style == "json":
        return jsontext.render([record])
    if style == "yaml":
        return yaml.render([record], why=why)
    return layout.render([record], why=why, every=every)


def wheel_page(wheel: Path) -> bytes:
    """Return the page of a wheel; raises `OutputError` if the file is not a wheel of ours or its diff is damaged."""
    record = read_record(wheel)
    try:
        return page.render([(record, page.parse(_read(wheel, installed.DIFF), record))])
    except changes.Unreadable as error:
        fix = "build the wheel again"
        raise OutputError(Problem(where=f"{wheel}: {installed.DIFF}", what=str(error), fix=fix)) from error


def _read(wheel: Path, name: str) -> bytes:
    found = read_members(wheel, lambda path: _is_of_summary(path, name))
    if not found:
        raise not_ours(wheel, f"holds no summary package with a {name}; a companion wheel holds none by design")
    return found[0].content


def _is_of_summary(path: str, name: str) -> bool:
    return path.endswith(f"_summary/{name}") and path.count("/") == 1
