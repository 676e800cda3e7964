"""Project tables: a prepared build → the `[project]` tables of its wheel and its companion, for hatchling."""

from __future__ import annotations

from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.files import canonical_json
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stack_requirements import DOCTOR, without_extras
from npu_overlays.pipeline.preparation import Prepared
from npu_overlays.wheels.requirements import of_extras, rewritten_requires
from npu_summary import changes, provenance
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
    """Return the shipped ones of upstream's import names, and our summary's; nothing if upstream states none."""
    own, below = fields.pop("import-names", []), fields.pop("import-namespaces", [])
    if not own and not below:
        return {}
    places = [f"{place.removesuffix('.py')}/" for place in prepared.shipped.values()]

    def is_shipped(name: str) -> bool:
        # A name may be followed by a semicolon and what it is: "lib._core; private".
        folder = f"{name.partition(';')[0].strip().replace('.', '/')}/"
        return any(place.startswith(folder) for place in places)

    summary = prepared.content.overlay.summary_package
    return {
        "import-names": [*filter(is_shipped, own), summary],
        "import-namespaces": list(filter(is_shipped, below)),
    }


def _upstreams_extras(metadata: UpstreamMetadata) -> dict[str, list[str]]:
    """Return upstream's extras, each once: installers and hatchling take ``all_tests`` and ``all-tests`` for one."""
    return {canonicalize_name(extra): [] for extra in metadata.extras}


def _examined(overlay: Overlay) -> dict[str, list[str]]:
    """Return the extra that installs npu-doctor, in any version: newer ones than the wheel are welcome."""
    return {DOCTOR: ["npu-doctor"]} if overlay.doctor else {}


def companion_table(prepared: Prepared) -> dict[str, Any]:
    """Return the ``[project]`` table of the companion.

    It holds none of upstream's files. Other packages require upstream's name and read its version; the companion has
    both. It carries upstream's extras, because packages also require ``transformers[torch]``.
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


def _requires_python(metadata: UpstreamMetadata) -> str:
    """Return the Pythons a wheel is for: upstream's, but none on which the merge is not tested."""
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
