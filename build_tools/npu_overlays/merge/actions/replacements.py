"""Replacements: a definition of the overlay replaces upstream's; of an attribute, only its value."""

from __future__ import annotations

import ast

from npu_overlays.merge.sites import Site
from npu_overlays.merge.upstream.substitutability import misfit
from npu_overlays.model.code_blocks import reindent, renamed
from npu_overlays.model.definitions import FUNCTIONS, Definition
from npu_overlays.model.module import Module
from npu_overlays.model.splices import Splice


def splices(site: Site) -> list[Splice]:
    """Return the splices of a `replaced`."""
    definition = site.find()
    operation = site.operation
    if operation.kind == "attribute":
        return _replaced_value(site, definition)
    if definition.kind != operation.kind:
        raise site.error(*_other_kind(site, definition))
    _check_kind(site, definition.node)
    indentation = site.module.indentation(definition.node)
    text = reindent(renamed(operation.text, operation.leaf), old="", new=indentation)
    start = site.module.offset(definition.first_line)
    end = site.module.span(definition.node)[1]
    return [site.splice(start, end, (site.notice(indentation) + text).rstrip())]


def _other_kind(site: Site, definition: Definition) -> tuple[str, str]:
    """Return (what is wrong, what to do) for a replacement that is of another kind than upstream's definition."""
    line = definition.node.lineno
    if definition.kind == "import":
        what = f"upstream imports {site.named} here (line {line}) and does not define it"
        return what, "replace it in the module that defines it"
    article = "an" if definition.kind == "attribute" else "a"
    what = f"{site.named} is {article} {definition.kind} upstream (line {line}), and no {site.operation.kind}"
    return what, f"write {article} {definition.kind} in its place"


def _check_kind(site: Site, original: ast.stmt) -> None:
    """Refuse a function that upstream's callers could not await, iterate or call as before."""
    own = Module(site.operation.where, site.operation.text.encode()).tree.body[0]
    if isinstance(own, FUNCTIONS) and isinstance(original, FUNCTIONS) and (wrong := misfit(own, original)):
        raise site.error(f"the replacement of {site.named} {wrong[0]}", wrong[1])


def _replaced_value(site: Site, definition: Definition) -> list[Splice]:
    node = definition.node
    target, value = _plain_assignment(node)
    if target is None or value is None:
        raise site.error(f"{site.named} is not one plain `NAME = value` upstream", "use @edited or a patch")
    splices = [site.notice_above(definition), site.splice(*site.module.span(value), site.operation.text)]
    annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
    if site.operation.annotation:
        start = site.module.span(annotation or target)
        text = site.operation.annotation if annotation else f": {site.operation.annotation}"
        splices.append(site.splice(start[0] if annotation else start[1], start[1], text))
    return splices


def _plain_assignment(node: ast.stmt) -> tuple[ast.Name | None, ast.expr | None]:
    """Return the name and the value of an assignment of one value to one name."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign) and node.value:
        target, value = node.target, node.value
    else:
        return None, None
    return (target, value) if isinstance(target, ast.Name) else (None, None)
