"""Definition fields: definition → what an operation on it can depend on, as texts that are the same on every Python."""

from __future__ import annotations

import ast

from npu_overlays.model.definitions import FUNCTIONS, Definition, FunctionNode
from npu_overlays.model.fingerprint import brief, fingerprint, fingerprint_of_all, without_docstring
from npu_overlays.model.functions import function_kind
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import leading, owner_of
from npu_overlays.model.signatures import parameters, signature_text


def definition_fields(definition: Definition) -> dict[str, str]:
    """Return what readers of a definition can depend on, by the contract's field; empty texts are left out."""
    node, found = definition.node, form_fields(definition)
    if isinstance(node, FUNCTIONS):
        annotated: list[ast.AST] = [one.node for one in parameters(node.args) if one.node.annotation]
        found["annotations"] = fingerprint_of_all([*annotated, *filter(None, [node.returns])])
    found["body"] = _body(node) if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else fingerprint(node)
    found["decorators"] = " ".join(f"@{brief(one)}" for one in getattr(node, "decorator_list", []))
    return {name: text for name, text in found.items() if text}


def form_fields(definition: Definition) -> dict[str, str]:
    """Return those fields that say how a definition is used, and not what it does; they are quick to compute."""
    node = definition.node
    if isinstance(node, FUNCTIONS):
        return {"kind": function_kind(node), "signature": signature_text(node.args, brief)}
    if isinstance(node, ast.ClassDef):
        return {"kind": "class", "signature": _header(node)}
    return {"kind": definition.kind}


def enclosing_headers(module: Module, symbol: str) -> str:
    """Return the headers of the classes around a symbol, outermost first: ``@dataclass A(Base) > B()``."""
    shown: list[str] = []
    parent = owner_of(symbol)
    while parent:
        for definition in module.definitions.get(parent, []):
            if isinstance(definition.node, ast.ClassDef):
                decorators = "".join(f"@{brief(decorator)} " for decorator in definition.node.decorator_list)
                shown.append(f"{decorators}{definition.node.name}{_header(definition.node)}")
        parent = parent.rpartition(".")[0]
    return " > ".join(reversed(shown))


def definition_selectors(module: Module, name: str) -> str:
    """Return the selectors of a name's definitions, if it has several or a conditional one."""
    known = module.definitions.get(name, [])
    if len(known) == 1 and all(one.is_certain for one in known[0].around):
        return ""
    return ", ".join("; ".join(leading(module, one)) for one in known)


def _header(node: ast.ClassDef) -> str:
    shown = list(map(brief, node.bases))
    for one in node.keywords:
        shown.append(f"{one.arg or '**'}={brief(one.value)}")
    return f"({', '.join(shown)})"


def _body(node: FunctionNode | ast.ClassDef) -> str:
    statements = without_docstring(node, node.body)
    return fingerprint_of_all([ast.Pass(), *(statements if isinstance(statements, list) else [])])
