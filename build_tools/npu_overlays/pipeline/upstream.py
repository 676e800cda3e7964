"""Upstream: an overlay → its pinned tree, refused if no honest wheel can be made from it, and its metadata."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from email.parser import HeaderParser
from functools import partial
from pathlib import Path
from typing import Any

from npu_overlays.contracts.core_metadata import parse_metadata
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.errors import ConfigError, MergeError, Problem, SourceError, collected
from npu_overlays.overlay.bounds import version_of
from npu_overlays.overlay.compiled import check_compiled
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.overlay.tables import parse_toml, place_in
from npu_overlays.pipeline.licences import licence_files
from npu_overlays.pipeline.omitted_files import check_left_out, check_named
from npu_overlays.progress import step
from npu_overlays.sources import acquisition
from npu_overlays.sources.tree import SourceTree
from npu_summary.changes import SCHEMES

# Metadata versions in which an sdist does not say which of its fields hold for every wheel.
_SILENT = ("", "1.0", "1.1", "1.2", "2.0", "2.1")
_KINDS = (f"{SCHEMES}/scripts", f"{SCHEMES}/data")
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][\w.]*)", re.MULTILINE)
_ACTED_UPON = {"requires-dist", "provides-extra", "requires-python"}


def acquire(overlay: Overlay, mode: acquisition.Mode, clone: Path | None, *, read: bool = True) -> SourceTree:
    """Return the pinned upstream tree of an overlay, with shipped files read at once unless `read` is false.

    Raises `OverlayError` where its packages cannot be shipped.
    """
    tree = acquisition.acquire(overlay.pin, mode=mode, local=clone, progress=step, read=read)
    check_shipped(overlay, tree)
    return tree


def check_shipped(overlay: Overlay, tree: SourceTree) -> None:
    """Refuse packages that cannot be shipped, and packages and licence files that upstream does not hold."""
    # First: a package that is a submodule by now holds no files of the commit either.
    if links := [path for path in tree.links if overlay.pin.place(path)]:
        what = f"a shipped package holds symbolic links or submodules: {', '.join(sorted(links))}"
        where = place_in(overlay.folder / CONFIG_FILE, "tool.overlay.packages")
        raise MergeError(Problem(where=where, what=what, fix="name other packages: a wheel cannot hold these"))
    _check_packages(overlay, tree)


def absent(overlay: Overlay, tree: SourceTree) -> list[tuple[str, str]]:
    """Return each shipped package and licence file that upstream does not hold, with the setting that names it."""
    if tree.source.kind != "git" and overlay.pin.commit:
        return []  # what an archive lacks of a commit, the lock knows
    folders: set[str] = set()
    for path in tree.entries:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    missing: list[tuple[str, str]] = []
    for path in overlay.pin.packages:
        if path not in folders and path not in tree:
            missing.append(("packages", path))
    for path in overlay.license_files:
        if tree.licence(path) is None:
            missing.append(("license-files", path))
    return missing


def _check_packages(overlay: Overlay, tree: SourceTree) -> None:
    """Refuse packages and licence files upstream does not hold."""
    pin = overlay.pin
    where = partial(place_in, overlay.folder / CONFIG_FILE)
    holder = "the commit" if pin.commit else tree.source.archive
    problems: list[Problem] = []
    for key, path in absent(overlay, tree):
        problems.append(
            Problem(where=where(f"tool.overlay.{key}"), what=f"{holder} holds no `{path}`", fix="correct the path")
        )
    for path in pin.packages:
        if path in tree and not path.endswith(".py") and not tree.wheel:
            fix = "name folders and .py files only"
            problems.append(Problem(where=where("tool.overlay.packages"), what=f"`{path}` is no module", fix=fix))
    for path in pin.packages:
        if f"{path}/".startswith(f"{SCHEMES}/") and not f"{path}/".startswith(tuple(f"{kind}/" for kind in _KINDS)):
            fix = f"name {' or '.join(_KINDS)}"
            problems.append(Problem(where=where("tool.overlay.packages"), what=f"`{path}` cannot be shipped", fix=fix))
    ConfigError.raise_for(problems)


def check_shape(overlay: Overlay, tree: SourceTree, releases: Iterable[SourceTree] = ()) -> None:
    """Refuse a tree from which no honest wheel can be made; pinned archives beside it tell more of it."""
    problems: list[Problem] = []
    checks = (
        lambda: check_compiled(overlay, tree),
        lambda: check_import_names(overlay, tree),
        lambda: check_left_out(overlay, tree, releases),
        lambda: check_named(overlay, (tree, *releases)),
        lambda: licence_files(overlay, tree),
    )
    for check in checks:
        with collected(problems, MergeError):
            check()
    MergeError.raise_for(problems)


def check_import_names(overlay: Overlay, tree: SourceTree) -> None:
    """Refuse a package whose own modules import it by another name than the wheel would give it.

    Raises:
        MergeError: with each such package.
    """
    explicit = dict(overlay.pin.imports)
    problems = []
    for top, home in overlay.pin.homes:
        if tree.wheel or "/" not in home or top in explicit:
            continue
        used = _imported_names(tree, top)
        dotted, short = home.replace("/", "."), home.rpartition("/")[2]
        if dotted not in used and short in used and short not in sys.stdlib_module_names:
            what = f"{top} would be installed as `{dotted}`, and its modules import `{short}`"
            fix = f'write {{ path = "{top}", import = "{short}" }} instead of "{top}"'
            where = place_in(overlay.folder / CONFIG_FILE, "tool.overlay.packages")
            problems.append(Problem(where=where, what=what, fix=fix))
    MergeError.raise_for(problems)


def _imported_names(tree: SourceTree, top: str) -> set[str]:
    """Return the modules that the files of a package import, with the packages around them."""
    found: set[str] = set()
    for path in tree.entries:
        if path.startswith(f"{top}/") and path.endswith(".py"):
            for match in _IMPORT.findall(tree.read(path)):
                parts = match.decode().split(".")
                found |= {".".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    return found


def upstream_metadata(tree: SourceTree) -> UpstreamMetadata:
    """Return the metadata of upstream's own wheel; raises `SourceError`.

    For git, and for an sdist that does not tell them for certain, this runs upstream's build backend in an isolated
    environment, which is set up from the user's package index.
    """
    readme = next((path for path in tree.entries if path.lower() in ("readme.md", "readme.rst", "readme.txt")), "")
    entry_points = tree.entry_points if tree.wheel else sdist_entry_points(tree)
    if _tells(tree) and entry_points is not None:
        return parse_metadata(tree.metadata, entry_points, readme=readme or "README.md")
    step("asking upstream's build backend for its metadata")
    text, built = _run_backend(tree)
    return parse_metadata(text, built, readme=readme)


def released_version(tree: SourceTree) -> str:
    """Return upstream's version: every archive tells it, for git its backend does; raises `SourceError`."""
    if tree.metadata:
        return str(HeaderParser().parsestr(tree.metadata)["Version"])
    return upstream_metadata(tree).version


