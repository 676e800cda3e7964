"""Merge: upstream's bytes and operations in, patched bytes out, plus what was declared to change.

Pure text work. Every byte no operation names stays as upstream has it.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from npu_overlays import fingerprint
from npu_overlays.errors import MergeError, Problem
from npu_overlays.imports import import_splice, missing_imports
from npu_overlays.operations import Operation, Reason, reindent
from npu_overlays.splices import Splice, overlapping, splice
from npu_overlays.symbols import Definition, Module
from npu_overlays.tokens import occurrences

PRIVATE_PREFIX = "_upstream_"
_STEP = "    "


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One change an overlay says it makes, to be compared with the change the trees show.

    Args:
        path: repository path of the file.
        symbol: qualified name; empty for a change of the file as a whole.
        operation: the operation's action, or ``import``, ``edit``, ``file``.
        reason: why.
        overlay: the overlay that says so.
        private: for a wrapped symbol, the qualified name under which the original is kept.
    """

    path: str
    symbol: str
    operation: str
    reason: Reason
    overlay: str
    private: str = ""


def private_name(symbol: str) -> str:
    """Return the qualified name under which the original of a wrapped symbol is kept."""
    parent, _, leaf = symbol.rpartition(".")
    return f"{parent}.{PRIVATE_PREFIX}{leaf}" if parent else PRIVATE_PREFIX + leaf


def merge(
    path: str, content: bytes, operations: Sequence[Operation], *, distribution: str
) -> tuple[bytes, tuple[Declared, ...]]:
    """Apply operations to one upstream module.

    Args:
        path: repository path, for messages.
        content: upstream's bytes.
        operations: all operations on this file.
        distribution: name of the distribution built, written into the notices.

    Returns:
        The patched bytes, and one `Declared` for every operation and merged import.

    Raises:
        MergeError: with every operation that does not fit, and why.
    """
    module = Module(path, content)
    imports, problems = missing_imports(module, operations)
    problems += _duplicates(operations)
    merger = _Merger(module=module, distribution=distribution, operations=operations)
    splices: list[Splice] = [import_splice(module, imports)] if imports else []
    for operation in operations:
        try:
            splices += merger.splices(operation)
        except MergeError as error:
            problems += error.problems
    problems += [
        Problem(where=second.where, what=f"changes the same lines as {first.where}", fix="join the two operations")
        for first, second in overlapping(splices)
    ]
    if problems:
        raise MergeError(problems)
    declared = [_declared(operation) for operation in operations]
    reasons = {imported.name: operation for operation in reversed(operations) for imported in operation.imports}
    declared += [_declared_import(path, imported.name, reasons[imported.name]) for imported in imports]
    return module.bom + splice(module.content, splices, newline=module.newline), tuple(declared)


def _declared(operation: Operation) -> Declared:
    return Declared(
        path=operation.path,
        symbol=operation.symbol,
        operation=operation.action,
        reason=operation.reason,
        overlay=operation.overlay,
        private=private_name(operation.symbol) if operation.action == "wrapped" else "",
    )


def _declared_import(path: str, name: str, operation: Operation) -> Declared:
    reason = Reason(why=f"needed by {operation.symbol}")
    return Declared(path=path, symbol=name, operation="import", reason=reason, overlay=operation.overlay)


def _duplicates(operations: Iterable[Operation]) -> list[Problem]:
    first: dict[str, Operation] = {}
    problems = []
    for operation in operations:
        known = first.setdefault(operation.symbol, operation)
        if known is not operation:
            drop = f'"{operation.path}:{operation.symbol}"'
            inherited = f"name {drop} in tool.overlay.drop to leave out the inherited one"
            what = f"second operation on `{operation.symbol}` of {operation.path}; the first is {known.where}"
            fix = inherited if known.overlay != operation.overlay else "join the two operations"
            problems.append(Problem(where=operation.where, what=what, fix=fix))
    return problems


