"""Configuration: an overlay's ``pyproject.toml`` in, the checked `Overlay` out; all mistakes are told at once."""

from __future__ import annotations

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

BACKEND = "npu_overlays.backend"
BUILD_SYSTEM = f'[build-system]\nrequires = ["npu-overlays"]\nbuild-backend = "{BACKEND}"\n'
# Everything a pyproject.toml has to hold; docs/overlay-language.md shows one that is tried by a test.
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
_WORD = re.compile(r"[a-z][a-z0-9]*")
# A label that reads as what a version says of its source would be taken for it.
_SOURCE = re.compile(r"[ga][0-9a-f]{7}")


def load_overlay(folder: Path) -> Overlay:
    """Return the configuration of the overlay in `folder`; raises `ConfigError` with every mistake of the file."""
    file = folder / CONFIG_FILE
    problems: list[Problem] = []
    values = load_toml(file)
    if not isinstance(values.get("tool", {}), dict) or "overlay" not in values.get("tool", {}):
        what = "has no [tool.overlay], so it is no overlay"
        raise ConfigError(Problem(where=str(file), what=what, fix=f"an overlay's file has at least:\n\n{MINIMAL}"))
    document = Table(values, where=str(file), key="", problems=problems)
    overlay = _read_overlay(folder, document.table("tool").table("overlay"))
    _check_build_settings(document, values)
    if problems:
        raise ConfigError(problems)
    return overlay


def _read_overlay(folder: Path, table: Table) -> Overlay:
    pin = _read_pin(table)
    overlay = Overlay(
        folder=folder,
        suffix=table.get("suffix", str, hint='suffix = "acme", say: the wheel is called <project>-acme'),
        purpose=table.get("purpose", str, ""),
        label=table.get("label", str, ""),
        revision=table.positive("revision", 1),
        doctor=table.get("doctor", bool, default=False),
        pin=pin,
        extends=table.get("extends", str, ""),
        drop=table.texts("drop"),
        license_files=table.texts("license-files"),
        dependencies=_read_dependencies(table),
        not_built=table.texts("not-built"),
        edits=tuple(_read_edit(edit) for edit in table.tables("edit")),
    )
    _check_names(overlay, table)
    if overlay.extends and not is_folder_name(overlay.extends):
        what = f"{overlay.extends!r} is not the name of an overlay beside this one"
        table.problem("extends", what, "write the name of its folder, without a path")
    if overlay.drop and not overlay.extends:
        table.problem("drop", "there is nothing to drop without extends", "add extends, or delete drop")
    _check_paths(table, "packages", pin.packages)
    _check_paths(table, "license-files", overlay.license_files)
    homes = [home for _, home in pin.homes]
    for home in sorted({home for home in homes if homes.count(home) > 1}):
        table.problem("packages", f"two of them would be installed as `{home}`", "ship one of them")
    table.refuse_others()
    return overlay


def _check_names(overlay: Overlay, table: Table) -> None:
    """Check what becomes part of names, and that the folder is called after the pin, as far as they are there."""
    pin, folder = overlay.pin, overlay.folder.name
    for key, value in (("suffix", overlay.suffix), ("label", overlay.label)):
        if value and not _WORD.fullmatch(value):
            table.problem(key, f"`{value}` is not one word of lower-case letters and digits", f'{key} = "acme", say')
    if _SOURCE.fullmatch(overlay.label):
        table.problem("label", f"`{overlay.label}` reads as a commit or a digest in the version", "choose another word")
    if not overlay.purpose.isprintable():
        table.problem("purpose", "holds characters that cannot be printed", "write one line of text")
    if "@" in folder and pin.project and pin.short and folder != overlay.name:
        what = f"names {overlay.name}, but the folder is {folder}"
        fix = f"rename the folder to {overlay.name}, or correct what is pinned"
        started = folder.removeprefix(f"{overlay.name}-")
        if not overlay.label and _WORD.fullmatch(started):
            fix = f'add label = "{started}" to tool.overlay, or rename the folder to {overlay.name}'
        table.problem("upstream.commit" if pin.commit else "upstream.archive", what, fix)


