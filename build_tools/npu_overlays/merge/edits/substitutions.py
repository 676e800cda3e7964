"""Substitutions: token sequences inside one upstream definition, each exchanged a stated number of times."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npu_overlays.errors import MergeError, Problem
from npu_overlays.merge.edits.exchanges import Exchange, exchanges
from npu_overlays.merge.edits.misreadings import misreadings
from npu_overlays.merge.edits.occurrences import misfit
from npu_overlays.merge.sites import Site
from npu_overlays.model.definitions import Definition
from npu_overlays.model.logical_lines import layout_of
from npu_overlays.model.passages import Passage
from npu_overlays.model.splices import Splice, overlapping, splice
from npu_overlays.overlay.operations import Edit


def splices(site: Site) -> list[Splice]:
    """Return the splices of an `edited`; raises `MergeError` with every find that does not fit.

    Every find is looked for in upstream's text, never in what another one leaves.
    """
    definition = site.find()
    start, end = _extent(site, definition)
    passage = Passage(site.module.path, site.module.content[start:end])
    problems: list[Problem] = []
    places: list[tuple[Edit, int, int]] = []
    for edit in site.operation.edits:
        find = layout_of(edit.find)
        found = passage.occurrences(find)
        if len(found) == edit.count:
            places += [(edit, at, at + len(find.tokens)) for at in found]
        else:
            problems.append(misfit(site, edit, passage, found, first_line=definition.first_line))
    made = exchanges(passage, places)
    splices = [site.splice(start + one.start, start + one.end, one.text) for one in made]
    if not problems and not overlapping(splices):
        result = splice(site.module.content[start:end], _within(splices, start), newline=site.module.newline)
        problems += [site.problem(what, fix) for what, fix in _mistakes(site, passage, made, result)]
    if problems:
        raise MergeError(problems)
    return [site.notice_above(definition), *splices]


def _extent(site: Site, definition: Definition) -> tuple[int, int]:
    """Return the bytes of a definition, to the beginning and the end of its lines where nothing else stands there."""
    start, end = site.module.span(definition.node)
    line = site.module.offset(definition.first_line)
    shares = definition.kind not in ("function", "class") and not site.module.begins_line(definition.node)
    rest = site.module.content[end : site.module.line_end(definition.node.end_lineno or 0)]
    alone = not rest.strip() or rest.lstrip().startswith(b"#")
    return (start if shares else line), end + (len(rest) if alone else 0)


def _within(splices: list[Splice], start: int) -> Iterator[Splice]:
    for one in splices:
        yield Splice(start=one.start - start, end=one.end - start, text=one.text, where=one.where)


def _mistakes(site: Site, passage: Passage, made: list[Exchange], result: bytes) -> Iterator[tuple[str, str]]:
    """Yield (what is wrong, what to do) for exchanges that do something else than they read as."""
    refused = [(one.refused, one.fix) for one in made if one.refused]
    yield from dict.fromkeys(refused)
    if not refused:
        try:
            after = Passage(site.operation.symbol, result)
        except MergeError as error:
            reason = re.sub(r" \(line \d+\)", "", error.problems[0].what)
            what = f"{site.named} is {reason} after its edits"
            yield what, "see that what each find and each replacement leaves is whole"
        else:
            yield from dict.fromkeys(misreadings(passage, after, made))
