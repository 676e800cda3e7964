"""Selection: names that a user gives operations → the units of an overlay that they mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence

from npu_overlays.authoring.checkout.units import Unit
from npu_overlays.errors import Problem, UsageError, listing


def choose(units: Sequence[Unit], names: Iterable[str], *, overlay: str) -> tuple[Unit, ...]:
    """Return the units that the names mean, in their own order.

    Args:
        units: of an overlay.
        names: targets (``path:Symbol``), symbols, paths or names of patches.
        overlay: its name, for messages.

    Raises:
        UsageError: with every name that means nothing, and every symbol that stands for several operations.
    """
    meant = {name: [unit for unit in units if name in unit.names] for name in names}
    if problems := [problem for name, found in meant.items() for problem in _mistakes(name, found, units, overlay)]:
        raise UsageError(problems)
    chosen = [unit for found in meant.values() for unit in found]
    return tuple(unit for unit in units if unit in chosen)


def _mistakes(name: str, found: Sequence[Unit], units: Iterable[Unit], overlay: str) -> Iterator[Problem]:
    if not found:
        near = difflib.get_close_matches(name, sorted({one for unit in units for one in unit.names}), n=1)
        fix = f"nearest: {near[0]}" if near else f"see `npu-overlays show {overlay}`"
        options = tuple((name, one) for one in near)
        yield Problem(where=name, what="the overlay has no such operation, file or patch", fix=fix, options=options)
    elif len(found) > 1 and all(name not in unit.paths for unit in found):
        targets = [target for unit in found for target in unit.targets if target.endswith(f":{name}")]
        what = f"{len(found)} operations are called so: {listing(targets)}"
        yield Problem(where=name, what=what, fix="name one with its path", options=((name, targets[0]),))