@dataclass(frozen=True, kw_only=True)
class _Merger:
    """Turns each operation on one module into splices."""

    module: Module
    distribution: str
    operations: Sequence[Operation]

    def splices(self, operation: Operation) -> list[Splice]:
        """Return the splices of one operation; raises `MergeError` where it does not fit."""
        if operation.action == "added":
            return self._added(operation)
        definition = find(self.module, operation)
        if operation.action == "wrapped":
            return self._wrapped(operation, definition)
        if operation.action == "edited":
            return self._edited(operation, definition)
        if operation.action == "deleted":
            return self._deleted(operation, definition)
        return self._replaced(operation, definition)

    def _notice(self, operation: Operation, indentation: str) -> str:
        """Return the comment that marks a changed place, as the Apache licence (section 4b) asks for."""
        text = f"Changed for NPU by {self.distribution} ({operation.action}): {' '.join(operation.reason.why.split())}"
        prefix = f"{indentation}# "
        return (
            textwrap.fill(
                text,
                119,
                initial_indent=prefix,
                subsequent_indent=prefix,
                break_long_words=False,
                break_on_hyphens=False,
            )
            + "\n"
        )

    def _insertion(self, operation: Operation, offset: int, text: str) -> Splice:
        return Splice(start=offset, end=offset, text=text, where=operation.where)

    def _wrapped(self, operation: Operation, definition: Definition) -> list[Splice]:
        node = definition.node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            raise _error(operation, f"`{operation.symbol}` is not a function upstream", "use @replaced or edited(…)")
        private = private_name(operation.symbol)
        if private in self.module.definitions:
            raise _error(operation, f"upstream already defines `{private}`", "use @replaced or @edited")
        text = _wrapper_text(operation, node, in_class=bool(definition.parent))
        indentation = self.module.indentation(node)
        wrapper = self._notice(operation, indentation) + reindent(text, old="", new=indentation)
        line = self.module.offset(node.lineno)
        start, _ = self.module.span(node)
        keyword = b"def" if isinstance(node, ast.FunctionDef) else b"async"
        at = self.module.content.index(node.name.encode(), start + len(keyword) + 1)
        gap = "\n" if definition.parent else "\n\n"
        return [
            self._insertion(operation, line, f"{wrapper.rstrip()}\n{gap}"),
            self._insertion(operation, at, PRIVATE_PREFIX),
        ]

    def _replaced(self, operation: Operation, definition: Definition) -> list[Splice]:
        node = definition.node
        if operation.kind == "attribute":
            value = _assigned_value(operation, node)
            start, end = self.module.span(value)
            notice = self._insertion(
                operation, self.module.offset(node.lineno), self._notice(operation, self.module.indentation(node))
            )
            return [notice, Splice(start=start, end=end, text=operation.text, where=operation.where)]
        if definition.kind != operation.kind:
            raise _error(operation, f"`{operation.symbol}` is a {definition.kind} upstream", "replace like by like")
        indentation = self.module.indentation(node)
        text = _renamed(operation.text, operation.symbol.rpartition(".")[2])
        text = self._notice(operation, indentation) + reindent(text, old="", new=indentation)
        start = self.module.offset(definition.first_line)
        return [Splice(start=start, end=self.module.span(node)[1], text=text.rstrip("\n"), where=operation.where)]

    def _edited(self, operation: Operation, definition: Definition) -> list[Splice]:
        start = self.module.offset(definition.first_line)
        _, end = self.module.span(definition.node)
        text = self.module.content[start:end].decode()
        indentation = self.module.indentation(definition.node)
        splices = [self._insertion(operation, start, self._notice(operation, indentation))]
        problems = []
        for edit in operation.edits:
            spans = occurrences(edit.find, text)
            if len(spans) != edit.count:
                what = f"`{edit.find}` occurs {len(spans)} times in `{operation.symbol}`, expected {edit.count}"
                problems.append(
                    Problem(
                        where=operation.where, what=what, fix='lengthen the find, or give ("find", "replace", count)'
                    )
                )
                continue
            for span in spans:
                first, last, new = _replacement(text, *span, edit.replace)
                at = start + len(text[:first].encode())
                until = start + len(text[:last].encode())
                splices.append(Splice(start=at, end=until, text=new, where=operation.where))
        if problems:
            raise MergeError(problems)
        return splices

    def _deleted(self, operation: Operation, definition: Definition) -> list[Splice]:
        node = definition.node
        body = _statement_list(self.module.tree, node)
        if sum(other.lineno <= (node.end_lineno or 0) and (other.end_lineno or 0) >= node.lineno for other in body) > 1:
            raise _error(operation, f"`{operation.symbol}` shares its line with another statement", "use @edited")
        if definition.kind == "import" or len(_names_bound(self.module, node)) > 1:
            raise _error(operation, f"the statement of `{operation.symbol}` binds other names too", "use a patch")
        indentation = self.module.indentation(node)
        text = self._notice(operation, indentation)
        if all(other is node or self._is_deleted(other) for other in body):
            text += f"{indentation}pass\n"
        start = self.module.offset(definition.first_line)
        end = self.module.line_end(node.end_lineno or node.lineno)
        return [Splice(start=start, end=end, text=text, where=operation.where)]

    def _is_deleted(self, node: ast.stmt) -> bool:
        deleted = {operation.symbol for operation in self.operations if operation.action == "deleted"}
        return bool(deleted & _names_bound(self.module, node))

    def _added(self, operation: Operation) -> list[Splice]:
        known = self.module.definitions.get(operation.symbol)
        if known:
            raise _error(
                operation,
                f"{self.module.path} already defines `{operation.symbol}` (line {known[0].node.lineno})",
                "use @replaced, @wrapped or @edited",
            )
        parent, _, leaf = operation.symbol.rpartition(".")
        if parent:
            return [self._added_member(operation, parent, leaf)]
        text = self._notice(operation, "") + _added_text(operation, leaf)
        anchor = _anchor(self.module, operation)
        gap = "" if operation.kind == "attribute" else "\n"
        if anchor is None:
            end = len(self.module.content)
            lead = "" if self.module.content.endswith((b"\n", b"\r")) or not end else "\n"
            return [self._insertion(operation, end, f"{lead}{gap}\n{text.rstrip()}\n")]
        return [self._insertion(operation, self.module.offset(anchor), f"{text.rstrip()}\n\n{gap}")]

    def _added_member(self, operation: Operation, parent: str, leaf: str) -> Splice:
        container = find(self.module, operation, symbol=parent).node
        if not isinstance(container, ast.ClassDef):
            raise _error(operation, f"`{parent}` is not a class upstream", "add the name at module level")
        last = container.body[-1]
        in_one_line = container.body[0].lineno == container.lineno
        own = self.module.indentation(container)
        indentation = own + _STEP if in_one_line else self.module.indentation(container.body[0])
        text = self._notice(operation, indentation) + reindent(_added_text(operation, leaf), old="", new=indentation)
        end = self.module.span(last)[1] if in_one_line else self.module.line_end(last.end_lineno or last.lineno)
        start = self.module.span(container.body[0])[0] if in_one_line else end
        gap = "" if operation.kind == "attribute" else "\n"
        if in_one_line:
            text = f"\n{indentation}{self.module.content[start:end].decode()}\n{gap}{text}".rstrip()
        else:
            lead = "" if self.module.content[:end].endswith((b"\n", b"\r")) else "\n"
            text = f"{lead}{gap}{text.rstrip()}\n"
        return Splice(start=start, end=end, text=text, where=operation.where)


