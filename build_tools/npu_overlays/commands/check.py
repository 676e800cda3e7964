"""`check`: overlays → what a build would find, without a wheel."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.coherence.environment import Side
from npu_overlays.coherence.found import incoherent
from npu_overlays.commands.command import Command
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import count_of, source_notes
from npu_overlays.commands.options import Selection, add_json, add_selection, read_selection
from npu_overlays.commands.selection import select
from npu_overlays.contracts.contract_drift import carried_over, lasting
from npu_overlays.contracts.drop_conditions import due
from npu_overlays.contracts.runtime_coverage import load_fired, unproven
from npu_overlays.contracts.unused_bounds import idle
from npu_overlays.dangers.found import Looked, look, warnings
from npu_overlays.errors import MergeError, Problem, by_cause
from npu_overlays.model.lookup import Upstream
from npu_overlays.overlay.overlay_folders import pins_on
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline.loader import Loader
from npu_overlays.pipeline.preparation import Prepared, each, joined, load
from npu_overlays.sources.cache import cache_root
from npu_overlays.sources.histories import kept
from npu_summary.plurals import plural

_DESCRIPTION = """\
Do all that a build does, except writing a wheel: read the overlay, hold it
against its lock and the pinned upstream, merge, and compare what changed with
what was declared.

Every overlay is tried, and the mistakes of all are reported at once; what is
right is said as well. Run it after every change, before a commit.

What has met its own `drop_when` is named: where that is a version, a commit, or
a symbol that upstream has, or has no more. Whether upstream has a commit is
known where its history is at hand, as after `port` or `drift`.

So is what touches rewards, losses, advantages, seeds or checkpoints, swallows
errors, draws random numbers, prints, or brings in a debugger, unless its
author accepts that, with a reason.

The overlays of a stack have to have what each asks of the others: modules and
names it imports, keywords it calls with, what it gives another value to. What
an overlay brings in or takes away is a mistake; what upstream's own code asks
of another upstream that has it not, is named.

