"""`check`: overlays → what a build would find, without a wheel."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.coherence.environment import Side
from npu_overlays.coherence.found import incoherent
from npu_overlays.commands.command import Command, Selection, add_json, add_selection
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import count_of, source_notes
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
Do everything a build does except writing a wheel: read the overlay, compare it
with its lock and the pinned upstream, merge, and compare the changes with what
was declared.

All overlays are tried, and the mistakes of all are reported together. Run it
after every change, before a commit.

It names what has met its own `drop_when`: a version, a commit, or a symbol that
upstream has by now or has no more. Whether upstream has a commit is known only
if its history is at hand, as after `port` or `drift`.

It also names what touches rewards, losses, advantages, seeds or checkpoints,
swallows errors, draws random numbers, prints, or imports a debugger, unless its
author accepts that and gives a reason.

The overlays of a stack have to offer what they ask of each other: modules and
names that are imported, keywords in calls, attributes that are assigned. What
an overlay adds or removes wrongly is a mistake; what upstream's own code asks
of another upstream in vain is only named.

examples:
  npu-overlays check verl@d62da49
  npu-overlays check --all
  npu-overlays check --all --due            for CI: fail if something can be dropped
  npu-overlays check --all --strict         for CI: fail if a danger is not accepted
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for."""

    selection: Selection  # which overlays, and where their upstreams are to come from
    due: bool  # whether to fail where something has met its own condition to go
    strict: bool  # whether to fail where something dangerous is not accepted
    json: bool  # whether the report is JSON


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--due", action="store_true", help="fail if something has met its own drop_when")
    parser.add_argument("--strict", action="store_true", help="fail if something dangerous is not accepted")
    add_json(parser)


def _run(options: Options, console: Console) -> int:
    overlays = select(options.selection)
    loader = Loader(overlays, options.selection.choice)
    checked, errors = each(overlays, lambda overlay: _checked(overlay, loader))
    prepared = [one.prepared for one in checked]
    dangers = warnings([one.looked for one in checked], shared=_shared(prepared))
    stacks = list(map(incoherent, _stacks(prepared)))
    if options.json:
        console.json([{**one.prepared.record, "dangers": _as_json(one.looked)} for one in checked])
    else:
        for one in checked:
            _report(console, one, due=not options.due)
        console.warnings(() if options.strict else dangers)
        console.notices(dict.fromkeys(chain.from_iterable(stack.notices for stack in stacks)))
    problems: list[Problem] = []
    if options.due:
        problems += chain.from_iterable(one.due for one in checked)
    if options.strict:
        problems += dangers
    problems += chain.from_iterable(stack.problems for stack in stacks)
    if problems:
        errors.append(MergeError(dict.fromkeys(problems)))
    if errors:
        raise joined(errors)
    return 0


@dataclass(frozen=True, kw_only=True)
class _Checked:
    """An overlay that fits, what is dangerous in it, and what has met its own condition to go."""

    prepared: Prepared
    looked: Looked
    due: Sequence[Problem]


def _checked(overlay: Overlay, loader: Loader) -> _Checked:
    """Return what is found of one overlay; raises `OverlayError` where a build would refuse it."""
    from npu_overlays.wheels.hatchling_archives import rehearse  # noqa: PLC0415  # hatchling takes a fifth of a second

    prepared = rehearse(load(overlay, loader))
    if problems := [*idle(overlay, loader.lock), *unproven(prepared.content, load_fired(overlay.folder))]:
        raise MergeError(by_cause(problems))
    news, looked = [*_news(prepared, loader)], look(prepared.content, prepared.applied)
    # Of all overlays together, what is known of their trees takes much memory.
    for model in (prepared.applied.before, prepared.applied.after):
        model.forget()
    prepared = replace(prepared, notices=(*prepared.notices, *news))
    return _Checked(prepared=prepared, looked=looked, due=_due(prepared))


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
    for one in prepared:
        overlay = one.loaded.overlay
        for layer in overlay.layers:
            is_beside = layer.folder.resolve().parent == overlay.folder.resolve().parent
            others = {other.folder.resolve() for other in pins_on(layer, beside=overlay)}
            if not (is_beside and others <= checked):
                found.add(layer.name)
    return frozenset(found)


def _stacks(prepared: list[Prepared]) -> list[list[Side]]:
    """Return the overlays that stacks put together, of those that are checked whole."""
    known = {one.loaded.name: one for one in prepared}
    together = set()
    for one in prepared:
        together.add(frozenset(overlay.name for overlay in (one.loaded.overlay, *one.loaded.partners)))
    whole = sorted(sorted(names) for names in together if len(names) > 1 and names <= known.keys())
    sides = {name: Side(content=one.content, applied=one.applied) for name, one in known.items()}
    return [list(map(sides.__getitem__, names)) for names in whole]


def _as_json(looked: Looked) -> list[dict[str, object]]:
    dangers: list[dict[str, object]] = []
    for one in looked.dangers:
        accepted = None if one.accepted is None else one.accepted.reason or one.piece.why
        dangers.append(
            {
                "kind": one.kind,
                "where": one.where,
                "what": one.piece.does,
                "target": one.piece.target,
                "shown": one.shown,
                "why": one.why,
                "accepted": accepted,
            }
        )
    return dangers


def _due(prepared: Prepared) -> list[Problem]:
    """Return what has met its own condition to go."""
    pin, version = prepared.content.overlay.pin, prepared.loaded.metadata.version
    past = kept(cache_root(), pin.project)
    history = UpstreamHistory(repository=past) if past.is_dir() and pin.commit else None

    def is_past(commit: str) -> bool:
        return history is not None and history.is_ancestor(commit, pin.commit)

    return list(due(prepared.content, version, prepared.tree.upstream, is_past))


def _report(console: Console, checked: _Checked, *, due: bool) -> None:
    """Report one overlay, and what can go where that is no mistake."""
    prepared = checked.prepared
    console.notices((*source_notes(prepared.record, verb="would be built"), *prepared.notices))
    console.line(f"{prepared.loaded.name}: {count_of(prepared.record)}, as declared", style="green")
    if due:
        console.warnings(checked.due)


COMMAND = Command(
    name="check",
    summary="do everything a build does, except writing a wheel",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    options=Options,
    run=_run,
)
