"""Subjects: a place and the distributions on the path in, all that was built and is installed there out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from .. import changes as model
from ..installed import DATA, normal_name
from .findings import Finding
from .repairs import Installer
from .stores import Archive, open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..changes import Changes
    from ..installed import Place
    from .distributions import Dist
    from .stores import Store

MANIFEST = "manifest.json"
_MANIFEST_SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One patched distribution to be verified.

    Args:
        place: where its summary package lies.
        store: the folder or zip file that holds it.
        changes: its summary; None where that is damaged.
        version: the version that was built; empty where nothing tells.
        files: sha256 by path of every file that was built; empty where nothing tells.
        manifest: sha256 of the manifest; equal for installations of the same wheel.
        own: its metadata folders in the same store.
        dists: everything on the path.
        findings: what was found while reading all this.
        installer: writes repair commands.
    """

    place: Place
    store: Store
    changes: Changes | None
    version: str
    files: Mapping[str, str]
    manifest: str
    own: tuple[Dist, ...]
    dists: tuple[Dist, ...]
    findings: tuple[Finding, ...]
    installer: Installer = field(repr=False)

    @property
    def name(self) -> str:
        """The distribution's name."""
        return self.place.distribution

    @property
    def zipped(self) -> bool:
        """Whether it lies in a zip file."""
        return isinstance(self.store, Archive)

    @property
    def for_npus(self) -> bool:
        """Whether it is made for NPUs: there a plugin is known that patches the same sources, elsewhere none is."""
        return self.changes is not None and self.changes.get("purpose", model.USUAL) == model.USUAL

    @property
    def upstream(self) -> dict[str, str]:
        """The sha256 of upstream's file by path, of the files that were changed; empty for added ones."""
        return {path: before for path, before, _ in _changed(self.changes)}

    @property
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


def load(place: Place, dists: Sequence[Dist]) -> Subject:
    """Read what was built and what is installed at one place; never raises for damaged data."""
    store = open_store(place.root or ".")
    own = tuple(one for one in dists if one.store.root == store.root and one.key == normal_name(place.distribution))
    changes, summary_error = _summary(place)
    record = _record(own, changes)
    files, version, manifest, manifest_error = _manifest(place, store, record)
    version = changes["distribution"]["version"] if changes else version or (own[0].version if own else "")
    installer = Installer.of(store.root, place.distribution, version, next((one.installer for one in own), ""))
    findings = []
    if summary_error:
        findings.append(_damaged(place, "summary damaged", DATA, summary_error, installer))
    if manifest_error:
        findings.append(_damaged(place, "manifest damaged", MANIFEST, manifest_error, installer, told=len(files) > 1))
    elif changes and (differing := _contradictions(changes, files)):
        what = f"the manifest and the summary disagree about {len(differing)} files"
        findings.append(
            Finding(
                kind="manifest damaged",
                distribution=place.distribution,
                what=what,
                cause="one of the two was edited, or they come from different builds",
                repairs=installer.reinstall(),
                paths=tuple(differing),
            )
        )
    return Subject(
        place=place,
        store=store,
        changes=changes,
        version=version,
        files=files,
        manifest=manifest,
        own=own,
        dists=tuple(dists),
        findings=tuple(findings),
        installer=installer,
    )


def shadows(place: Place) -> Iterator[Finding]:
    """Yield a note for each further copy of the summary package."""
    for other in place.shadows:
        yield Finding(
            kind="second copy",
            distribution=place.distribution,
            what=f"{other} is not used: {place.folder} comes first on sys.path",
            paths=(other,),
            level="note",
        )


def _record(own: Sequence[Dist], changes: Changes | None) -> dict[str, str]:
    """Return what RECORD says; of several, left by other builds, that of the build the summary is of."""
    built = [one for one in own if changes and one.version == changes["distribution"]["version"]]
    return {path: digest for dist in built or own for path, digest in dist.record.items()}


def _summary(place: Place) -> tuple[Changes | None, str]:
    try:
        return model.parse(place.read(DATA)), ""
    except (OSError, model.Unreadable) as error:
        return None, str(getattr(error, "strerror", None) or error)


def _manifest(place: Place, store: Store, record: Mapping[str, str]) -> tuple[dict[str, str], str, str, str]:
    """Return the built files, their version, the manifest's digest, and what is wrong with it.

    RECORD stands in for a manifest that is damaged: better than nothing, and
    named as the reason.
    """
    path = f"{place.package}/{MANIFEST}"
    try:
        content = store.read(path)
    except OSError as error:
        return _recorded(place, record), "", "", error.strerror or str(error)
    digest = hashlib.sha256(content).hexdigest()
    try:
        files, version = _parsed(json.loads(content))
        if record.get(path, digest) in {digest, ""}:
            return {**files, path: digest}, version, digest, ""
        problem = "is not the one RECORD lists"
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problem = f"is not a manifest this code understands ({error})"
    return {**_recorded(place, record), path: digest}, "", "", problem


def _recorded(place: Place, record: Mapping[str, str]) -> dict[str, str]:
    """Return the built files by RECORD, less the manifest, of which something else is said."""
    files = {path: digest for path, digest in record.items() if digest and ".dist-info/" not in path}
    files.pop(f"{place.package}/{MANIFEST}", None)
    # Scripts lie outside the packages: in `../../bin/`, or in `bin/` after `pip install --target`.
    return {path: digest for path, digest in files.items() if not path.startswith(("../", "bin/"))}


def _parsed(value: dict[str, object]) -> tuple[dict[str, str], str]:
    files, distribution = value["files"], value["distribution"]
    if value["schema"] != _MANIFEST_SCHEMA:
        raise ValueError(f"schema {value['schema']}")
    if not isinstance(files, dict) or not isinstance(distribution, dict) or not files:
        raise TypeError("`files` and `distribution` must be objects")
    return {str(path): str(digest) for path, digest in files.items()}, str(distribution["version"])


def _contradictions(changes: Changes, files: Mapping[str, str]) -> list[str]:
    """Return the changed files of which the manifest says something else than the summary."""
    return sorted(path for path, _, after in _changed(changes) if files.get(path, "") != after)


def _changed(changes: Changes | None) -> Iterator[tuple[str, str, str]]:
    """Yield path, sha256 before and after of each changed file, empty for none; a damaged summary may lack any."""
    for one in changes["files"] if changes else ():
        if path := one.get("installed"):
            yield str(path), str(one.get("before") or ""), str(one.get("after") or "")


def _damaged(  # noqa: PLR0913  # each says another thing about the file
    place: Place, kind: str, file: str, error: str, installer: Installer, *, told: bool = True
) -> Finding:
    what = f"{file}: {error}"
    if not told:
        what += "; and RECORD does not list the files either, so they could not be compared"
    return Finding(
        kind=kind,
        distribution=place.distribution,
        what=what,
        cause="edited, or the installation was interrupted",
        repairs=installer.reinstall(),
        paths=(f"{place.package}/{file}",),
        level="damage" if told else "unknown",
    )