def configured_version(tree: SourceTree) -> str:
    """Return the version that pyproject.toml states for setuptools, perhaps in a file; empty if only the backend knows.

    A setup.cfg may append something to it.
    """
    values = parse_toml(tree.read("pyproject.toml")) if "pyproject.toml" in tree else {}
    system, project = _inner(values, "build-system"), _inner(values, "project")
    if system.get("build-backend") != "setuptools.build_meta" or "backend-path" in system or "setup.cfg" in tree:
        return ""
    file = _inner(values, "tool", "setuptools", "dynamic", "version").get("file")
    stated = project.get("version")
    if stated is None and isinstance(file, str) and file in tree:
        stated = tree.read(file).decode("utf-8", "replace").strip()
    found = version_of(stated) if isinstance(stated, str) else None
    return str(found) if found else ""


def _inner(values: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return a table in upstream's TOML; empty if there is none."""
    for key in keys:
        inner = values.get(key)
        values = inner if isinstance(inner, dict) else {}
    return values


def _tells(tree: SourceTree) -> bool:
    """Return whether an archive's metadata equal those of the wheel that upstream's backend would build from it.

    An sdist's do from version 2.2 on, if no field for installers is dynamic. Older ones may lack every requirement.
    """
    if tree.wheel or not tree.metadata:
        return bool(tree.metadata)
    said = HeaderParser().parsestr(tree.metadata)
    dynamic = {str(name).strip().lower() for name in said.get_all("Dynamic", [])}
    return str(said["Metadata-Version"] or "").strip() not in _SILENT and not dynamic & _ACTED_UPON


def sdist_entry_points(tree: SourceTree) -> str | None:
    """Return the entry points of an sdist as the text a wheel holds; None if only its backend can tell.

    An sdist does not have to list them: setuptools does, others say them in pyproject.toml.
    """
    infos = [path for path in tree.entries if path.endswith(".egg-info/SOURCES.txt")]
    if infos:
        listed = f"{infos[0].rpartition('/')[0]}/entry_points.txt"
        return tree.read(listed).decode("utf-8") if listed in tree else ""
    project = parse_toml(tree.read("pyproject.toml")).get("project") if "pyproject.toml" in tree else None
    if not isinstance(project, dict) or {"scripts", "gui-scripts", "entry-points"} & set(project.get("dynamic", [])):
        return None
    groups = {"console_scripts": project.get("scripts", {}), "gui_scripts": project.get("gui-scripts", {})}
    groups |= project.get("entry-points", {})
    lines: list[str] = []
    for name, points in groups.items():
        if points:
            lines.append(f"[{name}]\n")
            lines += (f"{key} = {value}\n" for key, value in points.items())
    return "".join(lines)


def _no_metadata(tree: SourceTree, why: str, fix: str) -> SourceError:
    where = tree.source.archive or tree.source.commit
    return SourceError(Problem(where=where, what=f"upstream's build backend gave no metadata: {why}", fix=fix))


def _run_backend(tree: SourceTree) -> tuple[str, str]:
    from build import BuildBackendException, BuildException, ProjectBuilder  # noqa: PLC0415  # only `lock` asks
    from build.env import DefaultIsolatedEnv  # noqa: PLC0415
    from pyproject_hooks import quiet_subprocess_runner  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="npu-overlays-metadata-") as folder:
        unpacked = Path(folder, "source")
        tree.unpack(unpacked)
        try:
            with warnings.catch_warnings(), DefaultIsolatedEnv() as environment:
                warnings.simplefilter("ignore")  # the backend's opinion of upstream's configuration
                builder = ProjectBuilder.from_isolated_env(environment, unpacked, runner=quiet_subprocess_runner)
                environment.install(builder.build_system_requires)
                environment.install(builder.get_requires_for_build("wheel"))
                info = Path(builder.metadata_path(Path(folder, "metadata")))
        except (BuildException, BuildBackendException) as error:
            raise _no_metadata(tree, str(error), "run it again with --verbose to see its output") from error
        except subprocess.CalledProcessError as error:
            lines = (error.stderr or b"").decode(errors="replace").splitlines()
            listed = [line for line in lines if line.startswith("ERROR: ")]
            what = f"pip cannot install what it requires: {listed[-1].removeprefix('ERROR: ') if listed else error}"
            raise _no_metadata(tree, what, "see that pip reaches an index that has it") from error
        entry_points = info / "entry_points.txt"
        return (info / "METADATA").read_text("utf-8"), entry_points.read_text("utf-8") if entry_points.is_file() else ""
