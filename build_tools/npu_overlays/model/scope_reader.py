"""Scope reader: syntax tree → its scopes, with every binding and read of a name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from npu_overlays.model.definitions import FunctionNode, blocks, bound_name, dotted_names, is_typing_only
from npu_overlays.model.scopes import Binding, How, Load, Scope, Scopes
from npu_overlays.model.syntax import INNER_FIELDS, called, children, is_name

# Strings in their brackets are values, not annotations.
_LITERAL = ("Literal", "Annotated")


def read_scopes(tree: ast.Module, is_wanted: Callable[[ast.AST], bool] = lambda _: True) -> Scopes:
    """Return the scopes of a module.

    Args:
        tree: its syntax.
        is_wanted: returns whether to read the body of a function, or of a lambda; what others bind and read is missing.
    """
    scopes = Scopes()
    _Reader(scopes, is_wanted).read(tree)
    return scopes


class _Position(NamedTuple):
    """The position of a walk: its scope, and the code around it."""

    scope: Scope
    how: How = "definition"
    direct: bool = False
    typing_only: bool = False
    annotation: bool = False
    called: bool = False
    at: ast.expr | None = None  # the f-string or string annotation around

    @property
    def inner(self) -> _Position:
        """The position inside a statement, whose parts are not in the module's own list."""
        return self._replace(direct=False, how="definition") if self.direct or self.how != "definition" else self

    def bound(self, node: ast.AST, how: How | None = None) -> Binding:
        """Return a binding that a node makes here."""
        return Binding(node, how or self.how, self.direct, self.typing_only)

    def load(self, node: ast.Name) -> Load:
        """Return a read that a name makes here."""
        return Load(node.id, self.at or node, not self.scope.deferred, self.called, self.annotation)


