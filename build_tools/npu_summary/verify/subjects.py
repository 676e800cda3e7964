"""Subjects: a place and the distributions on the path → all that was built, and that is installed there."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib.machinery import all_suffixes

from .. import changes as model
from ..changes import Changes
from ..frozen import Frozen
from ..installed import DATA, MANIFEST, Place, normal_name, reason
from ..stores import Archive, Store
from .distributions import Dist, sha256_of
from .findings import Finding, Repair
from .repairs import Installer
from .schemes import located

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .findings import Kind, Level


# The two ways in which a package with an `__init__.py` says that others have modules in it.
_NAMESPACE = re.compile(rb"\b(extend_path|declare_namespace)\(")


class Built(Frozen):
    """What was built.

    Args:
        files: sha256 by path.
        outside: those of the paths that lie outside the library folder.
        version: the version that the manifest names; empty where it is damaged.
        manifest: sha256 of the manifest, equal for installations of the same wheel; empty where it is damaged.
        damage: what is wrong with the manifest.
    """

    files: Mapping[str, str]
    outside: frozenset[str] = frozenset()
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
    def inside(self) -> tuple[str, ...]:
        """The paths of what it ships in the library folder."""
        return tuple(path for path in self.files if path not in self.built.outside)

    @cached_property
    def tops(self) -> tuple[str, ...]:
        """The top-level folders it ships, its summary included."""
        return tuple(sorted({path.partition("/")[0] for path in self.inside if "/" in path}))

    @property
    def modules(self) -> tuple[str, ...]:
        """The top-level files it ships, by name."""
        return tuple(sorted(path for path in self.inside if "/" not in path))

    @cached_property
    def importable(self) -> dict[str, str]:
        """The name under which each top-level folder and file is imported, without those that cannot be."""
        endings = ((entry, next(filter(entry.endswith, all_suffixes()), "")) for entry in self.modules)
        names = {**dict(zip(self.tops, self.tops, strict=True)), **{one: one.removesuffix(end) for one, end in endings}}
        return {entry: name for entry, name in names.items() if name.isidentifier()}

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The topmost folders in which it has files itself; around these there are namespaces, which others share."""
        holding = {path.rpartition("/")[0] for path in self.inside if "/" in path}
        within = (one for one in holding if any(one[:end] in holding for end, sign in enumerate(one) if sign == "/"))
        return tuple(sorted(holding - {*within}))

    @cached_property
    def commands(self) -> frozenset[str]:
        """The paths outside the library folder that RECORD lists, those of commands that an installer made too."""
        return self.built.outside | {path for one in self.own for path in one.record if path.startswith("../")}

    @property
    def roots(self) -> tuple[str, ...]:
        """What it ships begins with one of these: folders, with a slash, and files."""
        return (*(f"{top}/" for top in self.tops), *self.modules, *self.commands)

    def is_shared(self, path: str) -> bool:
        """Return whether a shipped file says that its folder is a namespace, as one of another distribution may."""
        try:
            return path.endswith("/__init__.py") and _NAMESPACE.search(self.store.read(path)) is not None
        except OSError:
            return False

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
            places = {**manifest["files"], path: digest}
            outside = located(places, record, store)
            files = {outside.get(place, place): digest for place, digest in places.items()}
            return Built(files=files, outside=frozenset(outside.values()), version=version, manifest=digest)
        damage = "is not the one RECORD lists"
    return Built(files={**_from_record(record, path), path: digest}, damage=damage)


def _from_record(record: Mapping[str, str], manifest: str) -> dict[str, str]:
    """Return the built files by RECORD, less the manifest, of which something else is said."""
    # Scripts lie outside the packages: in `../../bin/`, or in `bin/` after `pip install --target`.
    other = ("../", "bin/", manifest)
    digests = ((path, sha256_of(digest)) for path, digest in record.items() if ".dist-info/" not in path)
    return {path: digest for path, digest in digests if digest and not path.startswith(other)}
