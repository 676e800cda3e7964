"""HTML document: the title and the body of a page → the page, which needs no other file."""

from __future__ import annotations

import re
from html import escape

_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100%; font-size: 13px }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #8884 }
td.n { white-space: nowrap; font-variant-numeric: tabular-nums }
svg { width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: currentColor }
.key { display: inline-block; width: 1.4em; height: .35em; margin-right: .5em; vertical-align: middle }
pre { white-space: pre-wrap; background: #8881; padding: .6rem; font-size: 13px }
summary { cursor: pointer }
table.diff { font-family: ui-monospace, monospace; font-size: 12px }
table.diff td { border: 0; padding: 0 .3rem; width: 46% }
table.diff td.diff_header { width: auto; white-space: nowrap; color: #8a8a8a } table.diff .diff_next { display: none }
.diff_add { background: #2a9d5c40 } .diff_chg { background: #d9a44155 } .diff_sub { background: #c1121f38 }
"""
_PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{style}</style></head><body>
<h1>{title}</h1>
{body}</body></html>
"""


def code(text: str) -> str:
    """Return a text as markup, with what stands between backticks as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def document(title: str, body: str) -> str:
    """Return a page; its title is text, its body markup."""
    text = _PAGE.format(title=escape(title), style=_STYLE, body=body)
    # The message of a commit may have bytes that are not in its encoding.
    return text.encode(errors="backslashreplace").decode()
