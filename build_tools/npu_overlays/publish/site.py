"""Site: a Sphinx project, wheels and reports → pages for a browser with the index beside them, whole or unchanged."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from urllib.parse import quote

from npu_doctor.knowledge import load
from npu_overlays import process
from npu_overlays.errors import ConfigError, OutputError, Problem
from npu_overlays.files import canonical_json, scratch, writing
from npu_overlays.progress import step
from npu_overlays.publish.index_update import IndexRequest, UpdatedIndex, update_index
from npu_overlays.publish.site_data import PatchedWheel, read_patched_wheels, site_data
from npu_overlays.wheels.inspection import wheel_page, wheel_summary

_INDEX = "simple"
# A folder with this file is a site, which may be replaced; to a machine it tells the wheels and stacks there are.
_DATA = "site.json"
_NEEDED = ("sphinx", "myst_parser", "furo", "sphinx_copybutton")
# Options of Sphinx by the folder of a language below the site.
_LANGUAGES: Mapping[str, tuple[str, ...]] = {"": (), "zh-CN": ("--tag", "zh")}
_TIMEOUT = 600.0
_WARNING = re.compile(r"^(?P<where>/[^:\n]+(?::\d+)?):+ *(?:WARNING|ERROR|CRITICAL): (?P<what>.*)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class SiteRequest:
    """A site that a user asks for."""

    folders: tuple[Path, ...]  # of wheels and source distributions
    documents: Path  # a Sphinx project, as ``docs/`` is
    out: Path  # the folder of the site
    index_url: str = ""  # the address that the index will have; empty where only the pages' reader knows it
    drift: tuple[Path, ...] = ()  # reports of `npu-overlays drift`


@dataclass(frozen=True, kw_only=True)
class BuiltSite:
    """A site that was built."""

    wheels: tuple[str, ...]  # titles of the patched wheels
    stacks: tuple[str, ...]  # names of those that can be installed
    index: UpdatedIndex | None  # the updated index; None where nothing is to be on it


def build_site(request: SiteRequest) -> BuiltSite:
    """Build a site in place of the one that was there; the index in it is brought up to date.

    Raises:
        ConfigError: there is no Sphinx project.
        OutputError: a wheel or a report cannot be read, Sphinx warns of something, for example of a link to no page,
            or is not installed, or the folder cannot be written or is no site. Then the site is unchanged.
    """
    _check(request)
    reports = _read_reports(request.drift)
    wheels = read_patched_wheels(request.folders)
    data = site_data(wheels, request.folders, load(), request.index_url)
    data["reports"] = list(map(_report_link, reports.items()))
    with writing(request.out, option="--out"):
        request.out.parent.mkdir(parents=True, exist_ok=True)
        with scratch(request.out.parent) as folder:
            made = folder / "site"
            (folder / _DATA).write_bytes(canonical_json(data))
            for place in _LANGUAGES:
                _run_sphinx(request.documents, place, folder)
            (folder / _DATA).rename(made / _DATA)
            _write_patches(wheels, made / "changes")
            for name, report in reports.items():
                _write(made / "reports" / name, report)
            index = _update_index(request, made)
            _swap(made, request.out, folder / "before")
    titles, stacks = map(itemgetter("title"), data["wheels"]), map(itemgetter("name"), data["stacks"])
    return BuiltSite(wheels=tuple(titles), stacks=tuple(stacks), index=index)


def _check(request: SiteRequest) -> None:
    """Raise an error where Sphinx or its project is missing, or the output folder holds something else."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        what = f"needs {', '.join(missing)}, which is not installed"
        fix = "in a clone of the project run: make site; it installs what is missing"
        raise OutputError(Problem(where="npu-overlays site", what=what, fix=fix))
    if not (request.documents / "conf.py").is_file():
        fix = "name a Sphinx project with --documents: docs/ in a clone of npu-overlays"
        raise ConfigError(Problem(where=str(request.documents), what="has no conf.py", fix=fix))
    out = request.out
    if out.is_dir() and any(out.iterdir()) and not (out / _DATA).is_file():
        fix = "name another folder with --out, or empty this one"
        raise OutputError(Problem(where=str(out), what="exists, and is no site", fix=fix))


def _read_reports(files: Sequence[Path]) -> dict[str, bytes]:
    """Return reports by their names; raises `OutputError` with every other file."""
    problems: list[Problem] = []
    reports: dict[str, bytes] = {}
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            problems.append(Problem(where=str(file), what=f"cannot be read: {error.strerror}", fix="name a report"))
            continue
        reports[file.name] = content
        if file.suffix != ".html" or not content.lstrip().lower().startswith(b"<!doctype html"):
            fix = "write one with: npu-overlays drift OVERLAY --range ..main --html FILE.html"
            problems.append(Problem(where=str(file), what="is no report of npu-overlays drift", fix=fix))
    OutputError.raise_for(problems)
    return reports


def _report_link(report: tuple[str, bytes]) -> dict[str, str]:
    name, page = report
    found = re.search(r"<title>(.*?)</title>", page.decode("utf-8", "replace"), re.DOTALL)
    return {"title": unescape(found[1]) if found else name, "page": f"reports/{quote(name)}"}


def _run_sphinx(documents: Path, place: str, folder: Path) -> None:
    """Make the pages of one language; raises `OutputError` with every warning of Sphinx."""
    step(f"making the pages in {place or 'en'}")
    out, doctrees = folder / "site" / place, folder / f"doctrees-{place}"
    options = ["--builder", "html", "--fail-on-warning", "--keep-going", "--quiet", "--no-color"]
    options += ["--doctree-dir", str(doctrees), "--define", f"site_data={folder / _DATA}"]
    command = [sys.executable, "-m", "sphinx", *options, *_LANGUAGES[place], str(documents), str(out)]
    try:
        process.run(command, env={"NO_COLOR": "1", "PYTHONPATH": None, "SPHINXOPTS": None}, timeout=_TIMEOUT)
    except process.ProcessError as error:
        found = _WARNING.finditer(error.output)
        problems = [Problem(where=one["where"], what=one["what"], fix="correct the document") for one in found]
        raise OutputError(
            problems or Problem(where="sphinx-build", what=error.output, fix="correct what it names, and run it again")
        ) from error
    (out / ".buildinfo").unlink(missing_ok=True)  # of use only to a next run with the same doctrees
    shutil.rmtree(out / "_sources", ignore_errors=True)


def _write_patches(wheels: Sequence[PatchedWheel], folder: Path) -> None:
    """Write the page that `summary --html` writes of each wheel, and the diff as a file."""
    for wheel in wheels:
        _write(folder / f"{wheel.slug}.html", wheel_page(wheel.file))
        diff = wheel_summary(wheel.file, diff=True).encode("utf-8", "surrogateescape")
        _write(folder / f"{wheel.slug}.diff", diff)


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _update_index(request: SiteRequest, made: Path) -> UpdatedIndex | None:
    """Bring the index up to date: the one of the site that is there, or that of the new site."""
    if not request.folders:
        return None
    place = request.out if (request.out / _INDEX).is_dir() else made
    return update_index(IndexRequest(folders=request.folders, out=place / _INDEX))


def _swap(made: Path, out: Path, before: Path) -> None:
    """Replace a site, keeping the old one's index."""
    if out.exists():
        out.rename(before)
    try:
        if (before / _INDEX).is_dir():
            (before / _INDEX).rename(made / _INDEX)
        made.rename(out)
    except OSError:
        if before.exists():
            before.rename(out)
        raise
