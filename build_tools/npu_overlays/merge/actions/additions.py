"""Additions: a new definition at the end of a class or module, or before the symbol it precedes in the overlay."""

from __future__ import annotations

import ast

from npu_overlays.merge.sites import Site
from npu_overlays.merge.targets import find
from npu_overlays.model.code_blocks import reindent, renamed
from npu_overlays.model.definitions import first_line
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, selector, with_selector
from npu_overlays.model.splices import Splice
from npu_overlays.model.syntax import decorator_names, is_name
from npu_overlays.overlay.operations import Operation

_STEP = "    "
_MAKING_CLASSES = frozenset(
    {"__slots__", "__dict__", "__weakref__", "__class__", "__classcell__", "__module__", "__annotations__"}
)
_MAKING_MODULES = frozenset(
    {"__name__", "__path__", "__file__", "__spec__", "__loader__", "__package__", "__builtins__"}
)
_RECORDS = frozenset({"dataclass", "define", "frozen", "mutable", "attrs", "attributes", "s"})


def splices(site: Site) -> list[Splice]:
    """Return the splices of an `added`."""
    operation = site.operation
    known = [one.node.lineno for one in chosen(site.module, operation.symbol)]
    others = [binding.line for binding in site.module.outer_scopes.bound(operation.name)]
    if known or (others and not operation.is_further):
        what = f"{site.module.path} already defines `{operation.symbol}` (line {min(known or others)})"
        raise site.error(what, "use @replaced, @wrapped or @edited" if known else "add it under another name")
    _refuse_special(site, operation.owner, operation.leaf)
    return _member(site) if operation.owner else [_at_module_level(site, operation.leaf)]


def _refuse_special(site: Site, parent: str, leaf: str) -> None:
    """Refuse a name that Python itself interprets, such as ``__slots__``, and that changes other code."""
    if leaf in (_MAKING_CLASSES if parent else _MAKING_MODULES):
        whole = f"the class `{parent}`" if parent else "the module"
        what = f"`{leaf}` changes how Python makes {whole}, for all of upstream's code"
        raise site.error(what, "leave it out, or write the class with @replaced" if parent else "leave it out")
    hashed = f"{parent}.__hash__"
    hashes = hashed in site.module.definitions or hashed in site.companions.symbols("added")
    if parent and leaf == "__eq__" and not hashes and not _is_record(site.module, parent):
        what = (
            f"with an `__eq__` and without a `__hash__` beside it, no object of `{parent}` could be a key or in a set"
        )
        fix = "add `__hash__` too; `__hash__ = added(object.__hash__, why=…)` keeps it as it is, where no base has one"
        raise site.error(what, fix)


def _is_record(module: Module, owner: str) -> bool:
    """Return whether a class's decorator generates ``__eq__`` and ``__hash__``."""
    return any(decorator_names(known.node) & _RECORDS for known in module.definitions.get(owner, []))


def _text(site: Site, name: str, indentation: str) -> str:
    """Return the notice and the definition, indented, without a final line end."""
    operation = site.operation
    if operation.kind == "attribute":
        annotation = f": {operation.annotation}" if operation.annotation else ""
        text = f"{name}{annotation} = {operation.text}"
    else:
        text = renamed(operation.text, name)
    return (site.notice(indentation) + reindent(text, old="", new=indentation)).rstrip()


def _at_module_level(site: Site, name: str) -> Splice:
    text = _text(site, name, "")
    gap = "" if site.operation.kind == "attribute" else "\n"
    line = _anchor(site)
    if line is not None:
        return site.insertion(site.module.offset(line), f"{text}\n\n{gap}")
    end = len(site.module.content)
    if not end:
        return site.insertion(end, f"{text}\n")
    return site.insertion(end, f"{_line_end(site.module, end)}\n{gap}{text}\n")


