"""Configuration: an overlay's ``pyproject.toml`` → the checked `Overlay`, or all its mistakes at once."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.layers import Found, find_layers, inherited
from npu_overlays.overlay.pin_faults import archive_faults
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.overlay.settings import (
    check_paths,
    check_words,
    is_word,
    read_assigned,
    read_dependencies,
    read_drops,
    read_edits,
    read_files,
    read_packages,
    read_repository,
)
from npu_overlays.overlay.tables import Table, read_bytes, toml_of
from npu_overlays.sources.pin import Archive, Pin

BACKEND = "npu_overlays.backend"
BUILD_SYSTEM = f'[build-system]\nrequires = ["npu-overlays"]\nbuild-backend = "{BACKEND}"\n'
# Everything a pyproject.toml has to hold; docs/configuration.md shows one that is tried by a test.
MINIMAL = f"""{BUILD_SYSTEM}
[tool.overlay]
project = "NAME"               # upstream's distribution name
suffix = "SUFFIX"              # your wheel is called NAME-SUFFIX
packages = ["FOLDER"]          # folders of the repository that are shipped

[tool.overlay.upstream]
repository = "https://…"
commit = "…"                   # all 40 digits; or leave both out and pin a release archive
"""
_COMMIT = re.compile(r"[0-9a-f]{40}")


def load_overlay(folder: Path) -> Overlay:
    """Return the pin in `folder` with its layers; raises `ConfigError` with every mistake in their files."""
    file = folder / CONFIG_FILE
    problems: list[Problem] = []
    content = read_bytes(file)
    values = toml_of(content, file)
    if not isinstance(values.get("tool", {}), dict) or "overlay" not in values.get("tool", {}):
        what = "has no [tool.overlay], so it is no overlay"
        raise ConfigError(Problem(where=str(file), what=what, fix=f"write at least:\n\n{MINIMAL}"))
    document = Table(values, where=str(file), key="", problems=problems)
    own = document.table("tool").table("overlay")
    found = find_layers(folder, own)
    table = Table(inherited(values["tool"]["overlay"], found), where=str(file), key="tool.overlay", problems=problems)
    overlay = _read_overlay(folder, table, found)
    overlay = replace(overlay, own_not_built=own.texts("not-built"), text=content.decode("utf-8"))
    _check_build_settings(document, values)
    ConfigError.raise_for(dict.fromkeys(problems))
    return overlay


def _read_overlay(folder: Path, table: Table, found: list[Found]) -> Overlay:
    named = table.get("layers", list, [])
    pin = _read_pin(table)
    # Without the project or one of the layers that are named, what layers would add is unknown.
    is_whole = bool(pin.project or named) and len(found) >= len(named)
    hint = 'write suffix = "acme", for example: the wheel is called <project>-acme'
    overlay = Overlay(
        folder=folder,
        suffix=table.get("suffix", str, None if is_whole else "", hint=hint),
        purpose=table.get("purpose", str, ""),
        label=table.get("label", str, ""),
        revision=table.positive("revision", 0),
        doctor=table.get("doctor", bool, default=False),
        pin=pin,
        layers=tuple(one.layer for one in found),
        license_files=table.texts("license-files"),
        dependencies=read_dependencies(table),
        not_built=table.texts("not-built"),
        edits=read_edits(table),
        drops=read_drops(table),
        files=read_files(table),
        assigned=read_assigned(table),
    )
    check_words(table, {"suffix": overlay.suffix, "label": overlay.label, "purpose": overlay.purpose})
    _check_folder(overlay, table)
    if overlay.drops and not overlay.layers and is_whole:
        table.problem("drop", "there is nothing to drop without layers", "name layers, or delete the table")
    check_paths(table, "license-files", overlay.license_files)
    homes = [home for _, home in pin.homes]
    for home in sorted({home for home in homes if homes.count(home) > 1}):
        table.problem("packages", f"two of them would be installed as `{home}`", "name one of them only")
    table.refuse_others()
    return overlay


def _check_folder(overlay: Overlay, table: Table) -> None:
    """Check that the folder is named after the pin, if the pin was read."""
    pin, folder = overlay.pin, overlay.folder.name
    is_read = pin.project and pin.short and (not pin.commit or _COMMIT.fullmatch(pin.commit))
    if "@" in folder and is_read and folder != overlay.name:
        what = f"names {overlay.name}, but the folder is {folder}"
        fix = f"rename the folder to {overlay.name}, or correct what is pinned"
        started = folder.removeprefix(f"{overlay.name}-")
        if not overlay.label and is_word(started):
            fix = f'add label = "{started}" to tool.overlay, or rename the folder to {overlay.name}'
        table.problem("upstream.commit" if pin.commit else "upstream.archive", what, fix)


def _read_pin(table: Table) -> Pin:
    upstream = table.table("upstream", required=True)
    archives = tuple(_read_archive(archive) for archive in upstream.tables("archive"))
    # Of a release, the archive may be all there is; a commit that nobody has seen must not be needed.
    optional = "" if archives else None
    commit = upstream.get(
        "commit", str, optional, hint='write commit = "…", all 40 hex digits; or pin a release archive'
    )
    if commit and not _COMMIT.fullmatch(commit):
        upstream.problem("commit", f"`{commit}` is not a full commit id", "write all 40 hex digits, in lower case")
    if not commit and len(archives) > 1:
        what = "several archives are named, and no commit: only one archive can be the pin"
        upstream.problem("archive", what, "keep one of them, or write the commit they were made from")
    repository, mirrors = read_repository(upstream, required=bool(commit) or not archives)
    project = table.get("project", str)
    if project and canonicalize_name(project) != project:
        table.problem(
            "project", f"`{project}` is not a normalised distribution name", f"write {canonicalize_name(project)}"
        )
    packages, imports = read_packages(table)
    pin = Pin(
        project=project,
        repository=repository,
        mirrors=mirrors,
        commit=commit,
        tag=upstream.get("tag", str, ""),
        archives=archives,
        packages=packages,
        imports=imports,
    )
    upstream.refuse_others()
    return pin


def _read_archive(table: Table) -> Archive:
    archive = Archive(
        distribution=table.get("distribution", str),
        version=table.get("version", str),
        file=table.get("file", str),
        sha256=table.get("sha256", str),
    )
    for key, what, fix in archive_faults(archive):
        table.problem(key, what, fix)
    table.refuse_others()
    return archive


def _check_build_settings(document: Table, values: dict[str, Any]) -> None:
    """Refuse settings that would make a standard front end build something other than `npu-overlays build`."""
    system = values.get("build-system", {})
    backend: object = None
    names: list[str] = []
    if isinstance(system, dict):
        backend, requires = system.get("build-backend"), system.get("requires")
        if isinstance(requires, list):
            names = [str(one).replace("_", "-") for one in requires]
    if backend != BACKEND or not any(re.match(r"npu-overlays\b", name) for name in names):
        what = (
            f"must name npu-overlays, not {backend}" if backend and backend != BACKEND else "is missing or incomplete"
        )
        document.problem("build-system", what, f"write exactly:\n\n{BUILD_SYSTEM}")
    tool = values.get("tool")
    for key, is_there in (("project", "project" in values), ("tool.hatch", isinstance(tool, dict) and "hatch" in tool)):
        if is_there:
            document.problem(
                key, "is written by npu-overlays, from tool.overlay and the pin", f"delete the table [{key}]"
            )
