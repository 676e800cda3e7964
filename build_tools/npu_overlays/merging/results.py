"""Results: what merging an overlay into upstream's tree gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npu_overlays.merging.authorship import Authorship
from npu_overlays.model import Model
from npu_overlays.model.splices import Splice
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.operations import Operation, Reason
from npu_overlays.sources.tree import PatchedTree


@dataclass(frozen=True, kw_only=True)
class Change:
    """One operation and the splices it makes."""

    operation: Operation
    splices: tuple[Splice, ...]


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One change an overlay says it makes, to be compared with the change the trees show.

    Args:
        path: repository path of the file.
        symbol: qualified name; empty for a change of the file as a whole.
        operation: the operation's action, or ``import``, ``edit``, ``file``.
        reason: why.
        layer: the layer that says so, or the pin's name for what is its own.
        private: for a wrapped symbol, the qualified name under which the original is kept.
        where: the file and line that says so, for messages.
    """

    path: str
    symbol: str
    operation: str
    reason: Reason
    layer: str
    private: str = ""
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class MergedModule:
    """One module with operations applied.

    Args:
        content: the patched bytes.
        declared: the changes that makes.
        authorship: which of the bytes are upstream's, and who asked for the others.
    """

    content: bytes
    declared: tuple[Declared, ...]
    authorship: Authorship


@dataclass(frozen=True, kw_only=True)
class NotApplied:
    """An operation on a file the pinned commit holds but the source at hand lacks."""

    path: str
    symbol: str
    operation: str
    why: str


@dataclass(frozen=True, kw_only=True)
class PatchedFile:
    """A file before and after one patch or substitution, which names no symbols itself.

    Args:
        patch: name of the patch, relative to its folder; empty for a substitution.
        path: repository path of the file.
        before: its content before; None where there was no such file.
        after: its content after; None where there is none any more.
        reason: why.
        layer: the layer that says so, or the pin's name for what is its own.
        where: the file that says so, for messages.
        accept: the dangers in it that its author lets stand.
    """

    patch: str
    path: str
    before: bytes | None
    after: bytes | None
    reason: Reason
    layer: str
    where: str
    accept: tuple[Acceptance, ...] = ()

    @property
    def operation(self) -> str:
        """What did it: ``patch`` or ``edit``."""
        return "patch" if self.patch else "edit"


@dataclass(frozen=True, kw_only=True)
class Applied:
    """The patched tree, what the overlay declared to change, and what this source could not take.

    Args:
        tree: the patched tree.
        declared: by operations and added files.
        patched: what each patch and each substitution did to each file, in the order in which they were applied.
        not_applied: operations on files this source lacks.
        authorship: which bytes of each changed file are whose.
        before: the model of the tree as it was.
        after: the model of the patched tree.
    """

    tree: PatchedTree
    before: Model = field(repr=False)
    after: Model = field(repr=False)
    declared: tuple[Declared, ...]
    patched: tuple[PatchedFile, ...] = ()
    not_applied: tuple[NotApplied, ...] = ()
    authorship: Mapping[str, Authorship] = field(default_factory=dict, repr=False)
