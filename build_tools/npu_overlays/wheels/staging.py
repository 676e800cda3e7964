"""Staging: what was prepared → the files of a wheel or an sdist, and hatchling's tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import npu_summary
from npu_doctor.knowledge import settings_file
from npu_overlays.changes.record import manifest, unified_diff
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.files import canonical_json
from npu_overlays.overlay.inputs import LOCK_FILE, layer_files
from npu_overlays.overlay.layers import BUNDLED_LAYERS
from npu_overlays.overlay.project import BUNDLED, CONFIG_FILE, LAYER_FILE, STACKS_FOLDER, Layer, Overlay
from npu_overlays.overlay.revisions import REVISIONS_FILE
from npu_overlays.overlay.stack_requirements import DOCTOR, without_extras
from npu_overlays.pipeline.build_version import CODE
from npu_overlays.pipeline.loader import Loaded
from npu_overlays.pipeline.preparation import Prepared
from npu_overlays.sources.deflated_members import DeflatedMember, upstream_members
from npu_overlays.sources.tree import PatchedTree
from npu_overlays.wheels.assembly import WheelFile
from npu_overlays.wheels.explanation import explanations
from npu_overlays.wheels.requirements import of_extras, rewritten_requires
from npu_summary import changes, provenance
from npu_summary.changes import SCHEMES
from npu_summary.plurals import plural


def project_table(prepared: Prepared) -> dict[str, Any]:
    """Return the ``[project]`` table of a wheel: upstream's metadata, renamed and rewritten."""
    overlay = prepared.content.overlay
    metadata = prepared.loaded.metadata
    companion = f"{overlay.pin.project}=={prepared.version}"
    requires = rewritten_requires(metadata, _renames(prepared), overlay.dependencies)
    # An extra of a stack takes the place of upstream's of that name, whose pins were made for GPUs.
    stacked = prepared.loaded.extras
    fields = dict(metadata.fields)
    fields["license"] = fields.pop("license-expression", "") or {"text": fields.get("license", "")}
    patched = f"(patched for {overlay.purpose})" if overlay.purpose else "(patched)"
    groups = {name: dict(points) for name, points in metadata.entry_points.items()}
    return {
        **fields,
        **_import_names(prepared, fields),
        "name": overlay.distribution,
        "description": f"{fields.get('description', '')} {patched}".strip(),
        "version": prepared.version,
        "requires-python": _requires_python(metadata),
        "readme": {"content-type": metadata.readme_type or "text/markdown", "text": _readme(prepared)},
        "license-files": list(prepared.licences),
        "scripts": dict(metadata.scripts),
        "gui-scripts": groups.pop("gui_scripts", {}),
        "entry-points": groups,
        "dependencies": [*without_extras(requires, stacked), companion],
        "optional-dependencies": {**_upstreams_extras(metadata), **_examined(overlay), **stacked},
    }


def _import_names(prepared: Prepared, fields: dict[str, Any]) -> dict[str, list[str]]:
    """Return, where upstream says what can be imported, what of that is shipped, and our summary."""
    own, below = fields.pop("import-names", []), fields.pop("import-namespaces", [])
    if not own and not below:
        return {}
    places = [f"{place.removesuffix('.py')}/" for place in prepared.shipped.values()]

    def shipped(names: list[str]) -> list[str]:
        # A name may be followed by a semicolon and what it is: "lib._core; private".
        folders = {name: f"{name.partition(';')[0].strip().replace('.', '/')}/" for name in names}
        return [name for name, folder in folders.items() if any(place.startswith(folder) for place in places)]

    summary = prepared.content.overlay.summary_package
    return {"import-names": [*shipped(own), summary], "import-namespaces": shipped(below)}


def _upstreams_extras(metadata: UpstreamMetadata) -> dict[str, list[str]]:
    """Return upstream's extras, each once: installers and hatchling take ``all_tests`` and ``all-tests`` for one."""
    return {canonicalize_name(extra): [] for extra in metadata.extras}


def _examined(overlay: Overlay) -> dict[str, list[str]]:
    """Return the extra that examines machines; any version will do: it is newer than the wheel on purpose."""
    return {DOCTOR: ["npu-doctor"]} if overlay.doctor else {}


def companion_table(prepared: Prepared) -> dict[str, Any]:
    """Return the ``[project]`` table of the companion.

    It holds none of upstream's files. Other packages require upstream's name and
    ask for its version; the companion answers both. It carries upstream's extras,
    because packages also require ``transformers[torch]``.
    """
    overlay = prepared.content.overlay
    metadata = prepared.loaded.metadata
    return {
        "name": overlay.pin.project,
        "version": prepared.version,
        "description": f"Empty: stands for {overlay.pin.project}, whose files {overlay.distribution} installs",
        "readme": {
            "content-type": "text/markdown",
            "text": f"{overlay.distribution} installs the files of {overlay.pin.project}, patched; here are none.\n"
            f"It answers packages that require {overlay.pin.project}.\n",
        },
        "requires-python": _requires_python(metadata),
        "dependencies": of_extras(rewritten_requires(metadata, _renames(prepared))),
        "optional-dependencies": _upstreams_extras(metadata),
    }


def companion_files(prepared: Prepared) -> list[WheelFile]:
    """Return what a companion holds beside its metadata: modules that say where the patched packages are."""
    overlay = prepared.content.overlay
    said = explanations(overlay.pin.project, prepared.version, overlay.distribution, prepared.shipped.values())
    return [WheelFile(place=place, content=content) for place, content in said.items()]


def _requires_python(metadata: UpstreamMetadata) -> str:
    """Return which Pythons a wheel is for: those of upstream's for which the merge is tried, and its summary runs."""
    return str(SpecifierSet(metadata.fields.get("requires-python", "")) & SpecifierSet(">=3.10"))


