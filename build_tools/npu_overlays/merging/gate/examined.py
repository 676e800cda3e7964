"""Examined: patched tree → what every check of the gate looks at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from npu_overlays.merging.authorship import Authorship, kept
from npu_overlays.merging.gate.blame import Blame
from npu_overlays.model import Model
from npu_overlays.model.exports import may_import_all
from npu_overlays.model.parsed_modules import ParsedModules
from npu_overlays.model.shipped_modules import module_name
from npu_overlays.overlay.content import Content
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import PatchedTree

_STRUCTS = b"msgspec"


@dataclass(frozen=True, kw_only=True)
class PatchedModule:
    """A module whose text is not upstream's.

    Args:
        path: repository path.
        before: upstream's bytes; None for an added file.
        after: the patched bytes.
        authorship: who wrote which of them.
    """

    path: str
    before: bytes | None
    after: bytes
    authorship: Authorship


@dataclass(frozen=True, kw_only=True)
class Glimpse:
    """What can be told of modules without parsing them.

    Args:
        stars: paths of upstream's that look as if they had a star import.
        structs: whether any module, upstream's or patched, may have a ``msgspec.Struct``.
    """

    stars: frozenset[str]
    structs: bool


@dataclass(frozen=True, kw_only=True)
class Examined:
    """A patched tree and what is known of it.

    Args:
        tree: the tree.
        content: the overlay it was made with.
        modules: its Python modules that are not upstream's.
        parsed: parses modules.
        before: the model of upstream's tree.
        after: the model of the patched one.
        blame: whose is what.
    """

    tree: PatchedTree
    content: Content
    modules: tuple[PatchedModule, ...]
    parsed: ParsedModules
    before: Model
    after: Model
    blame: Blame

    @property
    def pin(self) -> Pin:
        """What is patched."""
        return self.content.overlay.pin

    @cached_property
    def glimpse(self) -> Glimpse:
        """What the text of all modules tells, which is read for this once."""
        stars, structs = set(), False
        for path, content in self.before.modules.texts.items():
            structs = structs or _STRUCTS in content
            stars |= {path} if may_import_all(content) else set()
        return Glimpse(stars=frozenset(stars), structs=structs or any(_STRUCTS in one.after for one in self.modules))

    def sets_elsewhere(self, name: str) -> bool:
        """Return whether a shipped module gives a name to something that is not itself: perhaps to what is asked."""
        word = re.escape(name.encode())
        setting = re.compile(
            rb"(?<!\bself)(?<!\bcls)\.%s\s*(?::[^=\n]+)?=(?!=)|\bsetattr\([^()]*['\"]%s['\"]" % (word, word)
        )
        texts = self.after.modules.texts if name else {}
        return any(map(setting.search, texts.values()))

    def name(self, path: str) -> str:
        """Return the dotted name of the module a repository path is; empty where it is none, or not shipped."""
        return module_name(self.pin.place(path))


def examined(
    tree: PatchedTree, content: Content, authorship: Mapping[str, Authorship], before: Model, after: Model
) -> Examined:
    """Return what the gate looks at.

    Args:
        tree: the patched tree.
        content: the overlay it was made with.
        authorship: who wrote which bytes of every changed file.
        before: the model of upstream's tree.
        after: the model of the patched one.
    """
    modules = (
        PatchedModule(path=path, before=tree.before(path), after=after, authorship=authorship.get(path) or kept(after))
        for path, after in sorted(tree.changed.items())
        if after is not None and path.endswith(".py")
    )
    return Examined(
        tree=tree,
        content=content,
        modules=tuple(modules),
        parsed=before.modules.parsed,
        before=before,
        after=after,
        blame=Blame(content, authorship),
    )
