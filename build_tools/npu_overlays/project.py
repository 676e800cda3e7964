"""Projects: an overlay's folder in, its checked configuration out."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from npu_overlays.errors import ConfigError, OverlayError, Problem
from npu_overlays.pin import Archive, Pin
from npu_overlays.tables import Table, load_toml

CONFIG_FILE = "pyproject.toml"
STACKS_FILE = "stacks.toml"
# In an sdist, which is one folder, the overlays it depends on lie below it under this name.
BUNDLED = "_overlays"
METADATA_VERSIONS = ("2.1", "2.2", "2.3", "2.4")


@dataclass(frozen=True, kw_only=True)
class TextEdit:
    """One counted substitution in files that are not Python."""

    paths: tuple[str, ...]
    find: str
    replace: str
    count: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """An overlay project.

    Args:
        name: ``<project>@<first seven digits of the commit>``.
        folder: where it lies.
        distribution: name of the wheel it builds, ``verl-npu``.
        revision: counts releases of this overlay on this pin, from 1.
        pin: the upstream commit.
        extends: name of the overlay whose files it takes over, or empty.
        drop: what of those it leaves out: ``path`` or ``path:Symbol``.
        license_files: repository paths of upstream's licence and notice.
        dependencies: requirements added to upstream's.
        edits: substitutions in non-Python files.
    """

    name: str
    folder: Path
    distribution: str
    revision: int
    pin: Pin
    extends: str = ""
    drop: tuple[str, ...] = ()
    license_files: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    edits: tuple[TextEdit, ...] = ()

    @property
    def summary_package(self) -> str:
        """Import name of the summary package in its wheel."""
        return f"{self.pin.project.replace('-', '_')}_npu_summary"

    @property
    def root(self) -> Path:
        """The folder in which the overlays it refers to lie."""
        bundled = self.folder / BUNDLED
        return bundled if bundled.is_dir() else self.folder.parent

    def version(self, upstream: str) -> str:
        """Return the wheel's version, given upstream's: a local version that names revision and commit."""
        separator = "." if "+" in upstream else "+"
        return f"{upstream}{separator}npu.{self.revision}.g{self.pin.short}"


def load_overlay(folder: Path) -> Overlay:
    """Return the configuration of the overlay in `folder`; raises `ConfigError` with every mistake of the file."""
    file = folder / CONFIG_FILE
    problems: list[Problem] = []
    document = Table(load_toml(file), where=str(file), key="", problems=problems)
    project = document.table("project", required=True)
    tool = document.table("tool", required=True)
    overlay = _read_overlay(folder, project, tool.table("overlay", required=True), problems)
    _check_build_settings(document, tool, project)
    if problems:
        raise ConfigError(problems)
    return overlay


def _read_overlay(folder: Path, project: Table, table: Table, problems: list[Problem]) -> Overlay:
    pin = _read_pin(table)
    name = f"{pin.project}@{pin.short}"
    if "@" in folder.name and folder.name != name and not problems:
        table.problem(
            "upstream.commit", f"names {name}, but the folder is {folder.name}", f"rename the folder to {name}"
        )
    revision = table.get("revision", int, hint="revision = 1")
    if revision < 1 and not problems:
        table.problem("revision", "counts from 1", "revision = 1")
    overlay = Overlay(
        name=name,
        folder=folder,
        distribution=project.get("name", str),
        revision=revision,
        pin=pin,
        extends=table.get("extends", str, ""),
        drop=table.texts("drop"),
        license_files=table.texts("license-files"),
        dependencies=_read_dependencies(table),
        edits=tuple(_read_edit(edit) for edit in table.tables("edit")),
    )
    if overlay.drop and not overlay.extends:
        table.problem("drop", "there is nothing to drop without extends", "add extends, or delete drop")
    if overlay.distribution and overlay.distribution != f"{pin.project}-npu":
        project.problem("name", f"must be `{pin.project}-npu` for the project `{pin.project}`", "")
    for path in (*pin.packages, *overlay.license_files, *(path for edit in overlay.edits for path in edit.paths)):
        if not is_plain_path(path):
            table.problem(
                "packages, license-files, edit.paths", f"`{path}` is not a plain path inside the repository", ""
            )
    table.refuse_others()
    return overlay


def is_plain_path(path: str) -> bool:
    """Return whether a text is a relative POSIX path that stays inside its root."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and "\\" not in path and not {"..", ".git"} & set(parts)


