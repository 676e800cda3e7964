"""`site`: a Sphinx project, wheels and reports → pages for a browser, with the index beside them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from npu_overlays.commands.command import Command, add_json, folder
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import index_notes
from npu_overlays.errors import Problem, UsageError
from npu_overlays.interrupts import undisguised
from npu_summary.plurals import plural

if TYPE_CHECKING:
    from npu_overlays.publish.site import BuiltSite, SiteRequest

_DESCRIPTION = """\
Build a site that any web server can serve and that loads nothing from other
hosts: the documents of a Sphinx project, here docs/, in both languages; for
each wheel its changes with their reasons and the diff; one command for pip and
one for uv to install it; reports of `drift`; and below simple/ the index that
pip and uv install from.

Commands name the index at the site's own address, or the one of --index-url. An
existing site is replaced, and its index brought up to date. Every warning of
Sphinx, such as a link to a missing page, is an error. It needs pip install
'npu-overlays[site]'.

examples:
  npu-overlays site                           the documents alone, into site/
  npu-overlays site wheels/ --index-url https://pypi.example.com/npu/simple/
  npu-overlays site wheels/ sdists/ --drift verl.html --drift transformers.html
  python -m http.server --directory site      look at it
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for, and whether the report is JSON."""

    request: SiteRequest
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "wheels and source distributions, for the pages and the index"
    parser.add_argument("folders", type=folder, nargs="*", metavar="FOLDER", help=text)
    parser.add_argument("--out", type=folder, default="site", metavar="DIR", help="the site (default: site)")
    text = "a Sphinx project, such as docs/ of npu-overlays (default: docs)"
    parser.add_argument("--documents", type=folder, default="docs", metavar="DIR", help=text)
    text = "the address of the index (default: that of the site)"
    parser.add_argument("--index-url", default="", metavar="URL", help=text)
    text = "a report of `npu-overlays drift --html`; may be given several times"
    parser.add_argument("--drift", type=folder, action="append", default=[], metavar="FILE", help=text)
    add_json(parser)


def _check(parsed: argparse.Namespace) -> None:
    """Collect what is asked of the site; raises `UsageError` where its address is none."""
    from npu_overlays.publish.site import SiteRequest  # noqa: PLC0415  # read for the help of all commands

    url = parsed.index_url
    if url and not (urlsplit(url).scheme in {"http", "https"} and urlsplit(url).netloc and url.isprintable()):
        fix = "give the whole address: https://pypi.example.com/simple/"
        raise UsageError(Problem(where="--index-url", what=f"{url!r} is no address of a web server", fix=fix))
    parsed.request = SiteRequest(
        folders=tuple(parsed.folders),
        documents=parsed.documents,
        out=parsed.out,
        index_url=f"{url.rstrip('/')}/" if url else "",
        drift=tuple(parsed.drift),
    )


def _run(options: Options, console: Console) -> int:
    from npu_overlays.publish.site import build_site  # noqa: PLC0415  # as above

    with undisguised(f"the site in {options.request.out} is unchanged"):
        built = build_site(options.request)
    notes = list(index_notes(built.index)) if built.index else []
    if options.json:
        console.json({**_as_json(options.request, built), "notes": notes})
        return 0
    console.notices(notes)
    console.line(f"{options.request.out}", style="green")
    wheels = plural(len(built.wheels), "patched wheel")
    console.line(f"  {wheels}; stacks: {', '.join(built.stacks) or 'none'}")
    return 0


def _as_json(request: SiteRequest, built: BuiltSite) -> dict[str, object]:
    return {
        "site": str(request.out),
        "wheels": list(built.wheels),
        "stacks": list(built.stacks),
    }


COMMAND = Command(
    name="site",
    summary="write a site: documents, what is patched, how to install it, the index",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    check=_check,
    options=Options,
    run=_run,
)
