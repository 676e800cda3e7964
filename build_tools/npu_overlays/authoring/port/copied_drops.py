"""Copied drops: what the old pin leaves out of its layers → the parts that fit the new version, for a person.

A port copies the pin's drops with their reasons, which were written for the old version. They may not hold for an older
one, nor where the pin has no statement in their place any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from packaging.version import Version

from npu_overlays.authoring.port.fit import Fitter
from npu_overlays.authoring.port.parts import PortedPart, Statement, statements, target, undecided
from npu_overlays.authoring.port.text_verdicts import SubstitutionVerdicts, file_verdict, patch_verdicts
from npu_overlays.authoring.port.verdicts import Verdict
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit, read_layers
from npu_overlays.overlay.operations import FormTargets, Operation
from npu_overlays.overlay.project import CONFIG_FILE, Drop


@dataclass(frozen=True, kw_only=True)
class CopiedDrops:
    """The drops of an old pin in the folder of a new one.

    Args:
        before: the content of the old pin.
        after: that of the new one.
        versions: of upstream at both.
        forms: the targets of operations by form at the new pin.
        decided: the parts that a person has decided to leave out there, too.
    """

    before: Content
    after: Content
    versions: tuple[str, str]
    forms: FormTargets
    decided: Collection[str]

    def parts(self, now: Snapshot, fitter: Fitter, judged: Iterable[PortedPart]) -> Iterator[PortedPart]:
        """Yield what the pin leaves out for a reason that may not hold, and fits the new version.

        Args:
            now: upstream at the new pin.
            fitter: tries operations.
            judged: the parts of the new pin.
        """
        old, new = (content.overlay for content in (self.before, self.after))
        standing: set[str] = set()
        for part in judged:
            if part.layer == new.name and (part.verdict.applies or part.verdict.proposal not in ("", "drop")):
                standing.add(part.name)
        own = [one for one in statements(self.before) if one.layer == old.name]
        for drop, one in self._left_out():
            replacing = [target(other) for other in own if _replaces(other, one, drop)]
            is_in_doubt = not standing.issuperset(replacing) if replacing else self._is_older
            if is_in_doubt and target(one) not in self.decided and _fits(one, now, fitter):
                yield self._part(one, drop)

    @property
    def _is_older(self) -> bool:
        old, new = map(Version, self.versions)
        return new < old

    def _left_out(self) -> Iterator[tuple[Drop, Statement]]:
        """Yield the statements of layers for the new version that only a copied drop leaves out, each with that."""
        old, new, version = self.before.overlay, self.after.overlay, Version(self.versions[1])
        copied = [one for one in new.chain[-1].drops if one in old.chain[-1].drops and one.bounds.hold(version)]
        if not copied:
            return
        others: list[Drop] = []
        for layer in new.chain:
            others += (one for one in layer.drops if one not in copied and one.bounds.hold(version))
        for one in statements(read_layers(new.chain, forms=self.forms)):
            drop = next((drop for drop in copied if _covers(drop, one)), None)
            is_ours = one.layer != new.name and one.bounds.hold(version)
            if drop and is_ours and not any(_covers(other, one) for other in others):
                yield drop, one

    def _part(self, one: Statement, drop: Drop) -> PortedPart:
        old, new = self.before.overlay, self.after.overlay
        said = f"left out at {old.name}, and fits {new.name}; the reason there: {drop.why}"
        place = f"{new.argument}/{CONFIG_FILE}"
        unknown = (
            f"whether {new.name} needs it: if so, delete its [[drop]] in {place}; else --drop it for the new version"
        )
        return undecided(one, Verdict(kind="left out", evidence=said, change=said, unknown=unknown))


def _covers(drop: Drop, one: Statement) -> bool:
    """Return whether a drop names a statement."""
    return any(map(drop.covers, one.names if isinstance(one, OverlayFile) else (one.path, target(one))))


def _replaces(own: Statement, one: Statement, drop: Drop) -> bool:
    """Return whether a statement of the pin has the target of a layer's, or the reason to drop that names it."""
    if target(own) == target(one) or target(own) in drop.why:
        return True
    return isinstance(own, Operation) and own.path == one.path and own.symbol in drop.why


def _fits(one: Statement, now: Snapshot, fitter: Fitter) -> bool:
    """Return whether a statement can be applied to upstream."""
    if isinstance(one, Operation):
        module = now.module(one.path)
        return module is not None and not fitter.problem(one, module)
    if isinstance(one, SourcedEdit):
        ((_, verdict),) = SubstitutionVerdicts(now).verdicts([one], now)
        return verdict.applies
    if one.path.endswith(".patch"):
        return any(verdict.applies for _, verdict in patch_verdicts([one], now))
    return file_verdict(one, now).applies
