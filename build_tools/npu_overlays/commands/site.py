"""`site`: a Sphinx project, wheels and reports → pages for a browser, with the index beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from npu_overlays.commands.command import json_option, list_option, option, path_option, text_option, whole_path
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import index_notes
from npu_overlays.errors import Problem, UsageError
from npu_overlays.interrupts import undisguised
from npu_summary.plurals import plural

SUMMARY = "write a site: documents, what is patched, how to install it, the index"
DESCRIPTION = """\
Build a site that any web server can serve and that loads nothing from other
hosts: the documents of a Sphinx project, here docs/, in both languages; for
each wheel its changes with their reasons and the diff; one command for pip and
one for uv to install it; reports of `drift`; and below simple/ the index that
pip and uv install from.

Commands name the index at the site's own address, or the one of --index-url. An
existing site is replaced, and its index brought up to date. Every warning of
Sphinx, such as a link to a missing page, is an error. Without Sphinx, run make
site in a clone of the project: it installs what this command needs.

examples:
  npu-overlays site                           the documents alone, into site/
  npu-overlays site wheels/ --index-url https://pypi.example.com/npu/simple/
  npu-overlays site wheels/ sdists/ --drift verl.html --drift transformers.html
  python -m http.server --directory site      look at it
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the site is made of."""

    folders: list[Path] = option(
        type=whole_path,
        nargs="*",
        metavar="FOLDER",
        help="wheels and source distributions, for the pages and the index",
    )
    out: Path = path_option("--out", "DIR", "the site (default: site)", default="site")
    documents: Path = path_option(
        "--documents", "DIR", "a Sphinx project, such as docs/ of npu-overlays (default: docs)", default="docs"
    )
    index_url: str = text_option("--index-url", "URL", "the address of the index (default: that of the site)")
    drift: list[Path] = list_option(
        "--drift", "FILE", "a report of `npu-overlays drift --html`; may be given more than once", type=whole_path
    )
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    from npu_overlays.publish.site import SiteRequest, build_site  # noqa: PLC0415  # read for the help of all commands

    url = options.index_url
    if url and not (urlsplit(url).scheme in {"http", "https"} and urlsplit(url).netloc and url.isprintable()):
        fix = "give the whole address: https://pypi.example.com/simple/"
        raise UsageError(Problem(where="--index-url", what=f"{url!r} is no address of a web server", fix=fix))
    request = SiteRequest(
        folders=tuple(options.folders),
        documents=options.documents,
        out=options.out,
        index_url=f"{url.rstrip('/')}/" if url else "",
        drift=tuple(options.drift),
    )
    with undisguised(f"the site in {options.out} is unchanged"):
        built = build_site(request)
    notes = list(index_notes(built.index)) if built.index else []
    if options.json:
        site = {"site": str(options.out), "wheels": list(built.wheels), "stacks": list(built.stacks)}
        console.json({**site, "notes": notes})
        return 0
    console.notices(notes)
    console.line(f"{options.out}", style="green")
    wheels = plural(len(built.wheels), "patched wheel")
    console.line(f"  {wheels}; stacks: {', '.join(built.stacks) or 'none'}")
    return 0
