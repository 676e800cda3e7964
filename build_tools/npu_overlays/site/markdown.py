"""Markdown: any text → a part of a document that shows it as that text, in the generator's dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable

from npu_summary.page.markup import escape, tag

_MEANT = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~$&:^])")


def words(text: str) -> str:
    """Return a text of one line in which nothing is taken for markup."""
    return _MEANT.sub(r"\\\1", " ".join(text.split()))


def block(markup: str) -> str:
    """Return markup as a part of a document."""
    # What is inside cannot end it: markup holds no line that consists of that many backticks.
    return f"``````{{raw}} html\n{markup}\n``````\n"


def link(text: str, address: str, kind: str = "") -> str:
    """Return a link as markup."""
    return tag("a", escape(text), href=address, class_=f"reference {kind}".strip())


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table as markup; its cells are markup already, its headings are not."""
    head = tag("thead", tag("tr", "".join(tag("th", escape(one)) for one in headings)))
    body = "".join(tag("tr", "".join(tag("td", cell) for cell in row)) for row in rows)
    return tag(
        "div", tag("table", head + tag("tbody", body), class_="docutils"), class_="table-wrapper docutils container"
    )
