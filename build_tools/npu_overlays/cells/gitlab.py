"""GitLab: cells → the child pipeline that runs them, as YAML."""

from __future__ import annotations

import io
from collections.abc import Sequence

from npu_overlays.cells.cell import Cell

_HEAD = "# Made by `npu-overlays matrix --format gitlab`, for a job with `trigger: include: artifact`. Do not edit.\n"
# Set elsewhere, it names a registry's own copy: registry.example.com/library/python.
_IMAGE = "PYTHON_IMAGE"
_TEMPLATE = {
    "image": f"${{{_IMAGE}}}:${{PYTHON_VERSION}}",
    "script": ["make wheels", "make test-quick"],
    "artifacts": {"paths": ["wheels/"], "expire_in": "1 week"},
    "interruptible": True,
}
# A pipeline without a job cannot be created, and the job that triggers it would fail.
_NOTHING = {"script": ["echo 'no overlay is touched by this change'"]}


def as_gitlab(cells: Sequence[Cell]) -> str:
    """Return the pipeline: a job for each cell, under its name and in its order."""
    from ruamel.yaml import YAML  # noqa: PLC0415  # takes time, and no other format needs it

    jobs = {cell["name"]: _job(cell) for cell in cells}
    pipeline = {"variables": {_IMAGE: "python"}, ".cell": _TEMPLATE, **jobs} if jobs else {"nothing to do": _NOTHING}
    text = io.StringIO()
    yaml = YAML()
    yaml.width = 4096  # no line is folded
    yaml.dump(pipeline, text)
    return _HEAD + text.getvalue()


def _job(cell: Cell) -> dict[str, object]:
    return {
        "extends": ".cell",
        "variables": {"OVERLAY": cell["overlay"], "PYTHON_VERSION": cell["python"]},
        "artifacts": {"name": cell["artifact"]},  # beside those of the template: `extends` merges tables
    }
