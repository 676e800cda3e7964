"""Parts: what was prepared → what its two wheels are made of, whoever puts them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from npu_overlays.overlay.compiled import PURE
from npu_overlays.pipeline.preparation import Prepared
from npu_overlays.wheels.assembly import WheelFile
from npu_overlays.wheels.bill import bill, bill_name, facts
from npu_overlays.wheels.core_metadata import core_metadata, metadata_version
from npu_overlays.wheels.staging import companion_files, companion_table, project_table, wheel_files
from npu_summary.changes import Changes

_SBOMS = "sboms"


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What one wheel is made of.

    Args:
        table: the ``[project]`` table.
        files: what it holds beside its metadata, in hatchling's order.
        beside: files that belong into its metadata, by their path in the project: licences, bills of materials.
        sboms: which of these are bills of materials.
        tag: for which Pythons and platforms it is.
        pure: whether it belongs among pure Python.
    """

    table: dict[str, Any]
    files: Sequence[WheelFile]
    beside: Mapping[str, bytes] = field(default_factory=dict)
    sboms: tuple[str, ...] = ()
    tag: str = PURE
    pure: bool = True

    @property
    def target(self) -> dict[str, str]:
        """What hatchling is told of the metadata."""
        return {"core-metadata-version": metadata_version(self.table)}


def patched_parts(prepared: Prepared) -> Parts:
    """Return what the patched wheel of an overlay is made of; raises `ConfigError` where its table is refused."""
    table = project_table(prepared)
    carried = {f"{_SBOMS}/{name}": content for name, content in prepared.tree.upstream.sboms.items()}
    sboms = {**carried, **_bill(table, prepared, prepared.record)}
    tag, pure = prepared.tag
    return Parts(
        table=table,
        files=wheel_files(prepared),
        beside={**prepared.licences, **sboms},
        sboms=tuple(sboms),
        tag=tag,
        pure=pure,
    )


def companion_parts(prepared: Prepared) -> Parts:
    """Return what the companion of an overlay's wheel is made of; raises `ConfigError` likewise."""
    table = companion_table(prepared)
    sboms = _bill(table, prepared, None)
    return Parts(table=table, files=companion_files(prepared), beside=sboms, sboms=tuple(sboms))


def _bill(table: dict[str, Any], prepared: Prepared, record: Changes | None) -> dict[str, bytes]:
    """Return the bill of materials of a wheel, by its path in the project."""
    stated = facts(core_metadata(table, prepared.content.overlay))
    return {f"{_SBOMS}/{bill_name(stated.name)}": bill(stated, record)}
