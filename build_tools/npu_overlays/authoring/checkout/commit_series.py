"""Commit series: an overlay and its upstream → the commits from one to the other, one for each unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from npu_overlays.authoring.checkout.commit_messages import message
from npu_overlays.authoring.checkout.units import Unit, about, only, units_of
from npu_overlays.errors import MergeError
from npu_overlays.merge.apply import apply_part
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.progress import step
from npu_overlays.sources.tree import PatchedTree
from npu_summary.plurals import plural


@dataclass(frozen=True, kw_only=True)
class OverlayCommit:
    """One step from upstream to what an overlay gives."""

    # What it applies: one unit, or several whose earlier ones cannot be applied without the last.
    units: tuple[Unit, ...]
    # The files it changes, with their new content; None where it deletes one.
    changes: Mapping[str, bytes | None] = field(repr=False)
    executable: frozenset[str] = frozenset()  # those of them that are executable afterwards

    @property
    def message(self) -> str:
        """Its message."""
        return message(self.units)


@dataclass(frozen=True, kw_only=True)
class CommitSeries:
    """Commits on top of upstream, and the tree they lead to."""

    commits: tuple[OverlayCommit, ...]
    tree: PatchedTree = field(repr=False)


def series(subject: AppliedInput, chosen: Sequence[Unit] | None = None, *, notices: bool = True) -> CommitSeries:
    """Return one commit for each unit of an overlay, or for the chosen ones, in the order of a build.

    `notices` is whether comments mark the changed places, as in a wheel. Raises `MergeError` where a unit does not fit.
    """
    units = units_of(subject.content) if chosen is None else tuple(chosen)
    step(f"making commits of {plural(len(units), 'change')}")
    whole = apply_part(only(subject.content, units), subject.tree, absent=subject.absent, notices=notices)
    state = PatchedTree(upstream=subject.tree)
    commits: list[OverlayCommit] = []
    waiting: list[Unit] = []
    for number, unit in enumerate(units):
        waiting.append(unit)
        # A unit that needs a later one, as a wrapper that names a new parameter, is committed with that.
        after = _applied(subject, units[: number + 1], waiting, notices=notices)
        if after is None:
            continue
        changes = {path: content for path, content in after.changed.items() if _differs(path, state, after)}
        if changes:
            executable = frozenset(filter(after.is_executable, changes))
            commits.append(OverlayCommit(units=tuple(waiting), changes=changes, executable=executable))
        executable = (state.executable - after.changed.keys()) | after.executable
        state = replace(state, changed={**state.changed, **after.changed}, executable=executable)
        waiting = []
    if waiting or any(_differs(path, state, whole) for path in {*state.changed, *whole.changed}):
        raise AssertionError(waiting)  # pragma: no cover  # the last step applies all, as `whole` does
    return CommitSeries(commits=tuple(commits), tree=whole)


def _applied(
    subject: AppliedInput, units: Sequence[Unit], latest: Sequence[Unit], *, notices: bool
) -> PatchedTree | None:
    """Return the files that the latest units change, as all units leave them; None if these cannot be applied."""
    paths = frozenset[str]().union(*(unit.paths for unit in latest))
    try:
        part = about(only(subject.content, units), paths)
        tree = apply_part(part, subject.tree, absent=subject.absent, notices=notices)
    except MergeError:
        return None
    changed = {path: content for path, content in tree.changed.items() if path in paths}
    return PatchedTree(upstream=subject.tree, changed=changed, executable=tree.executable & paths)


def _differs(path: str, one: PatchedTree, other: PatchedTree) -> bool:
    return (one.after(path), one.is_executable(path)) != (other.after(path), other.is_executable(path))
