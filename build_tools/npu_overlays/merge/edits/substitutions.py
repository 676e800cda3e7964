"""Substitutions: token sequences inside one upstream definition, each exchanged a stated number of times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, starmap

from npu_overlays.errors import MergeError, Problem, nearest, suggestion
from npu_overlays.merge.edits.exchanges import Exchange, exchanges
from npu_overlays.merge.edits.misreadings import misreadings
from npu_overlays.merge.sites import Site
from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module
from npu_overlays.model.passages import Passage
from npu_overlays.model.splices import Splice, overlapping, splice
from npu_overlays.model.token_layout import TokenLayout, layout_of
from npu_overlays.overlay.operations import Edit

_SHOWN = 3


def splices(site: Site) -> list[Splice]:
    """Return the splices of an `edited`; raises `MergeError` with every find that does not fit.

    Every find is searched in upstream's text, never in the result of another one.
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
            problems.append(_misfit(site, edit, passage, found, first_line=definition.first_line))
    made = exchanges(passage, places)
    splices = [site.splice(start + one.start, start + one.end, one.text) for one in made]
    if not problems and not overlapping(splices):
        result = splice(site.module.content[start:end], _within(splices, start), newline=site.module.newline)
        problems += starmap(site.problem, _mistakes(site, passage, made, result))
    MergeError.raise_for(problems)
    return [site.notice_above(definition), *splices]


def _extent(site: Site, definition: Definition) -> tuple[int, int]:
    """Return the bytes of a definition, extended to whole lines if nothing else is on them."""
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
    """Yield (what is wrong, what to do) for exchanges that Python reads differently."""
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


def _misfit(site: Site, edit: Edit, passage: Passage, found: list[int], *, first_line: int) -> Problem:
    """Return what is wrong with a find that occurs too often, too seldom or not at all.

    Args:
        site: the operation.
        edit: the substitution.
        passage: the definition that is searched.
        found: the tokens at which it occurs there.
        first_line: the 1-based line of the module the passage begins on.
    """
    if found:
        lines = [first_line + _line_of(passage, at) for at in found]
        where = f" (line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))})"
        often = len(found) > edit.count
        fix = (
            'lengthen the find, or give ("find", "replace", count)' if often else "correct the find, or lower its count"
        )
        return _problem(site, f"`{edit.find}` occurs {len(found)} times", where, edit, fix)
    find = layout_of(edit.find)
    if other := passage.sequences(find):
        lines = [first_line + _line_of(passage, at) for at in other]
        fix = (
            f"its words stand at line {', '.join(map(str, lines))}, in other lines or other blocks:"
            " write the find with upstream's line ends and indentation"
        )
    else:
        inside = _inside_a_string(edit, passage, first_line)
        fix = (
            inside
            or _elsewhere(site, find)
            or _nearest(find, passage)
            or f"copy the text from upstream: {site.named} begins at line {first_line} of {site.module.path}"
        )
    return _problem(site, f"`{edit.find}` occurs nowhere", "", edit, fix)


def _problem(site: Site, what: str, where: str, edit: Edit, fix: str) -> Problem:
    expected = f", expected {edit.count}" if where else ""
    return site.problem(f"{what} in {site.named}{where}{expected}", fix)


def _line_of(passage: Passage, token: int) -> int:
    """Return how many lines of the passage end before a token."""
    shift = passage.layout.source[: passage.shift].count("\n")
    return passage.layout.source.count("\n", 0, passage.layout.tokens[token].start) - shift


def _inside_a_string(edit: Edit, passage: Passage, first_line: int) -> str:
    """Name the strings of the definition that contain a find; a string, f-strings included, is a single token."""
    places = []
    for at, token in enumerate(passage.layout.tokens):
        text = passage.layout.texts[at]
        if token.kind == "string" and edit.find.strip() in text[1:-1] and "\n" not in text:
            places.append(f"line {first_line + _line_of(passage, at)}, in {text}")
    return f"it stands at {'; '.join(places[:_SHOWN])}: find and replace that string as a whole" if places else ""


def _elsewhere(site: Site, find: TokenLayout) -> str:
    """Name the other places of a find in the module."""
    text = site.module.content.decode()
    if not all(word in text for word in find.texts):  # that costs nothing beside reading the tokens of a module
        return ""
    whole = layout_of(text)
    places = []
    for at in whole.occurrences(find)[:_SHOWN]:
        line = whole.source.count("\n", 0, whole.tokens[at].start) + 1
        name = _symbol_at(site.module, line)
        places.append(f"line {line}" + (f", in `{name}`" if name else ""))
    return f"it stands at {'; '.join(places)}: edit that symbol" if places else ""


def _symbol_at(module: Module, line: int) -> str:
    """Return the innermost definition a line of a module belongs to."""
    around: list[tuple[int, str]] = []
    for name, known in module.definitions.items():
        for one in known:
            if one.first_line <= line <= (one.node.end_lineno or one.node.lineno):
                around.append((one.first_line, name))
    return max(around)[1] if around else ""


def _nearest(find: TokenLayout, passage: Passage) -> str:
    """Return the definition's line that is most similar to the first line of a find."""
    return suggestion(nearest(_words(find)[0], _words(passage.layout)), "")


def _words(layout: TokenLayout) -> list[str]:
    """Return the words of each logical line."""
    heads = [*layout.heads, len(layout.tokens)]
    return [" ".join(layout.texts[first:behind]) for first, behind in pairwise(heads)]
