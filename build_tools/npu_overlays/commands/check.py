"""`check`: overlays → what a build would find, without a wheel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.checks.cross_package import StackMember, StackMismatches, stack_mismatches
from npu_overlays.checks.risk_lint.risks import OverlayRisks, overlay_risks, risk_problems
from npu_overlays.commands.command import Selection, flag, json_option
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import count_of, source_notes
from npu_overlays.commands.selection import select
from npu_overlays.contracts.contract_drift import drift_notices, without_lines
from npu_overlays.contracts.expiry import met_drop_conditions, unused_bounds
from npu_overlays.contracts.runtime_coverage import load_coverage, uncovered_operations
from npu_overlays.errors import MergeError, OverlayError, Problem, by_cause
from npu_overlays.overlay.overlay_folders import pins_on
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.loader import Loader
from npu_overlays.pipeline.preparation import Prepared, each, joined, load
from npu_overlays.sources.cache import cache_root
from npu_overlays.sources.histories import kept
from npu_summary.plurals import plural

SUMMARY = "do everything a build does, except writing a wheel"
DESCRIPTION = """\
Do everything a build does except writing a wheel: read the overlay, compare it
with its lock and the pinned upstream, merge, and compare the changes with what
was declared.

All overlays are tried, and the mistakes of all are reported together. Run it
after every change, before a commit.

It names what has met its own `drop_when`: a version, a commit, or a symbol that
upstream now has or no longer has. To look for a commit it needs upstream's
history, which `port` and `drift` fetch.

It also names what touches rewards, losses, advantages, seeds or checkpoints,
swallows errors, draws random numbers, prints, or imports a debugger, unless its
author accepts that and gives a reason.

It compares the overlays of a stack with each other: imported modules and names,
keywords in calls, assigned attributes. If an overlay uses something that the
other wheel lacks, or removes something that the other needs, the check fails.
If upstream's own code uses something that another upstream lacks, it only names
that.

examples:
  npu-overlays check verl@d62da49
  npu-overlays check --all
  npu-overlays check --all --due            for CI: fail if something can be dropped
  npu-overlays check --all --strict         for CI: fail if a danger is not accepted
"""


@dataclass(frozen=True, kw_only=True)
class Options(Selection):
    """The overlays, and what is to be an error."""

    due: bool = flag("--due", "fail if something has met its own drop_when")
    strict: bool = flag("--strict", "fail if something dangerous is not accepted")
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    found = check(select(options), options.choice)
    if options.json:
        console.json(as_json(found))
    else:
        report(console, found, due=not options.due, dangers=not options.strict)
    refuse(found, due=options.due, strict=options.strict)
    return 0


@dataclass(frozen=True, kw_only=True)
class _Checked:
    """An overlay that fits, what is dangerous in it, and what has met its own condition to go."""

    prepared: Prepared
    looked: OverlayRisks
    due: Sequence[Problem]


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What is found of several overlays."""

    checked: Sequence[_Checked]  # those that fit
    errors: Sequence[OverlayError]  # why the others do not
    dangers: Sequence[Problem]  # what is dangerous in those that fit, and not accepted
    stacks: Sequence[StackMismatches]  # what overlays of one stack ask of each other in vain


def check(overlays: Sequence[Overlay], choice: Choice) -> CheckResult:
    """Return what a build of overlays would find."""
    loader = Loader(overlays, choice)
    checked, errors = each(overlays, lambda overlay: _checked(overlay, loader))
    prepared = [one.prepared for one in checked]
    return CheckResult(
        checked=checked,
        errors=errors,
        dangers=risk_problems([one.looked for one in checked], shared=_shared(prepared)),
        stacks=list(map(stack_mismatches, _stacks(prepared))),
    )