def find(module: Module, operation: Operation, *, symbol: str = "") -> Definition:
    """Return the one definition of an operation's symbol (or of `symbol`); raises where there is none, or several."""
    name = symbol or operation.symbol
    known = module.definitions.get(name, [])
    if len(known) == 1:
        return known[0]
    if known:
        lines = ", ".join(str(definition.node.lineno) for definition in known)
        fix = "overloads, property setters and conditional definitions need a patch, or edit the class around them"
        raise _error(operation, f"{module.path} defines `{name}` {len(known)} times (lines {lines})", fix)
    nearest = module.nearest(name)
    raise _error(operation, f"{module.path} has no `{name}`", f"nearest: `{nearest}`" if nearest else "")


def _error(operation: Operation, what: str, fix: str) -> MergeError:
    return MergeError(Problem(where=operation.where, what=what, fix=fix))


def _wrapper_text(operation: Operation, original: ast.FunctionDef | ast.AsyncFunctionDef, *, in_class: bool) -> str:
    """Return the wrapper's text with ``upstream`` replaced by the way to the original."""
    node = ast.parse(operation.text).body[0]
    if type(node) is not type(original):
        now, then = ("async" if isinstance(kind, ast.AsyncFunctionDef) else "plain" for kind in (node, original))
        raise _error(
            operation, f"`{operation.symbol}` is a {then} function upstream, the wrapper a {now} one", "match it"
        )
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))  # noqa: S101  # for the type checker
    refused = _refused_calls(node.args, original.args)
    if refused:
        raise _error(
            operation,
            f"the wrapper of `{operation.symbol}` {refused}",
            "take upstream's parameters, or *args, **kwargs",
        )
    module = Module(operation.where, operation.text.encode())
    names = [name for name in ast.walk(node) if isinstance(name, ast.Name) and name.id == operation.upstream_name]
    if not names or not all(isinstance(name.ctx, ast.Load) for name in names):
        raise _error(
            operation, f"the wrapper of `{operation.symbol}` never calls upstream(…)", "call it, or use @replaced"
        )
    # __class__ is the class the method was written in, whatever its module-level name is bound to later.
    callee = f"__class__.{PRIVATE_PREFIX}{original.name}" if in_class else PRIVATE_PREFIX + original.name
    spans = [module.span(name) for name in names]
    calls = [Splice(start=start, end=end, text=callee, where=operation.where) for start, end in spans]
    return _renamed(splice(module.content, calls, newline="\n").decode(), original.name)


