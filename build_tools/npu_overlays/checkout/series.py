"""Series: an overlay and its upstream → the commits that lead from one to the other, one for each thing it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from npu_overlays.checkout.messages import message
from npu_overlays.checkout.units import Unit, about, only, units_of
from npu_overlays.errors import MergeError
from npu_overlays.merging.apply import apply_part
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.sources.tree import PatchedTree


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One step.

    Args:
        units: what it does: one thing, or several of which the earlier cannot stand without the later.
        changes: the files it changes, with their new content; None where it deletes one.
        executable: those of them that are executable afterwards.
    """

    units: tuple[Unit, ...]
    changes: Mapping[str, bytes | None] = field(repr=False)
    executable: frozenset[str] = frozenset()

    @property
    def message(self) -> str:
        """Its message."""
        return message(self.units)


@dataclass(frozen=True, kw_only=True)
class Series:
    """Commits on top of upstream, and the tree they lead to."""

    commits: tuple[Commit, ...]
    tree: PatchedTree = field(repr=False)


def series(subject: AppliedInput, chosen: Sequence[Unit] | None = None, *, notices: bool = True) -> Series:
    """Return one commit for each thing an overlay says, in the order in which a build applies it.

    Args:
        subject: the overlay and its upstream.
        chosen: what of it to apply, instead of all.
        notices: whether comments mark the changed places, as in a wheel.

    Raises:
        MergeError: something does not fit upstream.
    """
    units = units_of(subject.content) if chosen is None else tuple(chosen)
    whole = apply_part(only(subject.content, units), subject.tree, absent=subject.absent, notices=notices)
    state = PatchedTree(upstream=subject.tree)
    commits: list[Commit] = []
    waiting: list[Unit] = []
    for number, unit in enumerate(units):
        waiting.append(unit)
        # What needs a later one to stand, as a wrapper and the parameter it names, is committed with that.
        after = _applied(subject, units[: number + 1], waiting, notices=notices)
        if after is None:
            continue
        changes = {path: content for path, content in after.changed.items() if _differs(path, state, after)}
        if changes:
            executable = frozenset(filter(after.is_executable, changes))
            commits.append(Commit(units=tuple(waiting), changes=changes, executable=executable))
        state = _joined(state, after)
        waiting = []
    if waiting or dict(_differing(state, whole)):
        raise AssertionError(waiting)  # pragma: no cover  # the last step applies all, as `whole` does
    return Series(commits=tuple(commits), tree=whole)


def _applied(
    subject: AppliedInput, units: Sequence[Unit], latest: Sequence[Unit], *, notices: bool
) -> PatchedTree | None:
    """Return the files that the latest units change, with all that was done to them; None where that cannot be."""
    paths = frozenset(path for unit in latest for path in unit.paths)
    try:
        part = about(only(subject.content, units), paths)
        tree = apply_part(part, subject.tree, absent=subject.absent, notices=notices)
    except MergeError:
        return None
    changed = {path: content for path, content in tree.changed.items() if path in paths}
    return PatchedTree(upstream=subject.tree, changed=changed, executable=tree.executable & paths)


def _joined(state: PatchedTree, after: PatchedTree) -> PatchedTree:
    changed = {**state.changed, **after.changed}
    executable = (state.executable - after.changed.keys()) | after.executable
    return PatchedTree(upstream=state.upstream, changed=changed, executable=executable)


def _differs(path: str, one: PatchedTree, other: PatchedTree) -> bool:
    return (one.after(path), one.is_executable(path)) != (other.after(path), other.is_executable(path))


def _differing(one: PatchedTree, other: PatchedTree) -> Iterator[tuple[str, bytes | None]]:
    for path in sorted({*one.changed, *other.changed}):
        if one.after(path) != other.after(path) or one.is_executable(path) != other.is_executable(path):
            yield path, other.after(path)
