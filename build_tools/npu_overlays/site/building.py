"""Building: documents, wheels and reports → the site in its folder, whole or as it was."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import quote

from packaging.utils import canonicalize_name

from npu_doctor.knowledge import load
from npu_doctor.stacks import Catalogue
from npu_overlays.errors import OutputError, Problem
from npu_overlays.index.opened import Request as IndexRequest
from npu_overlays.index.updating import Updated, update
from npu_overlays.reproducible import canonical_json, writing
from npu_overlays.scratch import scratch
from npu_overlays.site.changed import SUMMARIES, changed_pages, with_diffs
from npu_overlays.site.documents import Documents, find_documents, pages
from npu_overlays.site.generating import check_generator, generate
from npu_overlays.site.home import drift_page, home_page
from npu_overlays.site.installing import PAGE, install_page
from npu_overlays.site.languages import Language, languages
from npu_overlays.site.shipped import Shelf, read_shelf

INDEX = "simple"
DRIFT = "reports"
# Says that a folder is a site, which may be replaced, and to a machine what is in it.
SIGN = "site.json"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a site is made of.

    Args:
        folders: of wheels and source distributions.
        documents: the folder of a project, with its README and its `docs/`.
        out: the folder of the site.
        index_url: the address that the index will have; empty where only the pages' reader knows it.
        drift: reports of `npu-overlays drift`.
    """

    folders: tuple[Path, ...]
    documents: Path
    out: Path
    index_url: str = ""
    drift: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Built:
    """What became of it.

    Args:
        pages: how many documents there are in each language.
        wheels: titles of the patched wheels.
        stacks: names of those that can be installed.
        index: what became of the index; None where nothing is to be on it.
    """

    pages: int
    wheels: tuple[str, ...]
    stacks: tuple[str, ...]
    index: Updated | None


@dataclass(frozen=True, kw_only=True)
class _Content:
    """All that pages are made of."""

    request: Request
    catalogue: Catalogue
    documents: Documents
    shelf: Shelf
    index: Mapping[str, str]
    reports: Mapping[str, bytes]


def build(request: Request) -> Built:
    """Build a site in place of the one that was there; the index in it is brought up to date.

    Raises:
        ConfigError: there are no documents, or a name is taken.
        OutputError: a wheel or a report cannot be read, a link leads nowhere, the generator is not installed, or the
            folder cannot be written or is no site. Then the site is as it was.
    """
    check_generator()
    _check_place(request.out)
    catalogue = load()
    shelf = read_shelf(request.folders, catalogue)
    content = _Content(
        request=request,
        catalogue=catalogue,
        documents=find_documents(request.documents),
        shelf=shelf,
        index={one.file.name: f"{INDEX}/{canonicalize_name(one.name)}/{quote(one.file.name)}" for one in shelf.wheels},
        reports=_read_reports(request.drift),
    )
    with writing(request.out, option="--out"):
        request.out.parent.mkdir(parents=True, exist_ok=True)
        with scratch(request.out.parent) as folder:
            made = folder / "site"
            count = max(_language(content, language, folder, made) for language in languages())
            _beside(content, made)
            index = _index(request, made)
            _swap(made, request.out, folder / "before")
    return Built(
        pages=count,
        wheels=tuple(wheel.title for wheel in shelf.wheels),
        stacks=tuple(offer.stack.name for offer in shelf.offers),
        index=index,
    )


def _index(request: Request, made: Path) -> Updated | None:
    """Bring the index up to date: the one of the site that is there, or that of the one being made."""
    if not request.folders:
        return None
    place = request.out if (request.out / INDEX).is_dir() else made
    return update(IndexRequest(folders=request.folders, out=place / INDEX))


def _check_place(out: Path) -> None:
    """Refuse a folder that holds something else, which would be gone afterwards."""
    if out.is_dir() and any(out.iterdir()) and not (out / SIGN).is_file():
        fix = "name another folder with --out, or empty this one"
        raise OutputError(Problem(where=str(out), what="is there and is no site", fix=fix))


def _read_reports(files: Sequence[Path]) -> dict[str, bytes]:
    """Return reports by their names; raises `OutputError` with all that are none."""
    problems: list[Problem] = []
    reports: dict[str, bytes] = {}
    for file in files:
        try:
            reports[file.name] = file.read_bytes()
        except OSError as error:
            problems.append(Problem(where=str(file), what=f"cannot be read: {error.strerror}", fix="name a report"))
            continue
        if not reports[file.name].lstrip().lower().startswith(b"<!doctype html") or file.suffix != ".html":
            fix = "write one with: npu-overlays drift OVERLAY --range ..main --html FILE.html"
            problems.append(Problem(where=str(file), what="is no report of npu-overlays drift", fix=fix))
    if problems:
        raise OutputError(problems)
    return reports


def _language(content: _Content, language: Language, folder: Path, made: Path) -> int:
    """Make the pages of a language and return how many there are."""
    place = folder / f"documents-{language.code}"
    sources: dict[str, Path] = {}
    texts = _own_pages(content, language)
    for page in pages(content.documents, language):
        texts[page.name] = page.text
        sources[page.name] = page.source
        for name, file in page.files.items():
            _write(place / name, file.read_bytes())
    top = [name for name in texts if not name.startswith("changes/") or name == "changes/index"]
    texts["index"] = home_page(content.shelf, top, language)
    for name, text in texts.items():
        _write(place / f"{name}.md", text.encode())
    generate(place, made / language.folder, language, sources)
    for wheel in content.shelf.wheels:
        file = made / language.folder / "changes" / f"{wheel.slug}.html"
        _write(file, with_diffs(file.read_text(encoding="utf-8"), wheel).encode())
    return len(texts)


def _own_pages(content: _Content, language: Language) -> dict[str, str]:
    """Return the pages that are no documents, but for the first one, which lists all others."""
    url, in_full = content.request.index_url, "install" in content.documents.names.values()
    own = {PAGE: install_page(content.shelf, content.catalogue, language, url, in_full=in_full)}
    own |= changed_pages(content.shelf, language, content.index)
    if content.reports:
        listed = [(_title(text, name), f"{DRIFT}/{name}") for name, text in content.reports.items()]
        own["drift"] = drift_page(listed, language)
    return own


def _title(page: bytes, name: str) -> str:
    found = re.search(r"<title>(.*?)</title>", page.decode("utf-8", "replace"), re.DOTALL)
    return unescape(found[1]) if found else name


def _beside(content: _Content, made: Path) -> None:
    """Write what is the same in all languages."""
    for wheel in content.shelf.wheels:
        _write(made / SUMMARIES / f"{wheel.slug}.html", wheel.summary)
        _write(made / SUMMARIES / f"{wheel.slug}.diff", wheel.diff)
    for name, report in content.reports.items():
        _write(made / DRIFT / name, report)
    _write(made / ".nojekyll", b"")  # page hosts would leave out folders that begin with _
    wheels = [
        {"name": one.name, "version": one.version, "page": f"changes/{one.slug}.html"} for one in content.shelf.wheels
    ]
    _write(made / SIGN, canonical_json({"wheels": wheels, "stacks": [one.stack.name for one in content.shelf.offers]}))


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _swap(made: Path, out: Path, before: Path) -> None:
    """Put a site in the place of the one before, whose index it takes over."""
    if out.exists():
        out.rename(before)
    try:
        if (before / INDEX).is_dir():
            (before / INDEX).rename(made / INDEX)
        made.rename(out)
    except OSError:
        if before.exists():
            before.rename(out)
        raise