def _member(site: Site) -> list[Splice]:
    parent, name = site.operation.owner, site.operation.leaf
    leading = [text for text in selector(site.operation.symbol) if not text.startswith("@")]
    owner = find(site.module, site.operation, symbol=with_selector(parent, leading)).node
    if not isinstance(owner, ast.ClassDef):
        raise site.error(f"`{parent}` is not a class upstream", "add the name at module level")
    kind = site.closed_kind(parent)
    if kind in ("Interface", "Protocol"):
        article = "an" if kind == "Interface" else "a"
        what = f"`{parent}` is {article} {kind}: its implementations must have every member"
        raise site.error(what, "add it to each implementation")
    if kind == "TypedDict" and not site.operation.annotation:
        what = f"`{parent}` is a TypedDict, whose objects are plain dicts: none would have `{name}`"
        raise site.error(what, "add a function at module level")
    gap = "" if site.operation.kind == "attribute" else "\n"
    replacement = site.companions.replacement(parent)
    if not replacement and not site.module.begins_line(owner.body[0]):
        return _member_of_one_line(site, owner, name, gap)
    last = owner.body[-1]
    end = site.module.line_end(last.end_lineno or last.lineno)
    text = _text(site, name, _indentation(site, owner, replacement))
    depth = site.operation.name.count(".")
    return [site.insertion(end, f"{_line_end(site.module, end)}{gap}{text}\n", ends=depth)]


def _indentation(site: Site, owner: ast.ClassDef, replacement: Operation | None) -> str:
    """Return the indentation of a class's members; the overlay's, if it replaces the class."""
    if not replacement:
        return site.module.indentation(owner.body[0])
    own = Module(replacement.where, replacement.text.encode())
    first = getattr(own.tree.body[0], "body", own.tree.body)[0]
    if not own.begins_line(first):
        what = f"nothing can be added to the replaced `{owner.name}`: its body is on one line ({replacement.where})"
        raise site.error(what, "write that body on lines of its own")
    return site.module.indentation(owner) + own.indentation(first)


def _member_of_one_line(site: Site, owner: ast.ClassDef, name: str, gap: str) -> list[Splice]:
    """Add to ``class A: pass``: the first addition moves the body to a line of its own."""
    indentation = site.module.indentation(owner) + _STEP
    start, end = site.module.span(owner.body[0])[0], site.module.span(owner.body[-1])[1]
    member = site.insertion(end, f"\n{gap}{_text(site, name, indentation)}")
    if not site.companions.is_first(site.operation):
        return [member]
    colon = site.module.content[:start].rstrip(b" \t\f")
    return [site.splice(len(colon), start, f"\n{indentation}"), member]


def _line_end(module: Module, end: int) -> str:
    """Return the line end that upstream's last line lacks before `end`, or an empty text."""
    return "" if module.content[:end].endswith((b"\n", b"\r")) else "\n"


def _anchor(site: Site) -> int | None:
    """Return the line before which an addition goes, or None for the end of the module."""
    statements = site.module.tree.body
    for definition in site.module.definitions.get(site.operation.before, []):
        for number, statement in enumerate(statements):
            if statement.lineno <= definition.node.lineno <= (statement.end_lineno or 0):
                line = site.module.comment_line(statement)
                return _above_comments(site.module, line, statements[:number])
    last = statements[-1] if statements else None
    if isinstance(last, ast.If) and any(is_name(one, "__name__") for one in ast.walk(last.test)):
        return _above_comments(site.module, first_line(last), statements[:-1])
    return None


def _above_comments(module: Module, line: int, earlier: list[ast.stmt]) -> int:
    """Return the first line of the comment block directly above `line`, which describes the next line.

    A block at the beginning of the file (a shebang, a licence) describes the file.
    """
    floor = max((statement.end_lineno or statement.lineno for statement in earlier), default=0)
    first = line
    while first - 1 > floor and module.lines(first - 1, first - 1).startswith("#"):
        first -= 1
    return first if first > 1 else line
