"""Contracts: what each operation depends on in its pinned upstream, and whether another source still has it."""

from __future__ import annotations

import difflib
import re
from contextlib import suppress
from dataclasses import dataclass

from npu_overlays.contracts.substitution_context import substitution_context
from npu_overlays.errors import MergeError
from npu_overlays.merge.targets import find
from npu_overlays.merge.upstream.introspection import onlookers
from npu_overlays.merge.upstream.substitutability import unlike
from npu_overlays.model import classes_of
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definition_fields import definition_fields, definition_selectors, enclosing_headers
from npu_overlays.model.definitions import Definition
from npu_overlays.model.instance_attributes import overriding_methods
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import selector
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.tree import SourceTree

ContractPlace = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class Contract:
    """What one operation saw in upstream; fields that its kind does not depend on are empty."""

    path: str  # repository path
    symbol: str = ""  # qualified name; empty for a substitution in a file that is not Python
    operation: str  # its action, ``patch`` for one symbol that a patch changes, ``edit`` for a substitution
    patch: str = ""  # name of the patch
    find: str = ""  # what a substitution finds
    change: str = ""  # what the patch does to the symbol
    owner: str = ""  # the classes around the symbol as they are declared
    definitions: str = ""  # where its name has several definitions, or a conditional one, what leads to each
    kind: str = ""  # plain function, generator, coroutine, async generator, class, attribute or import
    signature: str = ""  # parameters with their defaults; of a class its bases and keywords
    decorators: str = ""  # in order
    annotations: str = ""  # fingerprint of a function's
    # Fingerprint, docstring left out; for a substitution that of the lines around it, for a patch of a file that is not
    # Python that of all of it.
    body: str = ""
    keys: str = ""  # those under which a substitution in YAML stands, and what its lines hold beside it
    watched: str = ""  # by what upstream's code can tell a wrapper from the original
    hidden: str = ""  # the methods that may give objects another member in its place
    unlike: str = ""  # what a replacement leaves out or has otherwise, though it may
    # What an addition or a deletion changes beyond its symbol: the member of a base that it overrides, or what Python
    # asks objects for by itself; of a replaced class, what its callers give otherwise.
    affects: str = ""
    undone: str = ""  # where upstream's modules give the symbol another value

    @property
    def place(self) -> ContractPlace:
        """The key by which two sets of contracts are compared."""
        return self.path, self.symbol, self.patch, self.find

    def __str__(self) -> str:
        first, *more = self.find.strip().splitlines() or [""]
        found = f"{first[:_SHOWN]}…" if more or len(first) > _SHOWN else first
        symbol = f":{self.symbol}" if self.symbol else ""
        return f"the {self.operation} `{self.path}{symbol}`" + (f" of `{found}`" if found else "")


@dataclass(frozen=True, kw_only=True)
class ContractDifference:
    """One part that differs in two contracts on one place."""

    part: str
    before: str
    after: str

    def __str__(self) -> str:
        name = _SAID.get(self.part, self.part)
        if self.part in _FINGERPRINTS:
            return name
        return f"{name} ({exchanged(self.before, self.after)})"


def exchanged(before: str, after: str) -> str:
    """Return in words that a text changed, is gone, or is new.

    Of long lists of parameters or decorators, it names the differences.
    """
    runs = _differing(before, after) if len(before) + len(after) > _LONG else []
    return ", ".join(runs) or _change(before, after)


def _change(before: str, after: str) -> str:
    if before and after:
        return f"`{before}` → `{after}`"
    return f"`{before}` is gone" if before else f"`{after}` is new"


def _differing(before: str, after: str) -> list[str]:
    """Return in words how two lists differ; nothing if one is no list."""
    listed: list[list[str]] = []
    for text in (before, after):
        if text.startswith("(") and text.endswith(")"):
            listed.append(text[1:-1].split(", "))
        else:
            listed.append(re.split(" (?=@)", text) if text.startswith("@") else [])
    one, other = listed
    found: list[str] = []
    for tag, start, end, there, behind in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal" and one and other:
            found.append(_change(", ".join(one[start:end]), ", ".join(other[there:behind])))
    return found


