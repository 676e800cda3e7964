"""Results: the outcome of merging an overlay into upstream's tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npu_overlays.merge.authorship import Authorship
from npu_overlays.model import Model
from npu_overlays.model.splices import Splice
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.operations import Operation, Reason
from npu_overlays.sources.tree import PatchedTree


@dataclass(frozen=True, kw_only=True)
class AppliedOperation:
    """One operation and its splices."""

    operation: Operation
    splices: tuple[Splice, ...]


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One change that an overlay declares, to compare with the change that the trees show."""

    path: str  # repository path of the file
    symbol: str  # qualified name; empty for a change of the file as a whole
    operation: str  # the operation's action, or ``import``, ``edit``, ``file``
    reason: Reason  # why
    layer: str  # the layer that says so, or the pin's name for what is its own
    private: str = ""  # for a wrapped symbol, the qualified name under which the original is kept
    where: str = ""  # the file and line that says so, for messages
    form: str = ""  # of a target that was found by its form, the model, ``path:symbol``


@dataclass(frozen=True, kw_only=True)
class MergedModule:
    """One module with operations applied."""

    content: bytes  # the patched bytes
    declared: tuple[Declared, ...]  # the changes that makes
    authorship: Authorship  # which of the bytes are upstream's, and who asked for the others


@dataclass(frozen=True, kw_only=True)
class NotApplied:
    """An operation on a file that the pinned commit holds and this source lacks."""

    path: str
    symbol: str
    operation: str
    why: str


@dataclass(frozen=True, kw_only=True)
class PatchedFile:
    """A file before and after one patch or substitution, which names no symbols."""

    patch: str  # name of the patch, relative to its folder; empty for a substitution
    path: str  # repository path of the file
    before: bytes | None  # its content before; None where there was no such file
    after: bytes | None  # its content after; None where there is none any more
    reason: Reason  # why
    layer: str  # the layer that says so, or the pin's name for what is its own
    where: str  # the file that says so, for messages
    accept: tuple[Acceptance, ...] = ()  # the dangers in it that its author lets stand

    @property
    def operation(self) -> str:
        """The kind of change: ``patch`` or ``edit``."""
        return "patch" if self.patch else "edit"


@dataclass(frozen=True, kw_only=True)
class Applied:
    """The patched tree, the declared changes, and the operations this source could not take."""

    tree: PatchedTree  # the patched tree
    before: Model = field(repr=False)  # the model of the tree as it was
    after: Model = field(repr=False)  # the model of the patched tree
    declared: tuple[Declared, ...]  # by operations and added files
    # What each patch and each substitution did to each file, in the order in which they were applied
    patched: tuple[PatchedFile, ...] = ()
    not_applied: tuple[NotApplied, ...] = ()  # operations on files this source lacks
    # Which bytes of each changed file are whose
    authorship: Mapping[str, Authorship] = field(default_factory=dict, repr=False)
