"""Manifests: ``manifest.json`` and RECORD → the files that were built, with their digests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from .. import changes as model
from .distributions import sha256_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..installed import Place
    from ..stores import Store

MANIFEST = "manifest.json"


@dataclass(frozen=True, kw_only=True)
class Built:
    """What was built.

    Args:
        files: sha256 by path.
        version: the version that the manifest names; empty where it is damaged.
        manifest: sha256 of the manifest, equal for installations of the same wheel; empty where it is damaged.
        damage: what is wrong with the manifest.
    """

    files: Mapping[str, str] = field(repr=False)
    version: str = ""
    manifest: str = ""
    damage: str = ""


def read(place: Place, store: Store, record: Mapping[str, str]) -> Built:
    """Read what was built.

    RECORD stands in for a manifest that is damaged: better than nothing, and named as the reason.
    """
    path = f"{place.package}/{MANIFEST}"
    try:
        content = store.read(path)
    except OSError as error:
        return Built(files=_from_record(record, path), damage=error.strerror or str(error))
    digest = hashlib.sha256(content).hexdigest()
    try:
        manifest = model.parse_manifest(content)
        if not manifest["files"]:
            raise model.Unreadable("it lists no file")
    except model.Unreadable as error:
        damage = f"is not a manifest this code understands ({error})"
    else:
        if sha256_of(record.get(path, "")) in {digest, ""}:
            version = manifest["distribution"]["version"]
            return Built(files={**manifest["files"], path: digest}, version=version, manifest=digest)
        damage = "is not the one RECORD lists"
    return Built(files={**_from_record(record, path), path: digest}, damage=damage)


def _from_record(record: Mapping[str, str], manifest: str) -> dict[str, str]:
    """Return the built files by RECORD, less the manifest, of which something else is said."""
    # Scripts lie outside the packages: in `../../bin/`, or in `bin/` after `pip install --target`.
    other = ("../", "bin/", manifest)
    digests = ((path, sha256_of(digest)) for path, digest in record.items() if ".dist-info/" not in path)
    return {path: digest for path, digest in digests if digest and not path.startswith(other)}
