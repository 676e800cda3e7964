"""Settings of Sphinx for the site of these documents: `sphinx-build -W docs site`, and with `-t zh` in Chinese.

No page loads anything from another host. `npu-overlays site` adds what depends on wheels, as data for the templates.
"""

from __future__ import annotations

import json
import os
import re
import string
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.search import SearchLanguage

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path(__file__).resolve().parent
CHINESE = tags.has("zh")  # type: ignore[name-defined]  # noqa: F821  # Sphinx gives it to this file
TRANSLATION = ".zh-CN.md"

project = "npu-overlays"
language = "zh_CN" if CHINESE else "en"
extensions = ["myst_parser", "sphinx.ext.githubpages", "sphinx_copybutton"]
locale_dirs = ["_locale"]
templates_path = ["_templates"]

# A document is written in both languages, under one name.
source_suffix = {TRANSLATION if CHINESE else ".md": "markdown"}
exclude_patterns = ["_*", *(file.name for file in FOLDER.glob("*.md") if file.name.endswith(TRANSLATION) != CHINESE)]

# GitHub shows the same documents: its anchors, and examples that are shortened with an ellipsis.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]  # GitHub shows what lies between such fences
suppress_warnings = ["misc.highlighting_failure"]
# Files that `npu-overlays site` puts at the top of the site.
myst_url_schemes = {"http": None, "https": None, "site": "../{{path}}" if CHINESE else "{{path}}"}

html_theme = "furo"
html_title = project
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_use_index = False
html_domain_indices = False
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# Documents with a loop over wheels, stacks and reports, and their data when Sphinx runs alone.
TEMPLATES = {"index", "start", "patches"}
NO_WHEELS: dict[str, Any] = {"wheels": [], "stacks": [], "others": [], "missing": [], "reports": [], "placeholder": ""}
# READMEs are pages as well: a link to one leads to the document that includes it.
READMES = {
    "../README": "overview",
    "../../README": "overview",
    "../stacks/README": "stacks",
    "../recipes/README": "recipes",
    "../build_tools/npu_doctor/README": "doctor",
}
SWITCH = "English | 简体中文"
# Markdown shows a backslash before any other character.
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")
CHINESE_CHARACTER = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")


class ChineseSearch(SearchLanguage):
    """Chinese without a dictionary: queries and pages are cut into pairs of characters."""

    lang = "zh"
    language_name = "Chinese"
    js_splitter_code = r"""
function splitQuery(query) {
  const words = query.match(/[\u3400-\u9fff]+|[\p{Letter}\p{Number}_]+/gu) || [];
  return words.flatMap((word) =>
    word < "\u3400" || word.length < 2 ? [word] : [...word].slice(1).map((_, n) => word.slice(n, n + 2)),
  );
}
"""
    _words = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")

    def split(self, input: str) -> list[str]:  # noqa: A002  # Sphinx passes it by this name
        """Return the words of a text."""
        found = []
        for word in self._words.findall(input):
            is_pair = word >= "\u3400" and len(word) > 1
            found += [word[n : n + 2] for n in range(len(word) - 1)] if is_pair else [word]
        return found


def fill_template(app: Sphinx, name: str, source: list[str]) -> None:
    """Fill in the loops of a template."""
    if name in TEMPLATES:
        file = app.config.site_data
        data = json.loads(Path(file).read_text("utf-8")) if file else NO_WHEELS
        environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined)  # noqa: S701  # Markdown
        environment.filters["md"] = lambda text: _PUNCTUATION.sub(r"\\\g<0>", " ".join(text.split()))
        source[0] = environment.from_string(source[0]).render(data)


def adapt_document(_app: Sphinx, document: nodes.document) -> None:
    """Change what is written for GitHub: links to READMEs, the line to the other language, ends of Chinese lines."""
    for paragraph in list(document.findall(nodes.paragraph)):
        if paragraph.astext() == SWITCH:
            paragraph.parent.remove(paragraph)
    for link in document.findall(pending_xref):
        path, _, anchor = link["reftarget"].partition("#")
        target = os.path.relpath(FOLDER / path.removesuffix(".md").removesuffix(".zh-CN"), FOLDER)
        if target.endswith("README"):
            target = target if target.startswith("..") else f"../{target}"  # from a README that is included
            link["refdomain"], link["reftarget"] = "doc", READMES.get(target, target)
            link["reftargetid"] = link.get("reftargetid") or anchor or None
    if CHINESE:
        _join_lines(document)


def _join_lines(document: nodes.document) -> None:
    """Remove line ends between Chinese characters, which a browser shows as spaces."""
    for text in list(document.findall(nodes.Text)):
        if text == "\n":
            siblings = text.parent.children
            place = next(n for n, one in enumerate(siblings) if one is text)  # other line ends are equal
            before = "".join(one.astext() for one in siblings[:place])
            after = "".join(one.astext() for one in siblings[place + 1 :])
            if CHINESE_CHARACTER.match(before[-1:]) and CHINESE_CHARACTER.match(after):
                del text.parent[place]


def name_other_language(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    """Give a page its address in the other language, and that of the top of the site."""
    top = "../" * page.count("/")
    context["site_root"] = f"{top}../" if CHINESE else top
    context["other_address"] = f"{top}../{page}.html" if CHINESE else f"{top}zh-CN/{page}.html"
    context["other_code"], context["other_name"] = ("en", "English") if CHINESE else ("zh-CN", "简体中文")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of it."""
    app.add_config_value("site_data", "", "env", str)
    app.add_search_language(ChineseSearch)
    app.connect("source-read", fill_template)
    app.connect("doctree-read", adapt_document)
    app.connect("html-page-context", name_other_language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
