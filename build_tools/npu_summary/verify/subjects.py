"""Subjects: a place and the distributions on the path → what was built, and what is installed there."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib.machinery import all_suffixes

from .. import changes as model
from ..changes import SCHEMES, Changes
from ..frozen import Frozen
from ..installed import DATA, MANIFEST, Place, normal_name, reason
from ..stores import Archive, Store
from .distributions import Dist, sha256_of
from .findings import Finding, Installer, Repair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .findings import Kind, Level

# The two ways in which a package with an `__init__.py` says that others have modules in it.
_NAMESPACE = re.compile(rb"\b(extend_path|declare_namespace)\(")


class Built(Frozen):
    """What was built."""

    files: Mapping[str, str]  # sha256 by path
    outside: frozenset[str] = frozenset()  # those of the paths that lie outside the library folder
    version: str = ""  # as the manifest names it; empty where it is damaged
    manifest: str = ""  # its sha256, equal for installations of the same wheel; empty where it is damaged
    damage: str = ""  # what is wrong with the manifest


class Subject(Frozen):
    """One patched distribution to be verified."""

    place: Place  # where its summary package lies
    store: Store  # the folder or zip file that holds it
    changes: Changes | None  # its summary; None where that is damaged
    damage: str  # what is wrong with the summary
    version: str  # the version that was built; empty where nothing tells
    built: Built  # as far as that can be told
    own: tuple[Dist, ...]  # its metadata folders in the same store
    dists: tuple[Dist, ...]  # everything on the path
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

    @property
    def companion(self) -> str:
        """The normalized name of its companion, which is upstream's."""
        return normal_name(self.changes["companion"] if self.changes else self.place.project)

    @cached_property
    def displaced(self) -> Dist | None:
        """Upstream's distribution, if installing the companion in its place also removes its files; else None."""
        found = [one for one in self.dists if one.key == self.companion and one.version != self.version]
        if len(found) != 1 or found[0].store.root != self.store.root or self.zipped or self.installer.targeted:
            return None
        removable = found[0].info.endswith(".dist-info") and not found[0].unusable and not found[0].editable
        return found[0] if removable else None

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
        names = dict(zip(self.tops, self.tops, strict=True))
        for entry in self.modules:
            names[entry] = entry.removesuffix(next(filter(entry.endswith, all_suffixes()), ""))
        return {entry: name for entry, name in names.items() if name.isidentifier()}

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The topmost folders in which it has files itself; around these there are namespaces, which others share."""
        topmost: set[str] = set()
        # A folder is sorted behind those around it.
        for folder in sorted({path.rpartition("/")[0] for path in self.inside if "/" in path}):
            above = folder
            while above and above not in topmost:
                above = above.rpartition("/")[0]
            if not above:
                topmost.add(folder)
        return tuple(sorted(topmost))

    @cached_property
    def commands(self) -> frozenset[str]:
        """The paths outside the library folder that RECORD lists, those of commands that an installer made too."""
        found = set(self.built.outside)
        for one in self.own:
            found.update(path for path in one.record if path.startswith("../"))
        return frozenset(found)

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
        """Return a finding; reinstalling, behind `first`, repairs what no other `repairs` are given for."""
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
    changes, damage = None, ""
    try:
        changes = model.parse(place.read(DATA))
    except (OSError, model.Unreadable) as error:
        damage = reason(error)
    named = changes["distribution"]["version"] if changes else ""
    # Of several records, left by other builds, that of the build of the summary.
    record: dict[str, str] = {}
    for dist in [one for one in own if named and one.version == named] or own:
        record.update(dist.record)
    built = _built(place, store, record)
    version = named or built.version or (own[0].version if own else "")
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


def _built(place: Place, store: Store, record: Mapping[str, str]) -> Built:
    """Read what was built.

    RECORD stands in for a manifest that is damaged: better than nothing, and named as the reason.
    """
    path = f"{place.package}/{MANIFEST}"
    try:
        content = store.read(path)
    except OSError as error:
        return Built(files=_recorded_files(record, path), damage=reason(error))
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
            outside = _outside(places, record, store)
            files = {outside.get(place, place): digest for place, digest in places.items()}
            return Built(files=files, outside=frozenset(outside.values()), version=version, manifest=digest)
        damage = "is not the one RECORD lists"
    return Built(files={**_recorded_files(record, path), path: digest}, damage=damage)


def _recorded_files(record: Mapping[str, str], manifest: str) -> dict[str, str]:
    """Return the built files by RECORD, without the manifest, whose state is reported by itself."""
    # Scripts lie outside the packages: in `../../bin/`, or in `bin/` after `pip install --target`.
    other = ("../", "bin/", manifest)
    files = {}
    for path, written in record.items():
        digest = "" if ".dist-info/" in path or path.startswith(other) else sha256_of(written)
        if digest:
            files[path] = digest
    return files


def _outside(files: Mapping[str, str], record: Iterable[str], store: Store) -> dict[str, str]:
    """Return, by their places in the wheel, the installed paths of files that lie outside the library folder.

    A path is as RECORD spells it, or as it is where ``pip install --target`` has moved the file; a file that RECORD
    does not list has none.
    """
    places = [place for place in files if place.count("/") > 1 and place.startswith(f"{SCHEMES}/")]
    if not places:
        return {}
    listed: dict[str, str] = {}
    for path in record:
        if path not in files and ".dist-info/" not in path:
            listed[os.path.normpath(os.path.join(store.root, path)).replace(os.sep, "/")] = path
    found: dict[str, str] = {}
    for place in places:
        # In a wheel that was unpacked as it is, the path is the place.
        _, kind, inner = place.split("/", 2)
        endings = (place, f"/bin/{inner}", f"/Scripts/{inner}") if kind == "scripts" else (place, f"/{inner}")
        fitting = [path for path in listed if path.endswith(endings)]
        if fitting:
            found[place] = _moved(listed[min(fitting, key=len)], store)
    return found


def _moved(path: str, store: Store) -> str:
    """Return where a file is: ``pip install --target`` moves it, and leaves its path in RECORD as it was."""

    def is_file(path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return store.listing(folder).get(name) == "file"

    inside = path
    while inside.startswith("../"):
        inside = inside.removeprefix("../")
    return inside if is_file(inside) and not is_file(path) else path
