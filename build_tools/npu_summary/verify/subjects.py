"""Subjects: a place and the distributions on the path → all that was built, and that is installed there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from .. import changes as model
from ..changes import Changes
from ..frozen import Frozen
from ..installed import DATA, MANIFEST, Place, normal_name, reason
from ..stores import Archive, Store
from .distributions import Dist, sha256_of
from .findings import Finding, Repair
from .repairs import Installer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .findings import Kind, Level


class Built(Frozen):
    """What was built.

    Args:
        files: sha256 by path.
        version: the version that the manifest names; empty where it is damaged.
        manifest: sha256 of the manifest, equal for installations of the same wheel; empty where it is damaged.
        damage: what is wrong with the manifest.
    """

    files: Mapping[str, str]
    version: str = ""
    manifest: str = ""
    damage: str = ""


class Subject(Frozen):
    """One patched distribution to be verified.

    Args:
        place: where its summary package lies.
        store: the folder or zip file that holds it.
        changes: its summary; None where that is damaged.
        damage: what is wrong with the summary.
        version: the version that was built; empty where nothing tells.
        built: every file that was built, as far as that can be told.
        own: its metadata folders in the same store.
        dists: everything on the path.
        installer: writes repair commands.
    """

    place: Place
    store: Store
    changes: Changes | None
    damage: str
    version: str
    built: Built
    own: tuple[Dist, ...]
    dists: tuple[Dist, ...]
    installer: Installer

    @property
    def name(self) -> str:
        """The distribution's name."""
        return self.place.distribution

    @property
    def files(self) -> Mapping[str, str]:
        """The sha256 by path of every file that was built; empty where nothing tells."""
        return self.built.files

    @property
    def zipped(self) -> bool:
        """Whether it lies in a zip file."""
        return isinstance(self.store, Archive)

    @property
    def for_npus(self) -> bool:
        """Whether it is made for NPUs: there a plugin is known that patches the same sources, elsewhere none is."""
        return self.changes is not None and self.changes["purpose"] == model.NPU

    @cached_property
    def upstream(self) -> dict[str, str | None]:
        """The sha256 of upstream's file by path, of the files that were changed; None for added ones."""
        files = self.changes["files"] if self.changes else ()
        return {one["installed"]: one["before"] for one in files if one["installed"]}

    @cached_property
    def tops(self) -> tuple[str, ...]:
        """The top-level packages it ships, its summary included."""
        return tuple(sorted({path.partition("/")[0] for path in self.files if "/" in path}))

    @property
    def modules(self) -> tuple[str, ...]:
        """The top-level modules it ships that are no packages, by file name."""
        return tuple(sorted(path for path in self.files if "/" not in path))

    @property
    def roots(self) -> tuple[str, ...]:
        """What it ships begins with one of these: folders, with a slash, and files."""
        return (*(f"{top}/" for top in self.tops), *self.modules)

    def freed(self, dist: Dist) -> tuple[Repair, ...]:
        """Return what makes way for an installer, which would refuse to replace metadata that it cannot read."""
        return self.installer.remove([os.path.join(dist.store.root, dist.info)]) if dist.unusable else ()

    def finding(  # noqa: PLR0913  # the fields of a finding
        self,
        kind: Kind,
        what: str,
        cause: str = "",
        *,
        paths: Iterable[str] = (),
        first: tuple[Repair, ...] = (),
        repairs: tuple[Repair, ...] | None = None,
        level: Level = "damage",
    ) -> Finding:
        """Return something found in it.

        Reinstalling, after what has to be done `first`, repairs what no other `repairs` are given for.
        """
        return Finding(
            kind=kind,
            level=level,
            distribution=self.name,
            what=what,
            cause=cause,
            paths=tuple(paths),
            repairs=(*first, *self.installer.reinstall()) if repairs is None else repairs,
        )


def load(place: Place, dists: Sequence[Dist]) -> Subject:
    """Read what was built and what is installed at one place; never raises for damaged data."""
    store = place.store
    own = tuple(one for one in dists if one.store.root == store.root and one.key == normal_name(place.distribution))
    changes, damage = _summary(place)
    built = _built(place, store, _record(own, changes))
    version = changes["distribution"]["version"] if changes else built.version or (own[0].version if own else "")
    tool = own[0].installer if own else ""
    return Subject(
        place=place,
        store=store,
        changes=changes,
        damage=damage,
        version=version,
        built=built,
        own=own,
        dists=tuple(dists),
        installer=Installer(root=store.root, name=place.distribution, version=version, tool=tool),
    )


def _summary(place: Place) -> tuple[Changes | None, str]:
    try:
        return model.parse(place.read(DATA)), ""
    except (OSError, model.Unreadable) as error:
        return None, reason(error)


def _record(own: Sequence[Dist], changes: Changes | None) -> dict[str, str]:
    """Return what RECORD says, as it spells it; of several, left by other builds, that of the build of the summary."""
    right = [one for one in own if changes and one.version == changes["distribution"]["version"]]
    return {path: digest for dist in right or own for path, digest in dist.record.items()}


def _built(place: Place, store: Store, record: Mapping[str, str]) -> Built:
    """Read what was built.

    RECORD stands in for a manifest that is damaged: better than nothing, and named as the reason.
    """
    path = f"{place.package}/{MANIFEST}"
    try:
        content = store.read(path)
    except OSError as error:
        return Built(files=_from_record(record, path), damage=reason(error))
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
