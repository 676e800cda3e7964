"""Operations: the changes an overlay asks for, as data."""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from npu_overlays.model.definitions import bound_name
from npu_overlays.model.selectors import leaf_of, owner_of, plain, selector
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.bounds import ALWAYS, Bounds

Action = Literal["added", "replaced", "wrapped", "edited", "deleted"]
TargetKind = Literal["function", "class", "attribute"]

_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
# What `deleted` names to empty a module.
EVERYTHING = "*"
ACTIONS: tuple[Action, ...] = ("added", "replaced", "wrapped", "edited", "deleted")


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why an operation exists; there is no other ledger."""

    why: str
    forwarded: str = ""
    drop_when: str = ""


def joined_reasons(whys: Iterable[str]) -> str:
    """Return several reasons as one text, each once, with a semicolon after one that is no sentence."""
    joined = ""
    for why in dict.fromkeys(" ".join(why.split()) for why in whys):
        separator = " " if joined.endswith((".", "!", "?")) else "; "
        joined += f"{separator if joined and why else ''}{why}"
    return joined


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """An author's statements about a change: why, for which versions of upstream, and the accepted dangers."""

    reason: Reason
    bounds: Bounds = ALWAYS
    accept: tuple[Acceptance, ...] = ()


def unwritable(text: str) -> str:
    """Return the name of the first character that must not be in a comment or on a terminal, or an empty text.

    These are halves of surrogate pairs, which no file can hold, control characters, and marks of text direction.
    """
    for character in text:
        turns = unicodedata.bidirectional(character) in _TURNING
        if (unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\n\r") or turns:
            return f"the character U+{ord(character):04X}"
    return ""


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One counted substitution of a token sequence inside a symbol."""

    find: str
    replace: str
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class ImportedName:
    """One name a definition needs: the name it binds, the statement that binds it, and its line in the overlay."""

    name: str
    statement: str
    line: int = field(default=0, compare=False)

    @property
    def imported(self) -> str:
        """The imported thing, without the name it is bound to."""
        return self.statement.rpartition("import ")[2].partition(" as ")[0]

    @property
    def binds_package(self) -> bool:
        """Whether it is a plain ``import a`` or ``import a.b``; several of them bind the one package ``a``."""
        return self.statement.startswith("import ") and " as " not in self.statement


def imported_names(node: ast.Import | ast.ImportFrom) -> Iterator[ImportedName]:
    """Yield the names that an import statement binds, one import each."""
    source = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        as_name = f" as {alias.asname}" if alias.asname else ""
        statement = f"from {source} import {alias.name}{as_name}" if source else f"import {alias.name}{as_name}"
        yield ImportedName(name=bound_name(node, alias), statement=statement, line=node.lineno)


@dataclass(frozen=True, kw_only=True)
class Like:
    """The targets of an operation on all definitions of one form; the lock lists them."""

    model: str  # the first of them, ``path:symbol``, which has the form
    within: str  # a glob of the files in which the others are
    but: tuple[str, ...] = ()  # those of the form that it is not for, ``path:symbol``
    reads: tuple[str, ...] = ()  # the attributes of ``self`` that its text asks for, which have to be given alike

    def may_have(self, name: str) -> bool:
        """Return whether a name, ``path:symbol``, may be one of the targets."""
        path, _, symbol = name.partition(":")
        return name == self.model or (bool(symbol) and fnmatchcase(path, self.within))


# The targets of each `Like`, those it is not for included, ``path:symbol``, in order.
FormTargets: TypeAlias = Mapping[Like, tuple[str, ...]]
NO_FORMS: FormTargets = {}


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One change of one upstream symbol."""

    action: Action  # what is done
    path: str  # repository path of the file changed
    # qualified name of the symbol changed, ``Class.method``; behind it, where that has several definitions, which is
    # meant, as `model.selectors` reads it
    symbol: str
    kind: TargetKind  # what the definition in the overlay is; for `deleted` and `edited`, upstream's kind decides
    text: str = ""  # the definition in the overlay, unindented, without markers; for attributes the value's text
    annotation: str = ""  # the attribute's annotation in the overlay, or empty
    upstream_name: str = "upstream"  # the name by which a wrapped definition refers to the original
    edits: tuple[Edit, ...] = ()  # the substitutions of `edited`
    imports: tuple[ImportedName, ...] = ()  # names the text needs from the overlay's imports
    shared: str = ""  # for a shared definition, its own name; its symbol is that of one of its targets
    # of a shared definition, by what its target was found; as long as no targets are known, its path is empty
    like: Like | None = None
    emptying: tuple[str, ...] = ()  # for one of the deletions that empty a module, all names that its statement binds
    before: str = ""  # for `added` at module level, the upstream symbol it must stand in front of; empty: at the end
    reason: Reason  # why
    layer: str  # the layer that says so, ``verl``, or the pin's name for what is its own
    bounds: Bounds = ALWAYS  # to which versions of upstream it applies
    depends: tuple[str, ...] = ()  # what its author says that it depends on beside what its text reads, ``path:symbol``
    unproven: str = ""  # why no test can show that it calls the operators it is there for
    accept: tuple[Acceptance, ...] = ()  # the dangers in it that its author lets stand
    where: str  # file and line in the overlay, for messages
    # the lines in the overlay on which it names something, by that name, or ``import NAME``; for messages too
    uses: Mapping[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The qualified name of its symbol, without selectors."""
        return plain(self.symbol)

    @property
    def owner(self) -> str:
        """The qualified name of the class around its symbol, empty at module level."""
        return owner_of(self.symbol)

    @property
    def leaf(self) -> str:
        """The last part of its symbol's name."""
        return leaf_of(self.symbol)

    @property
    def is_further(self) -> bool:
        """Whether a decorator makes it a further function of a name, as ``@value.setter`` does."""
        return any(text.startswith("@") for text in selector(self.symbol))

    @property
    def file(self) -> str:
        """Its file in the overlay."""
        return self.where.rpartition(":")[0]

    @property
    def line(self) -> int:
        """Its line there."""
        return int(self.where.rpartition(":")[2])


def with_anchors(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return operations; an addition at module level goes before the target of the next operation in its file."""
    found: list[Operation] = []
    following: dict[tuple[str, str], str] = {}
    for operation in reversed(operations):
        place = (operation.file, operation.path)
        if operation.action == "added" and not operation.owner:
            found.append(replace(operation, before=following.get(place, "")))
        else:
            following[place] = operation.name.partition(".")[0]
            found.append(operation)
    return tuple(reversed(found))