def _renames(prepared: Prepared) -> dict[str, str]:
    """Return, by upstream name, the requirement on the patched distribution that takes its place."""
    overlay = prepared.content.overlay
    own = {overlay.pin.project: f"{overlay.distribution}=={prepared.version}"}
    return {**{pair.project: pair.requirement for pair in prepared.loaded.pairs}, **own}


def _readme(prepared: Prepared) -> str:
    """Return the long description: what was changed, then upstream's own."""
    overlay = prepared.content.overlay
    count = len(prepared.files)
    record = changes.parse(canonical_json(prepared.record))
    statement = (
        f"> **{overlay.distribution}** is {provenance.upstream(record)}, {provenance.source(record)},"
        f" with {plural(count, 'file')} changed by the overlay {overlay.name}, {provenance.revision(record)}."
        f" `python -m {overlay.summary_package}` lists every change and why. It is not made by upstream.\n"
    )
    return f"{statement}\n{_upstream_readme(prepared)}"


def _upstream_readme(prepared: Prepared) -> str:
    """Return upstream's long description, the same text from git and from an archive."""
    tree = prepared.tree.upstream
    if tree.metadata:
        return tree.metadata.replace("\r\n", "\n").partition("\n\n")[2].strip() + "\n"
    readme = prepared.loaded.metadata.readme
    return tree.read(readme).decode("utf-8").replace("\r\n", "\n").strip() + "\n" if readme in tree else ""


def wheel_files(prepared: Prepared) -> list[WheelFile]:
    """Return every file of a wheel but its metadata, in the order in which hatchling walks through folders."""
    tree, shipped = prepared.tree, prepared.shipped
    kept = upstream_members(tree.upstream, prepared.content.overlay.pin)
    files = [_shipped(tree, kept, path, place) for path, place in shipped.items()]
    files += (WheelFile(place=place, content=content) for place, content in _explained(prepared))
    listed = canonical_json(manifest(prepared.record, [(file.place, _sha256(file)) for file in files]))
    package = prepared.content.overlay.summary_package
    files.append(WheelFile(place=f"{package}/manifest.json", content=listed))
    # A wheel has a folder called after itself for what lies outside the library folder.
    stem = f"{prepared.content.overlay.distribution.replace('-', '_')}-{prepared.version}"
    outside = (file for file in files if file.place.startswith(f"{SCHEMES}/"))
    renamed = {file.place: replace(file, place=f"{stem}{file.place}") for file in outside}
    return sorted((renamed.get(file.place, file) for file in files), key=_walked)


def _shipped(tree: PatchedTree, kept: Mapping[str, DeflatedMember], path: str, place: str) -> WheelFile:
    member = None if path in tree.changed else kept.get(tree.upstream.entries[path].blob)
    content = b"" if member else tree.after(path) or b""
    return WheelFile(place=place, content=content, executable=tree.is_executable(path), member=member)


def _sha256(file: WheelFile) -> str:
    return file.member.sha256 if file.member else hashlib.sha256(file.content).hexdigest()


def _walked(file: WheelFile) -> tuple[tuple[bool, str], ...]:
    """Return the order of a file among others: those of a folder by name, and then the folders in it."""
    *folders, name = file.place.split("/")
    return (*((True, folder) for folder in folders), (False, name))


def _explained(prepared: Prepared) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the summary package but for the manifest, which vouches for them: code, data, diff."""
    package = prepared.content.overlay.summary_package
    code = Path(npu_summary.__file__).parent
    for file in sorted(code.rglob("*")):
        path = file.relative_to(code).as_posix()
        if file.suffix in CODE:
            yield f"{package}/{path}", file.read_bytes()
    yield f"{package}/changes.json", canonical_json(prepared.record)
    yield f"{package}/changes.diff", unified_diff(prepared.tree).encode("utf-8", errors="surrogateescape")


def sdist_files(loaded: Loaded) -> dict[str, str]:
    """Return the files of an sdist by path on disk, with their place: all inputs, and what is read of partners."""
    overlay = loaded.overlay
    # The overlay's own as well: else a .gitignore could leave some of them out.
    placed = {str(file): name for name, file in layer_files(overlay.chain[-1])}
    if (overlay.folder / REVISIONS_FILE).is_file():
        placed[str(overlay.folder / REVISIONS_FILE)] = REVISIONS_FILE
    if overlay.root.name == BUNDLED:
        return placed  # the others are already in the sdist this is built from
    for place, layer in _bundled_layers(BUNDLED, overlay):
        placed |= {str(file): f"{place}/{name}" for name, file in layer_files(layer)}
    for partner in loaded.partners:
        home = f"{BUNDLED}/{partner.name}"
        for name in (CONFIG_FILE, LOCK_FILE):
            placed[str(partner.folder / name)] = f"{home}/{name}"
        # Its layers decide its name, and what its own file may say; what they change makes no difference here.
        for place, layer in _bundled_layers(f"{home}/{BUNDLED}", partner):
            placed[str(layer.folder / LAYER_FILE)] = f"{place}/{LAYER_FILE}"
    folder = loaded.stacks.folder
    files = [folder / f"{stack.name}.json" for stack in loaded.stacks.of(overlay.name)]
    for file in [*files, settings_file(folder)]:
        if file.is_file():
            placed[str(file)] = f"{BUNDLED}/{STACKS_FOLDER}/{file.relative_to(folder).as_posix()}"
    return placed


def _bundled_layers(home: str, overlay: Overlay) -> Iterator[tuple[str, Layer]]:
    """Yield where each layer of an overlay lies in an sdist."""
    for number, layer in enumerate(overlay.layers):
        yield f"{home}/{BUNDLED_LAYERS}/{number}/{layer.folder.name}", layer
