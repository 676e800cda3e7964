"""Parts: a prepared build → the parts of its two wheels, core metadata included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hatchling.metadata.core import ProjectMetadata
from hatchling.metadata.spec import get_core_metadata_constructors

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.compiled import PURE
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.pipeline.preparation import Prepared
from npu_overlays.wheels.assembly import WheelFile
from npu_overlays.wheels.bill_of_materials import bill, bill_name, facts
from npu_overlays.wheels.project_tables import companion_table, project_table
from npu_overlays.wheels.wheel_files import companion_files, wheel_files
from npu_summary.changes import Changes

_SBOMS = "sboms"


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of one wheel."""

    table: dict[str, Any]  # the `[project]` table
    files: Sequence[WheelFile]  # what it holds beside its metadata, in hatchling's order
    # files that belong into its metadata, by their path in the project: licences, bills of materials
    beside: Mapping[str, bytes] = field(default_factory=dict)
    sboms: tuple[str, ...] = ()  # which of these are bills of materials
    tag: str = PURE  # for which Pythons and platforms it is
    pure: bool = True  # whether it belongs among pure Python

    @property
    def target(self) -> dict[str, str]:
        """Hatchling's settings for the metadata."""
        return {"core-metadata-version": metadata_version(self.table)}


def patched_parts(prepared: Prepared) -> Parts:
    """Return the parts of an overlay's patched wheel; raises `ConfigError` if its table is refused."""
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
    """Return the parts of the wheel's companion; raises `ConfigError` likewise."""
    table = companion_table(prepared)
    sboms = _bill(table, prepared, None)
    return Parts(table=table, files=companion_files(prepared), beside=sboms, sboms=tuple(sboms))


def _bill(table: dict[str, Any], prepared: Prepared, record: Changes | None) -> dict[str, bytes]:
    """Return the bill of materials of a wheel, by its path in the project."""
    stated = facts(core_metadata(table, prepared.content.overlay))
    return {f"{_SBOMS}/{bill_name(stated.name)}": bill(stated, record)}


def metadata_version(table: dict[str, Any]) -> str:
    """Return the lowest version of core metadata that has all fields of a table.

    Some indexes refuse newer ones; where upstream's own needs one, ours does.
    """
    return "2.5" if "import-names" in table or "import-namespaces" in table else "2.4"


def core_metadata(table: dict[str, Any], overlay: Overlay) -> str:
    """Return the METADATA of a wheel, but for its licence files, which hatchling looks for on disk.

    Args:
        table: the ``[project]`` table.
        overlay: the overlay it is of.

    Raises:
        ConfigError: hatchling refuses the table.
    """
    with explained(overlay):
        metadata: Any = ProjectMetadata("", None, {"project": {**table, "license-files": []}})
        metadata.validate_fields()
        return str(get_core_metadata_constructors()[metadata_version(table)](metadata))


@contextmanager
def explained(overlay: Overlay) -> Iterator[None]:
    """Turn hatchling's refusal of a ``[project]`` table into a `ConfigError`."""
    try:
        yield
    except (ValueError, TypeError) as error:
        fix = "correct tool.overlay, or what `npu-overlays lock` took from upstream's metadata"
        where = str(overlay.folder / CONFIG_FILE)
        raise ConfigError(Problem(where=where, what=f"hatchling refuses it: {error}", fix=fix)) from error
