"""Substitutions: token sequences inside one upstream definition, each exchanged a stated number of times."""

from __future__ import annotations

from npu_overlays.errors import MergeError, Problem
from npu_overlays.merging.sites import Site
from npu_overlays.overlay.operations import Edit
from npu_overlays.syntax.splices import Splice
from npu_overlays.syntax.symbols import Module
from npu_overlays.syntax.texts import dedented, reindent
from npu_overlays.syntax.tokens import occurrences, tokens


def edited(site: Site) -> list[Splice]:
    """Return the splices of an `edited`; raises `MergeError` with every find that does not fit."""
    definition = site.find()
    start, end = site.module.span(definition.node)
    start = min(start, site.module.offset(definition.first_line)) if definition.kind != "attribute" else start
    text = site.module.content[start:end].decode()
    splices = [site.notice_above(definition)]
    problems: list[Problem] = []
    for edit in site.operation.edits:
        spans = occurrences(edit.find, text)
        if len(spans) != edit.count:
            what = f"`{edit.find}` occurs {len(spans)} times in `{site.operation.symbol}`, expected {edit.count}"
            fix = 'lengthen the find, or give ("find", "replace", count)'
            problems.append(Problem(where=site.operation.where, what=what, fix=fix))
            continue
        for first, last in spans:
            at, until = start + len(text[:first].encode()), start + len(text[:last].encode())
            if _swallows(site.module, until, edit):
                what, fix = f"the comment that ends `{edit.replace}` would swallow code", "put it on a line of its own"
                problems.append(Problem(where=site.operation.where, what=what, fix=fix))
            splices.append(site.splice(*_substitution(site.module, at, until, edit.replace)))
    if problems:
        raise MergeError(problems)
    return splices


def _substitution(module: Module, start: int, end: int, new: str) -> tuple[int, int, str]:
    """Return the bytes one substitution exchanges and their text, with following lines indented like the first.

    Nothing but white space as `new` takes whole lines out where only white space would be left of them, and the
    white space behind the place where it began its line.
    """
    line, lead, rest, line_end = _surroundings(module, start, end)
    if not new.strip():
        if not lead.strip() and not rest.strip():
            return line, line_end, ""
        return start, end + (0 if lead.strip() else len(rest) - len(rest.lstrip())), ""
    indentation = lead[: len(lead) - len(lead.lstrip())]
    return start, end, reindent(dedented(new), old="", new=indentation).removeprefix(indentation)


def _surroundings(module: Module, start: int, end: int) -> tuple[int, str, str, int]:
    """Return where the line of `start` begins, its text up to there, the text from `end` on, and where that ends."""
    line = module.content.rfind(b"\n", 0, start) + 1
    line_end = module.content.find(b"\n", end) + 1 or len(module.content)
    return line, module.content[line:start].decode(), module.content[end:line_end].decode(), line_end


def _swallows(module: Module, end: int, edit: Edit) -> bool:
    """Return whether a comment that ends the replacement would take in code that follows on upstream's line."""
    _, _, rest, _ = _surroundings(module, end, end)
    last = list(tokens(edit.replace.rstrip()))[-1:]
    return bool(last and last[0].kind == "comment" and rest.strip() and not rest.lstrip().startswith("#"))