# Texts that together are longer than that are compared.
_LONG = 100
_SHOWN = 40
_FINGERPRINTS = frozenset({"annotations", "body"})
_SAID = {
    "owner": "class",
    "watched": "onlookers",
    "hidden": "what hides it",
    "unlike": "differences",
    "keys": "place",
    "affects": "effects",
    "undone": "rivals",
}
# These take a look at all of upstream, and are found when a lock is made.
FAR = ("affects", "undone")
_PARTS = (
    "change",
    "owner",
    "definitions",
    "kind",
    "signature",
    "decorators",
    "annotations",
    "body",
    "keys",
    "watched",
    "hidden",
    "unlike",
    *FAR,
)
# Parts that follow from the operation's own text; a change of them breaks no contract.
OWN = frozenset({"unlike"})
# What an operation cannot do without; a difference in anything else is worth a look.
_DEFINITION = frozenset({"kind", "signature", "decorators", "annotations", "body"})
_HARD = {
    "replaced": _DEFINITION,
    "deleted": _DEFINITION,
    "wrapped": frozenset({"kind", "signature", "decorators"}),
    "patch": frozenset({"change"}),
}


def differences(one: Contract, other: Contract) -> list[ContractDifference]:
    """Return the differences between two contracts of one operation."""
    found: list[ContractDifference] = []
    for part in _PARTS:
        before, after = getattr(one, part), getattr(other, part)
        if before != after:
            found.append(ContractDifference(part=part, before=before, after=after))
    return found


def needed(contract: Contract) -> frozenset[str]:
    """Return the parts that an operation needs; for a symbol with a number, also the definitions that it counts."""
    counted = any(text.startswith("#") for text in selector(contract.symbol))
    return _HARD.get(contract.operation, frozenset()) | ({"definitions"} if counted else frozenset())


def breaking(locked: Contract, now: Contract) -> list[ContractDifference]:
    """Return the differences between two contracts of one operation in the parts that it needs."""
    parts_needed = needed(now)
    return [one for one in differences(locked, now) if one.part in parts_needed]


def contract(module: Module, operation: Operation, classes: ClassGraph | None = None) -> Contract:
    """Return what an operation depends on; raises `MergeError` unless its symbol exists exactly once.

    Args:
        module: upstream's module.
        operation: the operation.
        classes: those of upstream's tree; without them, other modules are unknown.
    """
    found: dict[str, str] = {}
    classes = classes or classes_of(module)
    if operation.action != "added":
        definition = find(module, operation)
        found = {**definition_fields(definition), "definitions": definition_selectors(module, operation.name)}
        if operation.action == "wrapped":
            found["watched"] = ", ".join(onlookers(classes, operation.path, definition))
        if operation.action != "deleted":
            methods = {one.method for one in overriding_methods(classes, operation.path, definition)}
            found["hidden"] = ", ".join(sorted(methods))
        found["unlike"] = _unlike(operation, definition, classes) if operation.action == "replaced" else ""
    return Contract(
        path=operation.path,
        symbol=operation.symbol,
        operation=operation.action,
        owner=enclosing_headers(module, operation.symbol),
        **found,
    )


def _unlike(operation: Operation, definition: Definition, classes: ClassGraph) -> str:
    """Return how the replacement of a function or class differs from it."""
    if operation.kind == "attribute":
        return ""
    imports = "".join(f"{one.statement}\n" for one in operation.imports)
    content = f"{imports}{operation.text}".encode()
    own = Module(operation.where, content)
    replaced = classes.with_module(operation.path, content)
    return "; ".join(unlike(own.tree.body[-1], definition.node, replaced, classes, operation.path))


def contracts(content: Content, tree: SourceTree, classes: ClassGraph) -> list[Contract]:
    """Return the contract of each operation and substitution in a source tree; those without their symbol are left out.

    Applying them reports these, with the nearest name.

    Args:
        content: the overlay.
        tree: upstream.
        classes: those of the tree.
    """
    found: list[Contract] = []
    for one in content.edits:
        if one.path in tree:
            context = substitution_context(one.path, tree.read(one.path), one.edit.find)
            found.append(Contract(path=one.path, operation="edit", find=one.edit.find, **context))
    for operation in content.operations:
        module = classes.module(operation.path)
        with suppress(MergeError):
            found += [contract(module, operation, classes)] if module else []
    return found
