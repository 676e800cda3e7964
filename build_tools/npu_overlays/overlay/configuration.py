"""Configuration: an overlay's ``pyproject.toml`` in, the checked `Overlay` out; all mistakes are told at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.pins import TRANSPORTS, archive_faults, is_folder_name, url_fault
from npu_overlays.overlay.project import CONFIG_FILE, Overlay, TextEdit, is_plain_path
from npu_overlays.overlay.tables import Table, load_toml
from npu_overlays.pin import Archive, Pin

METADATA_VERSIONS = ("2.1", "2.2", "2.3", "2.4")
# What the metadata hook sets; hatchling wants each to be announced in ``project.dynamic``.
DYNAMIC_FIELDS = (
    "authors",
    "classifiers",
    "dependencies",
    "description",
    "keywords",
    "license",
    "optional-dependencies",
    "readme",
    "requires-python",
    "scripts",
    "urls",
    "version",
)
_COMMIT = re.compile(r"[0-9a-f]{40}")


def load_overlay(folder: Path) -> Overlay:
    """Return the configuration of the overlay in `folder`; raises `ConfigError` with every mistake of the file."""
    file = folder / CONFIG_FILE
    problems: list[Problem] = []
    document = Table(load_toml(file), where=str(file), key="", problems=problems)
    project = document.table("project", required=True)
    tool = document.table("tool", required=True)
    overlay = _read_overlay(folder, project, tool.table("overlay", required=True))
    _check_build_settings(document, tool, project)
    if problems:
        raise ConfigError(problems)
    return overlay


def _read_overlay(folder: Path, project: Table, table: Table) -> Overlay:
    pin = _read_pin(table)
    overlay = Overlay(
        name=f"{pin.project}@{pin.short}",
        folder=folder,
        distribution=project.get("name", str),
        revision=table.positive("revision"),
        pin=pin,
        extends=table.get("extends", str, ""),
        drop=table.texts("drop"),
        license_files=table.texts("license-files"),
        dependencies=_read_dependencies(table),
        edits=tuple(_read_edit(edit) for edit in table.tables("edit")),
    )
    _check_names(overlay, project, table)
    if overlay.extends and not is_folder_name(overlay.extends):
        what = f"{overlay.extends!r} is not the name of an overlay beside this one"
        table.problem("extends", what, "write the name of its folder, without a path")
    if overlay.drop and not overlay.extends:
        table.problem("drop", "there is nothing to drop without extends", "add extends, or delete drop")
    _check_paths(table, "packages", pin.packages)
    _check_paths(table, "license-files", overlay.license_files)
    tops = [package.rpartition("/")[2] for package in pin.packages]
    for top in sorted({top for top in tops if tops.count(top) > 1}):
        table.problem("packages", f"two of them would be installed as `{top}`", "ship one of them")
    table.refuse_others()
    return overlay


def _check_names(overlay: Overlay, project: Table, table: Table) -> None:
    """Check that folder, project and distribution are named after each other, as far as they are there."""
    pin, folder = overlay.pin, overlay.folder.name
    if "@" in folder and pin.project and _COMMIT.fullmatch(pin.commit) and folder != overlay.name:
        what = f"names {overlay.name}, but the folder is {folder}"
        table.problem("upstream.commit", what, f"rename the folder to {overlay.name}, or correct the commit")
    if overlay.distribution and pin.project and overlay.distribution != f"{pin.project}-npu":
        what = f"must be `{pin.project}-npu` for the project `{pin.project}`, not `{overlay.distribution}`"
        project.problem("name", what, "correct one of the two")


def _check_paths(table: Table, key: str, paths: Iterable[str]) -> None:
    for path in paths:
        if not is_plain_path(path):
            fix = "write it as git ls-files does, relative to the repository's root"
            table.problem(key, f"`{path}` is not a plain path inside the repository", fix)


def _read_pin(table: Table) -> Pin:
    upstream = table.table("upstream", required=True)
    commit = upstream.get("commit", str, hint="the full commit id, 40 hex digits")
    if commit and not _COMMIT.fullmatch(commit):
        upstream.problem("commit", f"`{commit}` is not a full commit id", "write all 40 hex digits, lower case")
    repository = upstream.get("repository", str)
    for key, urls in (("repository", (repository,)), ("mirrors", upstream.texts("mirrors"))):
        for fault in filter(None, (url_fault(url) for url in urls if url)):
            # Not the URL itself: it may hold a password.
            fix = f"a URL of {', '.join(TRANSPORTS)}, or host:path; git's credential helper keeps passwords"
            upstream.problem(key, fault, fix)
    project = table.get("project", str)
    if project and canonicalize_name(project) != project:
        table.problem(
            "project", f"`{project}` is not a normalised distribution name", f"write {canonicalize_name(project)}"
        )
    pin = Pin(
        project=project,
        repository=repository,
        mirrors=upstream.texts("mirrors"),
        commit=commit,
        tag=upstream.get("tag", str, ""),
        archives=tuple(_read_archive(archive) for archive in upstream.tables("archive")),
        packages=table.texts("packages", required=True),
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


def _read_dependencies(table: Table) -> tuple[str, ...]:
    dependencies = table.texts("dependencies")
    for dependency in dependencies:
        try:
            Requirement(dependency)
        except InvalidRequirement as error:
            table.problem("dependencies", f"`{dependency}` is not a requirement: {error}".splitlines()[0], "")
    return dependencies


def _read_edit(table: Table) -> TextEdit:
    edit = TextEdit(
        paths=table.texts("paths", required=True),
        find=table.filled("find"),
        replace=table.get("replace", str),
        count=table.positive("count", 1),
        why=table.filled("why", hint="the reason, one sentence for a user of the wheel"),
    )
    if edit.find and edit.find == edit.replace:
        table.problem("replace", "is the same as find", "say what takes its place, or delete the edit")
    _check_paths(table, "paths", edit.paths)
    for path in edit.paths:
        if path.endswith(".py"):
            table.problem("paths", f"`{path}` is Python", "use @edited in a merge module")
    table.refuse_others()
    return edit


def _check_build_settings(document: Table, tool: Table, project: Table) -> None:
    """Refuse settings under which a standard front end would build something else than `npu-overlays build`."""
    backend = document.table("build-system", required=True).get("build-backend", str)
    if backend and backend != "hatchling.build":
        document.problem("build-system.build-backend", f"must be hatchling.build, not {backend}", "")
    hatch = tool.table("hatch", required=True)
    for kind in ("metadata", "build"):
        hooks: dict[str, Any] = hatch.table(kind).get("hooks", dict, {})
        if "npu-overlays" not in hooks:
            hatch.problem(f"{kind}.hooks.npu-overlays", "missing", f"add [tool.hatch.{kind}.hooks.npu-overlays]")
    targets = hatch.table("build").table("targets")
    for target in ("wheel", "sdist"):
        version = targets.table(target).get("core-metadata-version", str, hint='core-metadata-version = "2.4"')
        if version and version not in METADATA_VERSIONS:
            targets.problem(f"{target}.core-metadata-version", f"{version} is refused by some indexes", "at most 2.4")
    missing = [field for field in DYNAMIC_FIELDS if field not in project.texts("dynamic")]
    if missing:
        what = f"must announce what follows from the pin; missing: {', '.join(missing)}"
        project.problem("dynamic", what, f"dynamic = {json.dumps(DYNAMIC_FIELDS)}")
    for field in project.among((*DYNAMIC_FIELDS, "entry-points", "gui-scripts")):
        project.problem(field, "follows from the pin and cannot be set", f"delete {field}")