class _Walk:
    """Walks a tree once, without recursion: upstream's expressions may be nested deeper than Python's stack allows.

    A node goes to the method ``_visit_`` plus its type's name; if there is none, its children are visited.

    Args:
        scopes: receive the scopes that the walk opens.
    """

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._pending: list[tuple[ast.AST, _Position]] = []

    def walk(self, statements: Iterable[ast.stmt], place: _Position) -> None:
        """Visit statements at `place`, and everything inside them."""
        self._later(reversed(list(statements)), place)
        visits: dict[type[ast.AST], Callable[[Any, _Position], None]] = {}
        while self._pending:
            node, place = self._pending.pop()
            kind = type(node)
            if kind not in visits:
                visits[kind] = getattr(self, f"_visit_{kind.__name__}", self._children)
            visits[kind](node, place)

    def _later(self, nodes: object, place: _Position) -> None:
        if isinstance(nodes, ast.AST):
            self._pending.append((nodes, place))
        elif isinstance(nodes, Iterator):
            self._pending += [(node, place) for node in nodes if isinstance(node, ast.AST)]

    def _children(self, node: ast.AST, place: _Position, *, but: tuple[str, ...] = ()) -> None:
        """Visit the children of a node; nested statements are not the module's own."""
        inner, pending, known = place.inner if isinstance(node, ast.stmt) else place, self._pending, node.__dict__
        for name in INNER_FIELDS[type(node)]:
            value = known.get(name)
            if not value or name in but:  # most fields are empty
                continue
            if isinstance(value, list):
                pending += [(one, inner) for one in reversed(value) if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                pending.append((value, inner))

    def _scope(
        self,
        place: _Position,
        kind: Literal["class", "function"],
        *,
        name: str = "",
        deferred: bool = False,
        transparent: bool = False,
    ) -> _Position:
        scope = Scope(
            kind=kind,
            parent=place.scope,
            name=name,
            deferred=place.scope.deferred or deferred,
            transparent=transparent,
        )
        self._scopes.all.append(scope)
        return _Position(scope, typing_only=place.typing_only, called=place.called, at=place.at)


class _Reader(_Walk):
    """Notes what each node binds and reads, also in the bodies of functions if these are wanted."""

    def __init__(self, scopes: Scopes, is_wanted: Callable[[ast.AST], bool]) -> None:
        super().__init__(scopes)
        self._is_wanted = is_wanted

    def read(self, tree: ast.Module) -> None:
        self.walk(tree.body, _Position(self._scopes.module, direct=True))
        self._scopes.module.loads += _loads_of_all(tree.body)
        for scope in self._scopes.all:
            for name in [name for name, kind in scope.outer.items() if kind == "global" and scope.parent]:
                for binding in scope.bindings.pop(name, []):
                    self._scopes.module.bind(name, binding._replace(how="global", direct=False))

    def _parameters(self, node: ast.AST, place: _Position) -> _Position:
        """Return the position of a definition's annotations and bases: inside its type parameters, if it has any."""
        parameters = getattr(node, "type_params", [])
        if not parameters:
            return place
        inner = self._scope(place, "function")
        for parameter in parameters:
            inner.scope.bind(parameter.name, Binding(parameter, "parameter"))
            self._children(parameter, inner)
        return inner

    def _visit_FunctionDef(self, node: FunctionNode, place: _Position) -> None:  # noqa: N802  # named after the node
        place.scope.bind(node.name, place.bound(node, "definition"))
        here = place.inner
        self._decorators(node, here)
        around = self._parameters(node, here)
        self._later(node.returns, around._replace(annotation=True))
        self._function(node, around, here)

    _visit_AsyncFunctionDef = _visit_FunctionDef  # noqa: N815  # likewise

    def _decorators(self, node: FunctionNode | ast.ClassDef, place: _Position) -> None:
        self._scopes.callees.update(map(called, node.decorator_list))
        self._later(iter(node.decorator_list), place._replace(called=True))

    def _visit_Lambda(self, node: ast.Lambda, place: _Position) -> None:  # noqa: N802  # likewise
        self._function(node, place, place)

    def _function(self, node: FunctionNode | ast.Lambda, around: _Position, here: _Position) -> None:
        inner, annotated = self._scope(around, "function", deferred=True), around._replace(annotation=True)
        self._later(iter([*node.args.defaults, *node.args.kw_defaults]), here)
        for argument in children(node.args):
            if isinstance(argument, ast.arg):
                inner.scope.bind(argument.arg, Binding(argument, "parameter"))
                self._later(argument.annotation, annotated)
        if self._is_wanted(node):
            self._later(reversed(node.body) if isinstance(node.body, list) else node.body, inner)

    def _visit_ClassDef(self, node: ast.ClassDef, place: _Position) -> None:  # noqa: N802  # likewise
        place.scope.bind(node.name, place.bound(node, "definition"))
        here = place.inner
        self._decorators(node, here)
        around = self._parameters(node, here)
        self._later(iter(node.bases), around)
        self._later(iter(node.keywords), around._replace(called=True))
        reachable = place.scope.kind == "module" or bool(place.scope.name)
        parent = f"{place.scope.name}." if place.scope.name else ""
        inner = self._scope(around, "class", name=parent + node.name if reachable else "")
        self._later(reversed(node.body), inner)

    def _visit_comprehension(self, node: ast.AST, place: _Position) -> None:
        first: ast.comprehension = node.generators[0]  # type: ignore[attr-defined]  # every kind has them
        self._later(first.iter, place)
        inner = self._scope(place, "function", transparent=True)
        self._children(node, inner, but=("generators",))
        for number, generator in enumerate(node.generators):  # type: ignore[attr-defined]  # likewise
            self._children(generator, inner._replace(how="for"), but=() if number else ("iter",))

    _visit_ListComp = _visit_SetComp = _visit_DictComp = _visit_GeneratorExp = _visit_comprehension  # noqa: N815

    def _visit_NamedExpr(self, node: ast.NamedExpr, place: _Position) -> None:  # noqa: N802  # likewise
        scope = place.scope
        while scope.transparent and scope.parent:
            scope = scope.parent
        scope.bind(node.target.id, place._replace(direct=False).bound(node.target, ":="))
        self._later(node.value, place)

    def _visit_Name(self, node: ast.Name, place: _Position) -> None:  # noqa: N802  # likewise
        if isinstance(node.ctx, ast.Load):
            place.scope.loads.append(place.load(node))
        else:
            place.scope.bind(node.id, place.bound(node, "del" if isinstance(node.ctx, ast.Del) else None))

    def _visit_Attribute(self, node: ast.Attribute, place: _Position) -> None:  # noqa: N802  # likewise
        if not isinstance(node.ctx, ast.Load) and not place.scope.deferred:
            for name in dotted_names(node):
                how: How | None = "del" if isinstance(node.ctx, ast.Del) else None
                place.scope.module.bind(name, place._replace(direct=False).bound(node, how))
        self._children(node, place)

    def _visit_Call(self, node: ast.Call, place: _Position) -> None:  # noqa: N802  # likewise
        self._scopes.callees.add(node.func)
        self._children(node, place if place.called else place._replace(called=True))

    def _visit_Constant(self, node: ast.Constant, place: _Position) -> None:  # noqa: N802  # likewise
        # No type holds a backslash; parsing one may warn.
        if place.annotation and isinstance(node.value, str) and "\\" not in node.value:
            try:
                text = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                return
            self._later(text, place._replace(at=place.at or node))

    def _visit_Subscript(self, node: ast.Subscript, place: _Position) -> None:  # noqa: N802  # likewise
        leaf = getattr(node.value, "attr", getattr(node.value, "id", ""))
        self._children(node, place._replace(annotation=False) if leaf in _LITERAL else place)

    def _visit_JoinedStr(self, node: ast.JoinedStr, place: _Position) -> None:  # noqa: N802  # likewise
        self._children(node, place._replace(at=place.at or node, annotation=False))

    def _visit_AugAssign(self, node: ast.AugAssign, place: _Position) -> None:  # noqa: N802  # likewise
        self._children(node, place)
        if isinstance(node.target, ast.Name):
            place.scope.loads.append(place.load(node.target))

    def _visit_AnnAssign(self, node: ast.AnnAssign, place: _Position) -> None:  # noqa: N802  # likewise
        self._later(node.annotation, place._replace(annotation=True, direct=False))
        self._children(node, place, but=("annotation",))

    def _visit_TypeAlias(self, node: ast.AST, place: _Position) -> None:  # noqa: N802  # likewise
        self._later(node.name, place)  # type: ignore[attr-defined]  # Python 3.12 knows the node
        self._later(node.value, self._parameters(node, place._replace(direct=False)))  # type: ignore[attr-defined]  # likewise

    def _visit_If(self, node: ast.If, place: _Position) -> None:  # noqa: N802  # likewise
        inner = place.inner
        self._later(reversed(node.orelse), inner)
        self._later(reversed(node.body), inner._replace(typing_only=place.typing_only or is_typing_only(node)))
        self._later(node.test, inner)

    def _visit_For(self, node: ast.For | ast.AsyncFor, place: _Position) -> None:  # noqa: N802  # likewise
        self._children(node, place, but=("target",))
        self._later(node.target, place._replace(direct=False, how="for"))

    _visit_AsyncFor = _visit_For  # noqa: N815  # likewise

    def _visit_withitem(self, node: ast.withitem, place: _Position) -> None:
        self._later(node.optional_vars, place._replace(direct=False, how="with"))
        self._later(node.context_expr, place)

    def _visit_ExceptHandler(self, node: ast.ExceptHandler, place: _Position) -> None:  # noqa: N802  # likewise
        if node.name:
            place.scope.bind(node.name, place.bound(node, "except"))
        self._children(node, place._replace(direct=False))

    def _visit_match_name(self, node: ast.AST, place: _Position) -> None:
        name = getattr(node, "rest" if isinstance(node, ast.MatchMapping) else "name", None)
        if name:
            place.scope.bind(name, place.bound(node, "case"))
        self._children(node, place)

    _visit_MatchAs = _visit_MatchStar = _visit_MatchMapping = _visit_match_name  # noqa: N815  # likewise

    def _visit_Global(self, node: ast.Global | ast.Nonlocal, place: _Position) -> None:  # noqa: N802  # likewise
        place.scope.outer.update(dict.fromkeys(node.names, "global" if isinstance(node, ast.Global) else "nonlocal"))

    _visit_Nonlocal = _visit_Global  # noqa: N815  # likewise

    def _visit_Import(self, node: ast.Import | ast.ImportFrom, place: _Position) -> None:  # noqa: N802  # likewise
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return
        for alias in node.names:
            if alias.name == "*":
                self._scopes.stars.append(place.bound(node))
            else:
                place.scope.bind(bound_name(node, alias), place.bound(node))

    _visit_ImportFrom = _visit_Import  # noqa: N815  # likewise


def _loads_of_all(body: Sequence[ast.stmt]) -> Iterator[Load]:
    """Yield the names in a module's ``__all__``: star imports read them."""
    for node in body:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)):
            parts = list(ast.walk(node))
            if any(is_name(part, "__all__") for part in parts):
                for part in parts:
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield Load(part.value, part, eager=False)
        for _, block in blocks(node):
            yield from _loads_of_all(block)
