"""Generating: a folder of documents in one language → pages, made by Sphinx; whatever it warns of is an error."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from npu_overlays import proc
from npu_overlays.errors import OutputError, Problem
from npu_overlays.progress import step
from npu_overlays.site.languages import Language

_SETTINGS = Path(__file__).with_name("generator")
_NEEDED = ("sphinx", "myst_parser", "furo", "sphinx_copybutton")
# A page with thousands of coloured lines takes a few seconds.
_PATIENCE = 600.0
_SAID = re.compile(r"^(?P<file>/[^:\n]+):(?P<line>\d+:)? *(?:WARNING|ERROR|CRITICAL): (?P<what>.*)$", re.MULTILINE)


def check_generator() -> None:
    """Raise `OutputError` where the generator is not installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        what = f"needs {', '.join(missing)}, which is not installed"
        fix = "pip install 'npu-overlays[site]', or in a clone of the project: make site"
        raise OutputError(Problem(where="npu-overlays site", what=what, fix=fix))


def generate(pages: Path, out: Path, language: Language, sources: Mapping[str, Path]) -> None:
    """Make the pages of one language.

    Args:
        pages: the folder of its documents.
        out: an empty folder for the pages.
        language: which.
        sources: where documents came from, by their page's name, for messages.

    Raises:
        OutputError: with everything that is wrong with the documents, links that lead nowhere above all.
    """
    step(f"generating the pages in {language.code}")
    shutil.copytree(_SETTINGS / "locale", pages / "locale", dirs_exist_ok=True)
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--fail-on-warning", "--keep-going", "--quiet"]
    command += [
        "--no-color",
        "--conf-dir",
        str(_SETTINGS),
        "--doctree-dir",
        str(pages.with_name(f"{pages.name}-trees")),
    ]
    command += ["--define", f"language={language.code.replace('-', '_')}", str(pages), str(out)]
    try:
        proc.run(command, env={"NO_COLOR": "1", "PYTHONPATH": None, "SPHINXOPTS": None}, timeout=_PATIENCE)
    except proc.ProcessError as error:
        raise OutputError(_problems(error.output, pages, sources)) from error
    (out / ".buildinfo").unlink(missing_ok=True)  # for the generator's next run, which has nothing of this one
    shutil.rmtree(out / "_sources", ignore_errors=True)


def _problems(output: str, pages: Path, sources: Mapping[str, Path]) -> list[Problem]:
    """Return what the generator complained of, each by the document that a person wrote."""
    fix = "mend the document"
    found = [
        Problem(where=_where(Path(said["file"]), said["line"] or "", pages, sources), what=said["what"], fix=fix)
        for said in _SAID.finditer(output)
    ]
    return found or [Problem(where="the generator of the site", what=output)]


def _where(file: Path, line: str, pages: Path, sources: Mapping[str, Path]) -> str:
    name = file.relative_to(pages).with_suffix("").as_posix() if file.is_relative_to(pages) else str(file)
    return f"{sources.get(name, name)}{f':{line}' if line else ''}".removesuffix(":")