def _refused_calls(wrapper: ast.arguments, original: ast.arguments) -> str:
    """Return which of upstream's calls a wrapper would refuse, or an empty text."""
    if wrapper.vararg and wrapper.kwarg:
        return ""
    own = fingerprint.parameters(wrapper)
    theirs = fingerprint.parameters(original)
    for position, (kind, name) in enumerate(theirs):
        if (kind, name) not in own or (kind in "/|" and own[position] != (kind, name)):
            return f"does not take upstream's parameter `{name}` in its place"
    defaults = len(wrapper.defaults) >= len(original.defaults) + sum(kind in "/|" for kind, _ in own) - sum(
        kind in "/|" for kind, _ in theirs
    )
    return "" if defaults else "requires a parameter that upstream's callers may leave out"


def _renamed(text: str, name: str) -> str:
    """Return a definition's text under the given name (one shared definition can serve differently named targets)."""
    node = ast.parse(text).body[0]
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))  # noqa: S101  # for the type checker
    if node.name == name:
        return text
    module = Module("", text.encode())
    start = module.content.index(node.name.encode(), module.span(node)[0] + len("def "))
    rename = Splice(start=start, end=start + len(node.name.encode()), text=name, where="")
    return splice(module.content, [rename], newline="\n").decode()


def _added_text(operation: Operation, name: str) -> str:
    if operation.kind != "attribute":
        return _renamed(operation.text, name)
    annotation = f": {operation.annotation}" if operation.annotation else ""
    return f"{name}{annotation} = {operation.text}\n"


def _assigned_value(operation: Operation, node: ast.stmt) -> ast.expr:
    simple = isinstance(node, ast.AnnAssign) or (isinstance(node, ast.Assign) and len(node.targets) == 1)
    target = (
        node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
    )
    value = getattr(node, "value", None)
    if not simple or not isinstance(target, ast.Name) or value is None:
        raise _error(
            operation, f"`{operation.symbol}` is not one plain `NAME = value` upstream", "use @edited or a patch"
        )
    assert isinstance(value, ast.expr)  # noqa: S101  # the value of an assignment
    return value


def _replacement(text: str, start: int, end: int, new: str) -> tuple[int, int, str]:
    """Return the span and the text of one substitution, with following lines indented like the first."""
    line = text.rfind("\n", 0, start) + 1
    lead = text[line:start]
    if not new.strip():
        rest = text[end:].split("\n", 1)
        whole_line = not lead.strip() and not rest[0].strip() and len(rest) > 1
        return (line, end + len(rest[0]) + 1, "") if whole_line else (start, end, "")
    indentation = lead[: len(lead) - len(lead.lstrip())]
    first, *others = textwrap.dedent(new).strip("\n").split("\n")
    return start, end, "\n".join([first, *(indentation + other if other.strip() else other for other in others)])


def _statement_list(tree: ast.Module, node: ast.stmt) -> list[ast.stmt]:
    """Return the list of statements `node` stands in."""
    for parent in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(parent, name, None)
            if isinstance(statements, list) and any(statement is node for statement in statements):
                return statements
    raise ValueError("the node is not in the tree")


def _names_bound(module: Module, node: ast.stmt) -> set[str]:
    return {definition.name for known in module.definitions.values() for definition in known if definition.node is node}


def _anchor(module: Module, operation: Operation) -> int | None:
    """Return the line in front of which an addition goes, or None for the end of the module."""
    for definition in module.definitions.get(operation.before, []):
        for statement in module.tree.body:
            if statement.lineno <= definition.node.lineno <= (statement.end_lineno or 0):
                decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
                return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    last = module.tree.body[-1] if module.tree.body else None
    return last.lineno if isinstance(last, ast.If) and _is_main_guard(last) else None


def _is_main_guard(node: ast.If) -> bool:
    return any(isinstance(name, ast.Name) and name.id == "__name__" for name in ast.walk(node.test))
