"""Endings: an overlay on a new version of upstream → the statements that end by their ``until`` before it.

Nothing replaces them there. Where upstream still has the target, somebody has to decide; where that is gone, too, a
note is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from packaging.version import Version

from npu_overlays.authoring.port.parts import PortedPart, Statement, statements, target, undecided
from npu_overlays.authoring.port.text_verdicts import patch_verdicts
from npu_overlays.authoring.port.verdicts import Verdict
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.contracts.lockfile import Lock, load_lock, stated_version
from npu_overlays.errors import OverlayError, listing
from npu_overlays.model.selectors import chosen
from npu_overlays.overlay.content import Content, names_dropped
from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit, read_layers
from npu_overlays.overlay.operations import EVERYTHING
from npu_overlays.overlay.overlay_folders import readable
from npu_overlays.overlay.project import Overlay


@dataclass(frozen=True, kw_only=True)
class Endings:
    """The statements that end before the new version without a replacement.

    Args:
        open: parts for a person, since upstream still has their targets.
        notes: on the others, for the user.
    """

    open: tuple[PortedPart, ...]
    notes: tuple[str, ...]


def endings(lock: Lock, after: Content, version: str, now: Snapshot) -> Endings:
    """Return the statements that end before the new version of upstream.

    The author of ``until`` thought of a release; the new pin may be a commit before the change in that release, or a
    release that nothing was written for.

    Args:
        lock: of the old pin.
        after: the content for the new one.
        version: of upstream at the new pin.
        now: upstream there.
    """
    there = frozenset(map(target, statements(after)))
    ended = [one for one in _ended(after.overlay, lock, version) if target(one) not in there]
    standing = [one for one in ended if _stands(one, now)]
    ends = [Version(one.bounds.until) for one in standing]
    pins = _locked_targets(after.overlay, min(ends)) if ends else {}
    left = [one for one in standing if not _is_decided(one, pins)]
    named = [f"{target(one)} (until {one.bounds.until})" for one in ended if one not in left]
    layers = listing(dict.fromkeys(one.layer for one in ended if one not in left))
    note = f"left out, since their `until` in {layers} is not after {version}: {listing(named)}"
    return Endings(open=tuple(_part(one, version) for one in left), notes=(note,) if named else ())


def _ended(overlay: Overlay, lock: Lock, version: str) -> Iterator[Statement]:
    """Yield what a pin states for the version of a lock and no more for a newer one, without what the pin drops."""
    layers = read_layers(overlay.chain, forms=lock.forms)
    before, after = Version(lock.metadata.version), Version(version)
    dropped = names_dropped(overlay, version)
    for one in statements(layers):
        has_ended = one.bounds.until and one.bounds.hold(before) and Version(one.bounds.until) <= after
        if has_ended and one.path and target(one) not in dropped:
            yield one


def _stands(one: Statement, now: Snapshot) -> bool:
    """Return whether upstream has the target of a statement: its symbol, the class of an addition, or its file."""
    if isinstance(one, OverlayFile):
        is_patch = one.path.endswith(".patch")
        return is_patch and any(verdict.applies for _, verdict in patch_verdicts([one], now))
    if one.path not in now or isinstance(one, SourcedEdit):
        return one.path in now
    module = now.module(one.path)
    name = one.owner if one.action == "added" else one.symbol
    return module is not None and (name == EVERYTHING or bool(name and chosen(module, name)))


def _is_decided(one: Statement, pins: Mapping[Version, frozenset[str]]) -> bool:
    """Return whether a pin after the end of a statement has nothing for its target, either: its author decided it."""
    until = Version(one.bounds.until)
    return any(until <= version and target(one) not in there for version, there in pins.items())


def _locked_targets(overlay: Overlay, first: Version) -> dict[Version, frozenset[str]]:
    """Return the targets in the locks of a project's other pins, by upstream's versions from the first that counts."""
    found: dict[Version, frozenset[str]] = {}
    for other in readable(overlay.folder.parent, overlay.pin.project):
        version = stated_version(other) if other.name != overlay.name else ""
        if not version or Version(version) < first:
            continue
        with suppress(OverlayError):
            targets: set[str] = set()
            for one in load_lock(other).contracts:
                # A deletion that empties a module is locked by what it deletes.
                targets |= {one.patch, one.path, f"{one.path}:{one.symbol}", f"{one.path}:{EVERYTHING}"}
            found[Version(version)] = frozenset(targets)
    return found


def _part(one: Statement, version: str) -> PortedPart:
    where = one.file if isinstance(one, OverlayFile) else one.where
    evidence = "nothing replaces it, and upstream still has what it changes"
    said = f"{where} ends by `until` {one.bounds.until}: {evidence}"
    unknown = f"whether {version} needs it: if so, change its `until`, or write its successor; else drop it"
    return undecided(one, Verdict(kind="ended", evidence=evidence, change=said, unknown=unknown))