def _check_paths(table: Table, key: str, paths: Iterable[str]) -> None:
    for path in paths:
        if not is_plain_path(path):
            fix = "write it as git ls-files does, relative to the repository's root"
            table.problem(key, f"`{path}` is not a plain path inside the repository", fix)


def _read_pin(table: Table) -> Pin:
    upstream = table.table("upstream", required=True)
    archives = tuple(_read_archive(archive) for archive in upstream.tables("archive"))
    # Of a release, the archive may be all there is; a commit that nobody has seen must not be needed.
    optional = "" if archives else None
    commit = upstream.get("commit", str, optional, hint="the full commit id, 40 hex digits, or a release archive")
    if commit and not _COMMIT.fullmatch(commit):
        upstream.problem("commit", f"`{commit}` is not a full commit id", "write all 40 hex digits, lower case")
    if not commit and len(archives) > 1:
        what = "without a commit, the one archive is what is pinned"
        upstream.problem("archive", what, "keep one of them, or add the commit all of them were made from")
    repository = upstream.get("repository", str, None if commit else optional)
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
    packages, imports = _read_packages(table)
    pin = Pin(
        project=project,
        repository=repository,
        mirrors=upstream.texts("mirrors"),
        commit=commit,
        tag=upstream.get("tag", str, ""),
        archives=archives,
        packages=packages,
        imports=imports,
    )
    upstream.refuse_others()
    return pin


def _read_packages(table: Table) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the shipped folders, and the places of those whose path does not say how they are imported."""
    imports: list[tuple[str, str]] = []
    packages: list[str] = []
    for entry in table.get("packages", list, hint='packages = ["NAME"]: folders of the repository that are shipped'):
        name = entry.get("import") if isinstance(entry, dict) else ""
        path = entry.get("path") if isinstance(entry, dict) else entry
        if not isinstance(path, str) or not isinstance(name, str) or (isinstance(entry, dict) and len(entry) != 2):  # noqa: PLR2004  # path and import
            table.problem(
                "packages", f"{entry!r} is no folder", 'write "src/lib", or { path = "python/lib", import = "lib" }'
            )
            continue
        if name and not all(part.isidentifier() for part in name.split(".")):
            table.problem("packages", f"`{name}` cannot be imported", 'write import = "lib", or "space.lib"')
        packages.append(path)
        imports += [(path, name.replace(".", "/") + (".py" if path.endswith(".py") else ""))] if name else []
    if not packages and "packages" in table.keys():  # noqa: SIM118  # a method of Table
        table.problem("packages", "is empty", 'packages = ["NAME"]')
    return tuple(packages), tuple(imports)


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
            what = f"`{dependency}` is not a requirement: {error}".splitlines()[0]
            table.problem("dependencies", what, 'write it as pip takes it: "einops>=0.7"')
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


def _check_build_settings(document: Table, values: dict[str, Any]) -> None:
    """Refuse settings under which a standard front end would build something else than `npu-overlays build`."""
    system = values.get("build-system", {})
    backend = system.get("build-backend") if isinstance(system, dict) else None
    requires = system.get("requires") if isinstance(system, dict) else None
    names = [str(one).replace("_", "-") for one in requires] if isinstance(requires, list) else []
    if backend != BACKEND or not any(re.match(r"npu-overlays\b", name) for name in names):
        what = f"must name npu-overlays, not {backend}" if backend and backend != BACKEND else "missing, or incomplete"
        document.problem("build-system", what, f"write exactly:\n\n{BUILD_SYSTEM}")
    for key in ("project", "tool.hatch"):
        if _holds(values, key):
            document.problem(key, "follows from tool.overlay and what is pinned", f"delete the table [{key}]")


def _holds(values: Any, dotted: str) -> bool:  # what TOML holds
    for key in dotted.split("."):
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True
