"""Apply: source tree and overlay → patched tree, and the declared changes.

Order: patches, then substitutions in non-Python files, then added files, then
merges. Every input is used exactly once, or the stage fails and names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from npu_overlays.errors import MergeError, OverlayError, Problem, by_cause
from npu_overlays.merge.authorship import Authorship
from npu_overlays.merge.results import Applied
from npu_overlays.merge.steps import MergeContext, Step, edit_step, file_step, merge_step, patch_step
from npu_overlays.model import Model, model_of, patched_model
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.tree import PatchedTree, SourceTree


def merge_overlay(
    content: Content, upstream: SourceTree, *, absent: frozenset[str] = frozenset(), model: Model | None = None
) -> Applied:
    """Merge everything an overlay says into its pinned upstream; no check has seen the tree yet.

    Args:
        content: the overlay.
        upstream: its files at the pin.
        absent: paths the commit holds and this source is known to lack; operations on them are
            listed as not applied instead of failing.
        model: of upstream's files, if there is one already.

    Raises:
        MergeError: with everything that does not fit.
    """
    pin = content.overlay.pin
    before = model or model_of(pin, upstream, absent=absent)
    walked = _walk(content, upstream, before, notices=True)
    tree = walked.tree
    after = patched_model(pin, tree, before)
    return Applied(
        tree=tree,
        before=before,
        after=after,
        declared=tuple(chain.from_iterable(step.declared for step in walked.steps)),
        patched=tuple(chain.from_iterable(step.patched for step in walked.steps)),
        not_applied=tuple(chain.from_iterable(step.not_applied for step in walked.steps)),
        authorship=walked.authorship,
    )


def apply_part(
    content: Content, upstream: SourceTree, *, absent: frozenset[str] = frozenset(), notices: bool = True
) -> PatchedTree:
    """Apply a part of an overlay, which need not run by itself.

    Args:
        content: the part.
        upstream: its files at the pin.
        absent: as for `merge_overlay`.
        notices: whether comments mark the changed places, as in a wheel.

    Raises:
        MergeError: with everything that does not fit.
    """
    return _walk(content, upstream, model_of(content.overlay.pin, upstream, absent=absent), notices=notices).tree


@dataclass(kw_only=True)
class _Walk:
    """The tree so far, and the steps behind it."""

    tree: PatchedTree
    notices: bool
    authorship: dict[str, Authorship] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def make(
        self, steps: Iterable[Callable[[MergeContext], Step]], content: Content, model: Model
    ) -> Iterator[Problem]:
        """Run steps in order; yield what does not fit."""
        for step in steps:
            try:
                self.take(step(MergeContext(content=content, tree=self.tree, notices=self.notices, model=model)))
            except OverlayError as error:
                yield from error.problems

    def take(self, step: Step) -> None:
        self.steps.append(step)
        self.tree = self.tree.changed_by(step.changed, step.modes)
        for path, authorship in step.authorship.items():
            earlier = self.authorship.get(path)
            self.authorship[path] = authorship.behind(earlier) if earlier else authorship


def _walk(content: Content, upstream: SourceTree, before: Model, *, notices: bool) -> _Walk:
    """Return the results of all steps; raises `MergeError` with everything that does not fit."""
    walked = _Walk(tree=PatchedTree(upstream=upstream), notices=notices)
    problems = [*walked.make(_of_files(content), content, before)]
    # Files that are added change nothing of what upstream's modules mean.
    changed = any(path in upstream and path.endswith(".py") for path in walked.tree.changed)
    model = patched_model(content.overlay.pin, walked.tree, before) if changed else before
    problems += walked.make(_of_operations(content), content, model)
    MergeError.raise_for(by_cause(problems))
    return walked


def _of_files(content: Content) -> Iterator[Callable[[MergeContext], Step]]:
    """Yield the steps on files, in order."""
    for patch in content.patches:
        yield partial(patch_step, file=patch)
    for edit in content.edits:
        yield partial(edit_step, sourced=edit)
    for file in content.files:
        yield partial(file_step, file=file)


def _of_operations(content: Content) -> Iterator[Callable[[MergeContext], Step]]:
    """Yield the steps on modules, which come after those."""
    by_path: dict[str, list[Operation]] = {}
    for operation in content.operations:
        by_path.setdefault(operation.path, []).append(operation)
    for path, operations in by_path.items():
        yield partial(merge_step, path=path, operations=operations)