def _read_pin(table: Table) -> Pin:
    upstream = table.table("upstream", required=True)
    commit = upstream.get("commit", str, hint="the full commit id, 40 hex digits")
    if commit and not re.fullmatch(r"[0-9a-f]{40}", commit):
        upstream.problem("commit", f"`{commit}` is not a full commit id", "write all 40 hex digits, lower case")
    repository = upstream.get("repository", str)
    for url in (repository, *upstream.texts("mirrors")):
        if "@" in url.partition("://")[2].partition("/")[0]:
            upstream.problem(
                "repository", "holds a user name or password", "leave credentials to git's credential helper"
            )
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
    if archive.sha256 and not re.fullmatch(r"[0-9a-f]{64}", archive.sha256):
        table.problem("sha256", f"`{archive.sha256}` is not a sha256", "64 hex digits, lower case")
    if archive.file and not archive.file.endswith((".whl", ".tar.gz", ".zip")):
        table.problem("file", f"`{archive.file}` is neither a wheel nor an sdist", "name a .whl or .tar.gz file")
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
        find=table.get("find", str),
        replace=table.get("replace", str),
        count=table.get("count", int, 1),
        why=table.get("why", str),
    )
    if not edit.why.strip():
        table.problem("why", "says nothing", "the reason, one sentence for a user of the wheel")
    if edit.count < 1:
        table.problem("count", "must be at least 1", "")
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
    if "version" not in project.texts("dynamic"):
        project.problem("dynamic", "must hold `version`: it follows from the pin", 'dynamic = ["version", …]')


def overlay_folders(root: Path) -> list[Path]:
    """Return the folders of all overlays below `root`, sorted by name."""
    return sorted(file.parent for file in root.glob(f"*@*/{CONFIG_FILE}"))


def find_overlay(root: Path, name: str) -> Overlay:
    """Return the overlay of that name, or whose pinned tag or commit is `<project>@<tag or commit>`.

    Raises:
        ConfigError: where none or several fit, naming the nearest.
    """
    folder = root / name
    if (folder / CONFIG_FILE).is_file():
        return load_overlay(folder)
    project, _, revision = name.partition("@")
    fits = [
        overlay
        for overlay in _readable_overlays(root, project)
        if not revision
        or revision in (overlay.pin.tag, overlay.pin.tag.removeprefix("v"))
        or (len(revision) >= len(overlay.pin.short) and overlay.pin.commit.startswith(revision))
    ]
    if len(fits) == 1:
        return fits[0]
    known = [folder.name for folder in overlay_folders(root)]
    if fits:
        what, fix = f"stands for {len(fits)} overlays", f"one of: {', '.join(overlay.name for overlay in fits)}"
    else:
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
        what = f"no such overlay in {root}" + (f"; nearest: {nearest[0]}" if nearest else "")
        fix = f"one of: {', '.join(known)}" if known else "name the folder of overlays with --overlays"
    raise ConfigError(Problem(where=name, what=what, fix=fix))


def _readable_overlays(root: Path, project: str) -> list[Overlay]:
    """Return a project's overlays, passing over those with mistakes: they are reported when they are asked for."""
    overlays = []
    for folder in overlay_folders(root):
        if folder.name.partition("@")[0] == project:
            try:
                overlays.append(load_overlay(folder))
            except OverlayError:
                continue
    return overlays


def lineage(overlay: Overlay) -> tuple[Overlay, ...]:
    """Return the overlay and those it extends, oldest first; raises `ConfigError` on a cycle or another project."""
    chain = [overlay]
    while chain[-1].extends:
        where = f"{chain[-1].folder / CONFIG_FILE}: tool.overlay.extends"
        name = chain[-1].extends
        if name in (known.name for known in chain):
            circle = " → ".join([*(known.name for known in chain), name])
            raise ConfigError(Problem(where=where, what=f"goes round in a circle: {circle}", fix="break the circle"))
        base = find_overlay(overlay.root, name)
        if base.pin.project != overlay.pin.project:
            raise ConfigError(Problem(where=where, what=f"{name} is an overlay of another project", fix=""))
        chain.append(base)
    return tuple(reversed(chain))
