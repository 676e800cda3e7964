"""The head of a lock: its version, its pin and upstream's metadata, which can be read without the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from packaging.version import Version

from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.inputs import LOCK_FILE, PORT_FILE
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.tables import read_bytes, toml_of

T = TypeVar("T")

LOCK_VERSION = 4
# From there on stand the contracts and the reads: by far the most of a lock.
_CONTRACTS = b"\n[[contracts]]\n"


def load_metadata(overlay: Overlay) -> UpstreamMetadata:
    """Return upstream's metadata in an overlay's lock, reading no further; raises `ConfigError` as `load_lock` does."""
    return metadata_in(overlay, read_lock(overlay))


def metadata_in(overlay: Overlay, content: bytes) -> UpstreamMetadata:
    """Return upstream's metadata in the text of an overlay's lock; raises `ConfigError` as `load_lock` does."""
    head = content.partition(_CONTRACTS)[0]
    made_for, metadata = loaded(overlay, head, lambda values: (values["commit"], metadata_of(values)))
    check_pin(overlay, made_for)
    return metadata


def check_pin(overlay: Overlay, made_for: str) -> None:
    """Raise `ConfigError` if a lock was made for another pin than the overlay's."""
    if made_for != overlay.pin.identity:
        what = f"was made for {made_for}, and the pin is {overlay.pin.identity}"
        raise ConfigError(Problem(where=str(overlay.folder / LOCK_FILE), what=what, fix=_again(overlay)))


def is_unlocked(overlay: Overlay) -> bool:
    """Return whether an overlay has no lock, and no pending port that will write one."""
    return not ((overlay.folder / LOCK_FILE).is_file() or (overlay.folder / PORT_FILE).is_file())


def read_lock(overlay: Overlay) -> bytes:
    """Return the text of an overlay's lock; raises `ConfigError`."""
    file = overlay.folder / LOCK_FILE
    if not file.is_file():
        if (overlay.folder / PORT_FILE).is_file():
            fix = f"run `npu-overlays port {overlay.argument} --continue`, which locks it"
            raise ConfigError(Problem(where=str(overlay.folder), what="its port is not finished", fix=fix))
        raise ConfigError(Problem(where=str(file), what="is missing", fix=_again(overlay)))
    try:
        return read_bytes(file)
    except ConfigError as error:
        raise ConfigError(Problem(where=str(file), what=error.problems[0].what, fix=_again(overlay))) from error


def _again(overlay: Overlay) -> str:
    return f"run `npu-overlays lock {overlay.argument}`"


def loaded(overlay: Overlay, content: bytes, made: Callable[[Mapping[str, Any]], T]) -> T:
    """Parse a lock's text, or its beginning, and convert its values; raises `ConfigError`."""
    file, again = overlay.folder / LOCK_FILE, _again(overlay)
    try:
        values = toml_of(content, file)
    except ConfigError as error:
        raise ConfigError(Problem(where=str(file), what=error.problems[0].what, fix=again)) from error
    if values.get("lock-version") != LOCK_VERSION:
        what = f"has lock-version {values.get('lock-version', 'none')}, and this npu-overlays reads {LOCK_VERSION}"
        raise ConfigError(Problem(where=str(file), what=what, fix=f"{again}, or use the npu-overlays that made it"))
    try:
        return made(values)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        fault = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ConfigError(Problem(where=str(file), what=f"is damaged: {fault}", fix=again)) from error


def metadata_of(values: Mapping[str, Any]) -> UpstreamMetadata:
    """Return upstream's metadata in a lock's values; damaged values raise what `loaded` catches."""
    metadata: dict[str, Any] = {
        key: tuple(map(text_of, value)) if isinstance(value, list) else value
        for key, value in values["metadata"].items()
    }
    Version(text_of(metadata["version"]))
    dict(metadata["fields"]), dict(metadata["scripts"]), dict(metadata.get("entry_points", {}))
    return UpstreamMetadata(**metadata)


def text_of(value: object) -> str:
    """Return a value that must be a text; raises `TypeError` for any other."""
    if not isinstance(value, str):
        msg = f"{value!r} is not a text"
        raise TypeError(msg)
    return value
