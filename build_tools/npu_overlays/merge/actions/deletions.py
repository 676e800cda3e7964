"""Deletions: a definition's lines are removed; a notice stays, and a ``pass`` in a block that would be empty."""

from __future__ import annotations

import ast

from npu_overlays.merge.sites import Site
from npu_overlays.model.definitions import Definition, first_line
from npu_overlays.model.selectors import chosen, selector
from npu_overlays.model.splices import Splice


def splices(site: Site) -> list[Splice]:
    """Return the splices of a `deleted`."""
    definition = site.find()
    operation = site.operation
    if operation.emptying and operation.emptying[0] != operation.symbol:
        return []  # the first name of a statement takes all of it away
    if len(site.module.names(definition.node)) > 1 and not operation.emptying:
        what = f"the statement of {site.named} binds other names too"
        raise site.error(what, "use a patch")
    if staying := _staying(site, definition):
        listed = ", ".join(map(str, staying))
        what = f"{site.named} has further definitions, which would stay (line {listed})"
        raise site.error(what, "delete those too, each with its where=, or select with where= the only one to delete")
    if operation.emptying:
        return [_emptied(site, definition.node)]
    start, end = site.alone(definition)
    indentation = site.module.indentation(definition.node)
    text = site.notice(indentation)
    body = site.module.siblings(definition.node)
    # Where every statement of a class or a branch goes, the first of them leaves a ``pass``.
    if body is not site.module.tree.body and body[0] is definition.node and _gone(site).issuperset(body):
        text += f"{indentation}pass\n"
    return [site.splice(start, end, text)]


def _emptied(site: Site, node: ast.stmt) -> Splice:
    """Return the splice that removes the module's statement that contains `node`."""
    module = site.module
    whole = next(one for one in module.tree.body if one.lineno <= node.lineno <= (one.end_lineno or one.lineno))
    # The first of the deletions that empty a module says so for all of them.
    text = site.notice("") if site.companions.starts_emptying(site.operation) else ""
    return site.splice(module.offset(first_line(whole)), module.line_end(whole.end_lineno or whole.lineno), text)


def _gone(site: Site) -> set[ast.stmt]:
    """Return the statements that deletions remove from the module."""
    found: set[ast.stmt] = set()
    for symbol in site.companions.symbols("deleted"):
        found |= {one.node for one in chosen(site.module, symbol)}
    return found


def _staying(site: Site, definition: Definition) -> list[int]:
    """Return the remaining lines that would still bind a deleted name: stubs of overloads, a property's setter, …."""
    if selector(site.operation.symbol):
        return []
    gone = _gone(site)
    staying: list[int] = []
    for one in site.module.definitions[definition.name]:
        never_runs = any(branch.runs is False for branch in one.branches)
        if one.node not in gone and not never_runs:
            staying.append(one.node.lineno)
    return staying
