"""Deletions: a definition's lines go; a notice stays, and a ``pass`` where nothing else would be left."""

from __future__ import annotations

import ast

from npu_overlays.merging.sites import Site
from npu_overlays.syntax.splices import Splice


def deleted(site: Site) -> list[Splice]:
    """Return the splices of a `deleted`."""
    definition = site.find()
    if len(site.module.names(definition.node)) > 1:
        what = f"the statement of {site.named} binds other names too"
        raise site.error(what, "use a patch")
    start, end = site.alone(definition)
    indentation = site.module.indentation(definition.node)
    text = site.notice(indentation)
    if _is_first_of_none_left(site, definition.node):
        text += f"{indentation}pass\n"
    return [site.splice(start, end, text)]


def _is_first_of_none_left(site: Site, node: ast.stmt) -> bool:
    """Return whether every statement beside `node` is deleted too, and `node` is the one to leave a ``pass``."""
    gone = site.companions.symbols("deleted")
    body = site.module.siblings(node)
    return (
        body is not site.module.tree.body and body[0] is node and all(site.module.names(other) & gone for other in body)
    )
