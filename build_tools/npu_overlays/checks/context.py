"""Context: patched tree → the common input of all checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from npu_overlays.checks.attribution import Attribution
from npu_overlays.merge.authorship import Authorship, kept
from npu_overlays.merge.results import Applied
from npu_overlays.model import Model, Symbol
from npu_overlays.model.exports import may_import_all
from npu_overlays.model.shipped_modules import module_name
from npu_overlays.overlay.content import Content
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import PatchedTree


@dataclass(frozen=True, kw_only=True)
class PatchedModule:
    """A module with changed text."""

    path: str  # repository path
    before: bytes | None  # upstream's bytes; None for an added file
    after: bytes  # the patched bytes
    authorship: Authorship  # who wrote which of them


@dataclass(frozen=True, kw_only=True)
class CheckContext:
    """A patched tree and its models."""

    tree: PatchedTree  # the tree
    content: Content  # the overlay it was made with
    modules: tuple[PatchedModule, ...]  # its Python modules that are not upstream's
    before: Model  # the model of upstream's tree
    after: Model  # the model of the patched one
    attribution: Attribution  # who wrote what

    @property
    def pin(self) -> Pin:
        """The pin of the patched tree."""
        return self.content.overlay.pin

    @cached_property
    def starred(self) -> frozenset[str]:
        """The paths of upstream's modules that look as if they had a star import."""
        texts = self.before.modules.texts.items()
        return frozenset(path for path, content in texts if may_import_all(content))

    @property
    def changed_modules(self) -> Iterator[str]:
        """The paths of upstream's modules that have other text in the patched tree."""
        for one in self.modules:
            if one.before is not None:
                yield one.path

    def changed_classes(self) -> Iterator[Symbol]:
        """Yield the classes of changed upstream modules, as they are in the patched tree."""
        for path in self.changed_modules:
            yield from self.after.classes.classes(path)

    def sets_elsewhere(self, name: str) -> bool:
        """Return whether a shipped module sets an attribute of this name on something other than ``self``."""
        word = re.escape(name.encode())
        setting = re.compile(
            rb"(?<!\bself)(?<!\bcls)\.%s\s*(?::[^=\n]+)?=(?!=)|\bsetattr\([^()]*['\"]%s['\"]" % (word, word)
        )
        texts = self.after.modules.texts if name else {}
        return any(map(setting.search, texts.values()))

    def name(self, path: str) -> str:
        """Return the dotted name of a shipped module's path; empty for any other path."""
        return module_name(self.pin.place(path))


def check_context(content: Content, applied: Applied) -> CheckContext:
    """Return the input of the checks, given an overlay and the result of merging it into upstream's tree."""
    tree = applied.tree
    modules: list[PatchedModule] = []
    for path, after in sorted(tree.changed.items()):
        if after is not None and path.endswith(".py"):
            authorship = applied.authorship.get(path) or kept(after)
            modules.append(PatchedModule(path=path, before=tree.before(path), after=after, authorship=authorship))
    return CheckContext(
        tree=tree,
        content=content,
        modules=tuple(modules),
        before=applied.before,
        after=applied.after,
        attribution=Attribution(content, applied.authorship),
    )