def refuse(found: CheckResult, *, due: bool = False, strict: bool = False) -> None:
    """Raise `OverlayError` with every mistake, and with due or dangerous changes if these count as errors."""
    problems: list[Problem] = []
    if due:
        problems += chain.from_iterable(one.due for one in found.checked)
    if strict:
        problems += found.dangers
    problems += chain.from_iterable(stack.problems for stack in found.stacks)
    errors = list(found.errors)
    if problems:
        errors.append(MergeError(dict.fromkeys(problems)))
    if errors:
        raise joined(errors)


def report(console: Console, found: CheckResult, *, due: bool = True, dangers: bool = True) -> None:
    """Print what is found, also what is due or dangerous where that is no error."""
    for one in found.checked:
        _report(console, one, due=due)
    console.warnings(found.dangers if dangers else ())
    console.notices(dict.fromkeys(chain.from_iterable(stack.notices for stack in found.stacks)))


def as_json(found: CheckResult) -> list[dict[str, object]]:
    """Return the record of each overlay that fits, with what is dangerous in it, as JSON."""
    return [{**one.prepared.record, "dangers": _dangers(one.looked)} for one in found.checked]


def _checked(overlay: Overlay, loader: Loader) -> _Checked:
    """Return what is found of one overlay; raises `OverlayError` if a build would refuse it."""
    from npu_overlays.wheels.hatchling_archives import rehearse  # noqa: PLC0415  # hatchling takes a fifth of a second

    prepared = rehearse(load(overlay, loader))
    uncovered = uncovered_operations(prepared.content, load_coverage(overlay.folder))
    if problems := [*unused_bounds(overlay, loader.lock), *uncovered]:
        raise MergeError(by_cause(problems))
    news, looked = [*_news(prepared, loader)], overlay_risks(prepared.content, prepared.applied)
    # Of all overlays together, what is known of their trees takes much memory.
    for model in (prepared.applied.before, prepared.applied.after):
        model.forget()
    prepared = replace(prepared, notices=(*prepared.notices, *news))
    return _Checked(prepared=prepared, looked=looked, due=_due(prepared))


def _news(prepared: Prepared, loader: Loader) -> Iterator[str]:
    """Yield that upstream changed since other pins in a way that the lock does not say, where it did."""
    lock, name = prepared.loaded.lock, prepared.loaded.name
    carried = drift_notices(prepared.content, lock, prepared.applied.before.symbols, lock_of=loader.lock)
    if news := [notice for notice in carried if without_lines(notice) not in lock.told]:
        number = plural(len(news), "notice")
        told = f"`npu-overlays lock {prepared.loaded.overlay.argument}` prints them, and the lock keeps them"
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


def _stacks(prepared: list[Prepared]) -> list[list[StackMember]]:
    """Return the overlays that stacks put together, of those that are checked whole."""
    known = {one.loaded.name: one for one in prepared}
    together = set()
    for one in prepared:
        together.add(frozenset(overlay.name for overlay in (one.loaded.overlay, *one.loaded.partners)))
    whole = sorted(sorted(names) for names in together if len(names) > 1 and names <= known.keys())
    sides = {name: StackMember(content=one.content, applied=one.applied) for name, one in known.items()}
    return [list(map(sides.__getitem__, names)) for names in whole]


def _dangers(looked: OverlayRisks) -> list[dict[str, object]]:
    dangers: list[dict[str, object]] = []
    for one in looked.risks:
        accepted = None if one.accepted is None else one.accepted.reason or one.change.why
        dangers.append(
            {
                "kind": one.kind,
                "where": one.where,
                "what": one.change.does,
                "target": one.change.target,
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

    return list(met_drop_conditions(prepared.content, version, prepared.tree.upstream, is_past))


def _report(console: Console, checked: _Checked, *, due: bool) -> None:
    """Report one overlay, and what can go where that is no mistake."""
    prepared = checked.prepared
    console.notices(
        (*source_notes(prepared.record, prepared.loaded.overlay.argument, verb="would be built"), *prepared.notices)
    )
    console.line(f"{prepared.loaded.name}: {count_of(prepared.record)}, as declared", style="green")
    if due:
        console.warnings(checked.due)
