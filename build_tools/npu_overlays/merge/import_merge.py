"""Import merge: the imports of an overlay's definitions, merged into upstream's."""

from __future__ import annotations

import ast
from collections.abc import Reversible, Sequence
from itertools import chain

from npu_overlays.errors import MergeError, Problem
from npu_overlays.merge.targets import problem
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Binding
from npu_overlays.model.splices import Splice
from npu_overlays.model.syntax import targets
from npu_overlays.overlay.operations import ImportedName, Operation, imported_names

RENAME = "import it under another name"
_IMPORTS = (ast.Import, ast.ImportFrom)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Builtins that set, or give what can be set, of their first argument.
_OF_THE_FIRST = frozenset({"setattr", "delattr", "vars", "getattr"})
_EITHER = f"{RENAME}, or, where upstream's own is meant, under `if TYPE_CHECKING:`"


def missing_imports(module: Module, operations: Sequence[Operation]) -> tuple[list[ImportedName], list[Problem]]:
    """Return the imports upstream's module lacks, in order, and problems for those with another meaning there."""
    added = {operation.name: operation for operation in operations if operation.action == "added"}
    wanted: dict[str, list[ImportedName]] = {}
    problems: list[Problem] = []
    for operation in operations:
        for imported in operation.imports:
            others = wanted.setdefault(imported.name, [])
            if imported in others:
                continue
            if imported.name in added:
                what = f"the added `{imported.name}` of {added[imported.name].where} binds as well"
                problems.append(_conflict(operation, imported, what, RENAME))
            elif otherwise := _bound_otherwise(module, imported):
                problems.append(_conflict(operation, imported, *otherwise))
            elif others and not (imported.binds_package and others[0].binds_package):
                problems.append(_conflict(operation, imported, f"`{others[0].statement}` binds as well", _EITHER))
            elif not _is_present(module, imported):
                others.append(imported)
    return list(chain.from_iterable(wanted.values())), problems


def first_users(operations: Reversible[Operation]) -> dict[ImportedName, Operation]:
    """Return the imports of operations, each with the first operation that needs it."""
    users: dict[ImportedName, Operation] = {}
    for operation in reversed(operations):
        users |= dict.fromkeys(operation.imports, operation)
    return users


def import_splice(module: Module, imports: Sequence[ImportedName], *, limit: int, where: str) -> Splice:
    """Return the insertion of `imports` above code that may need them, after upstream's imports and what acts on those.

    Args:
        module: upstream's.
        imports: what to insert.
        limit: the byte offset of the first change that may need them.
        where: the place that needs the first, for messages.

    Raises:
        MergeError: there is no such place, because the module's first lines contain other code.
    """
    offset = _place(module, limit)
    if offset > limit:
        what = f"`{imports[0].statement}` cannot stand above what needs it: that begins on a line of the module's head"
        raise MergeError(Problem(where=where, what=what, fix="use a patch"))
    text = "".join(f"{imported.statement}\n" for imported in imports)
    if offset and not module.content[:offset].endswith((b"\n", b"\r")):
        text = "\n" + text
    return Splice(start=offset, end=offset, text=text, where=where)


def binds_the_same(binding: Binding, imported: ImportedName) -> bool:
    """Return whether a binding gives a name the object that an overlay's import gives it."""
    if not isinstance(binding.node, _IMPORTS) or binding.how not in ("definition", "global"):
        return False
    own = [one for one in imported_names(binding.node) if one.name == imported.name]
    return all(one == imported or (one.binds_package and imported.binds_package) for one in own)


def _bound_otherwise(module: Module, imported: ImportedName) -> tuple[str, str] | None:
    """Return (what binds the name, what to do) if upstream may mean something else by it than the import."""
    known = module.outer_scopes.bound(imported.name)
    running = [binding for binding in known if not binding.typing_only]
    for binding in known:
        if not binds_the_same(binding, imported):
            return f"{module.path} already defines otherwise (line {binding.line})", _EITHER if running else RENAME
    if running and not any(binding.direct for binding in running):
        return f"{module.path} imports under a condition only (line {running[0].line})", _EITHER
    return None


def _is_present(module: Module, imported: ImportedName) -> bool:
    """Return whether upstream has the same import, unconditionally."""
    for binding in module.outer_scopes.bound(imported.name):
        if binding.direct and isinstance(binding.node, _IMPORTS):
            for one in imported_names(binding.node):
                package = one.binds_package and imported.statement == f"import {one.name}"
                if package or one.statement == imported.statement:
                    return True
    return False


def _conflict(operation: Operation, imported: ImportedName, what: str, fix: str) -> Problem:
    what = f"`{imported.statement}` would rebind `{imported.name}`, which {what}"
    return problem(operation, what, fix)


def _place(module: Module, limit: int) -> int:
    """Return the byte offset for imports; never inside a statement, nor after one that may need them.

    It is after `limit` only if that lies in the module's docstring or its __future__ imports.
    """
    place = 0
    for statements, end in module.logical_lines():
        in_head = any(_is_head(module, node) for node in statements)
        if not in_head and (end > limit or isinstance(statements[0], _DEFINITIONS)):
            break
        if in_head or any(isinstance(node, _IMPORTS) or _acts(module, node) for node in statements):
            place = end
    return place or module.offset(_leading_comment_lines(module) + 1)


def _acts(module: Module, node: ast.AST) -> bool:
    """Return whether a statement calls or sets something imported, which may change imports below it.

    ``os.environ["NAME"] = …`` and ``sys.path.insert(…)`` do so, also under an ``if`` or in an expression. An assignment
    of a result, ``logger = getLogger(…)``, is not taken to change anything.
    """
    if isinstance(node, _DEFINITIONS):
        return False
    given = targets(node) if isinstance(node, (ast.Assign, ast.AnnAssign)) else []
    if given and all(isinstance(one, ast.Name) and one.id.strip("_") for one in given):
        return False
    changed: list[ast.expr] = [node] if isinstance(node, ast.Call) else []
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        changed = [node]
    if any(_is_imported(module, _root(one)) for one in changed):
        return True
    return any(_acts(module, inner) for inner in ast.iter_child_nodes(node))


def _is_imported(module: Module, name: str, depth: int = 3) -> bool:
    """Return whether a module imports a name, or assigns it something imported unchanged."""
    for binding in module.outer_scopes.bound(name):
        if isinstance(binding.node, _IMPORTS):
            return True
        statement = next((one for one in module.tree.body if binding.node in getattr(one, "targets", ())), None)
        value = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(value, (ast.Name, ast.Attribute)) and depth and _is_imported(module, _root(value), depth - 1):
            return True
    return False


def _root(node: ast.expr) -> str:
    """Return the name that an expression begins with, also ``a`` in ``setattr(a, …)``; empty if it begins with none."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            given = isinstance(node.func, ast.Name) and node.func.id in _OF_THE_FIRST and node.args
            node = node.args[0] if given else node.func
        else:
            node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_head(module: Module, node: ast.stmt) -> bool:
    if node is module.tree.body[0] and ast.get_docstring(module.tree, clean=False) is not None:
        return True
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _leading_comment_lines(module: Module) -> int:
    """Return the number of comment lines at the top (a shebang, a coding line, a licence)."""
    count = 0
    for line in module.content.splitlines():
        if not line.lstrip().startswith(b"#"):
            break
        count += 1
    return count
