"""Settings of the generator; the language comes from the command line. No page loads anything from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.search import SearchLanguage

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

_HERE = Path(__file__).resolve().parent
_CHINESE = "zh_CN"

project = "npu-overlays"
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["files", "locale"]
# Beside the documents: translations are compiled where they lie.
locale_dirs = ["locale"]

# GitHub shows the same documents: its anchors, and examples that are shortened with an ellipsis.
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = project
html_favicon = str(_HERE / "favicon.svg")
html_static_path = [str(_HERE / "static")]
templates_path = [str(_HERE / "templates")]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
html_domain_indices = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_selector = "div.highlight pre:not(.diff)"


class _Chinese(SearchLanguage):
    """Chinese without a dictionary: what is looked for is cut into pairs of characters, as the pages are."""

    lang = "zh"
    language_name = "Chinese"
    js_splitter_code = (_HERE / "splitting.js").read_text(encoding="utf-8")
    _words = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")

    def split(self, input: str) -> list[str]:  # noqa: A002  # the name that is handed over
        """Return the words of a text."""
        return [part for word in self._words.findall(input) for part in self._parts(word)]

    @staticmethod
    def _parts(word: str) -> list[str]:
        if word < "\u3400" or len(word) < 2:  # noqa: PLR2004  # a pair
            return [word]
        return [word[n : n + 2] for n in range(len(word) - 1)]


def _other_language(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Tell a page where it is in the other language: every page is in both."""
    top = "../" * page.count("/")
    is_chinese = app.config.language == _CHINESE
    context["other_language"] = {
        "address": f"{top}../{page}.html" if is_chinese else f"{top}zh-CN/{page}.html",
        "code": "en" if is_chinese else "zh-CN",
        "name": "English" if is_chinese else "简体中文",
    }
    context["site_root"] = f"{top}../" if is_chinese else top


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both."""
    app.add_search_language(_Chinese)
    app.connect("html-page-context", _other_language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
