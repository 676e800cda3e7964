"""Core metadata: a ``[project]`` table → the METADATA that hatchling makes of it, or why it makes none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hatchling.metadata.core import ProjectMetadata
from hatchling.metadata.spec import get_core_metadata_constructors

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.project import CONFIG_FILE, Overlay


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