examples:
  npu-overlays check verl@d62da49
  npu-overlays check --all
  npu-overlays check --all --due            for CI: fail where something can go
  npu-overlays check --all --strict         for CI: fail where a danger is not accepted
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for.

    Args:
        selection: which overlays, and where their upstreams are to come from.
        due: whether to fail where something has met its own condition to go.
        strict: whether to fail where something dangerous is not accepted.
        json: whether the report is JSON.
    """

    selection: Selection
    due: bool
    strict: bool
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--due", action="store_true", help="fail where something has met its own drop_when")
    parser.add_argument("--strict", action="store_true", help="fail where something dangerous is not accepted")
    add_json(parser)


def _read(parsed: argparse.Namespace) -> Options:
    return Options(selection=read_selection(parsed), due=parsed.due, strict=parsed.strict, json=parsed.json)


def _run(options: Options, console: Console) -> int:
    overlays = select(options.selection)
    loader = Loader(overlays, options.selection.choice)
    tried, errors = each(overlays, lambda overlay: _tried(overlay, loader))
    prepared = [one for one, _ in tried]
    met = {one.loaded.name: _due(one) for one in prepared}
    looked = {one.loaded.name: seen for one, seen in tried}
    dangerous = warnings(looked.values(), shared=_shared(prepared))
    stacks = [incoherent(sides) for sides in _stacks(prepared)]
    if options.json:
        console.json([{**one.record, "dangers": _as_json(looked[one.loaded.name])} for one in prepared])
    else:
        for one in prepared:
            _report(console, one)
            for problem in () if options.due else met[one.loaded.name]:
                console.warning(problem)
        for problem in () if options.strict else dangerous:
            console.warning(problem)
        for notice in dict.fromkeys(notice for stack in stacks for notice in stack.notices):
            console.notice(notice)
    problems = [problem for those in met.values() for problem in those] if options.due else []
    problems += dangerous if options.strict else []
    problems += [problem for stack in stacks for problem in stack.problems]
    errors += [MergeError(dict.fromkeys(problems))] if problems else []
    if errors:
        raise joined(errors)
    return 0


def _tried(overlay: Overlay, loader: Loader) -> tuple[Prepared, Looked]:
    from npu_overlays.wheels.rehearsal import rehearse  # noqa: PLC0415  # hatchling takes a fifth of a second

    prepared = rehearse(load(overlay, loader))
    if problems := [*idle(overlay, loader.lock), *unproven(prepared.content, load_fired(overlay.folder))]:
        raise MergeError(by_cause(problems))
    news, looked = [*_news(prepared, loader)], look(prepared.content, prepared.applied)
    # Of all overlays together, what is known of their trees takes much memory.
    for model in (prepared.applied.before, prepared.applied.after):
        model.forget()
    return replace(prepared, notices=(*prepared.notices, *news)), looked


def _news(prepared: Prepared, loader: Loader) -> Iterator[str]:
    """Yield that upstream changed since other pins in a way that the lock does not say, where it did."""
    lock, name = prepared.loaded.lock, prepared.loaded.name
    carried = carried_over(prepared.content, lock, Upstream(prepared.applied.before), lock_of=loader.lock)
    if news := [notice for notice in carried if lasting(notice) not in lock.told]:
        number = plural(len(news), "notice")
        told = f"`npu-overlays lock {name}` prints them, and the lock keeps them"
        yield f"{name}: {number} on what upstream changed since other pins, not in the lock yet: {told}"


def _shared(prepared: list[Prepared]) -> frozenset[str]:
    """Return the layers that other pins are made of too than those that are checked, or may be."""
    checked = {one.loaded.overlay.folder.resolve() for one in prepared}
    found: set[str] = set()
    for overlay in (one.loaded.overlay for one in prepared):
        for layer in overlay.layers:
            is_beside = layer.folder.resolve().parent == overlay.folder.resolve().parent
            others = {other.folder.resolve() for other in pins_on(layer, beside=overlay)}
            found |= set() if is_beside and others <= checked else {layer.name}
    return frozenset(found)


def _stacks(prepared: list[Prepared]) -> list[list[Side]]:
    """Return the overlays that stacks put together, of those that are checked whole."""
    known = {one.loaded.name: one for one in prepared}
    together = {frozenset({one.loaded.name, *(other.name for other in one.loaded.partners)}) for one in prepared}
    whole = sorted(sorted(names) for names in together if len(names) > 1 and names <= known.keys())
    return [
        [Side(content=one.content, applied=one.applied) for one in map(known.__getitem__, names)] for names in whole
    ]


def _as_json(looked: Looked) -> list[dict[str, object]]:
    return [
        {
            "kind": one.kind,
            "where": one.where,
            "what": one.piece.does,
            "target": one.piece.target,
            "shown": one.shown,
            "why": one.why,
            "accepted": None if one.accepted is None else one.accepted.reason or one.piece.why,
        }
        for one in looked.dangers
    ]


def _due(prepared: Prepared) -> list[Problem]:
    """Return what has met its own condition to go."""
    pin, version = prepared.content.overlay.pin, prepared.loaded.metadata.version
    past = kept(cache_root(), pin.project)
    history = UpstreamHistory(repository=past) if past.is_dir() and pin.commit else None
    return list(
        due(
            prepared.content,
            version,
            prepared.tree.upstream,
            lambda commit: history is not None and history.is_ancestor(commit, pin.commit),
        )
    )


def _report(console: Console, prepared: Prepared) -> None:
    for notice in (*source_notes(prepared.record, verb="would be built"), *prepared.notices):
        console.notice(notice)
    console.line(f"{prepared.loaded.name}: {count_of(prepared.record)}, as declared", style="green")


COMMAND = Command(
    name="check",
    summary="do all that a build does, except writing a wheel",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
)
