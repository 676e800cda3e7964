"""Of a module's own imports all are found, wherever they stand, and no others, without parsing the rest."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from npu_overlays.model import module_imports as module
from npu_overlays.model.module_imports import module_imports
from npu_overlays.model.syntax import nodes_of

MODULES = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))


def own(content: bytes) -> list[str]:
    return [ast.dump(node, include_attributes=True) for node in module_imports(content)]


def expected(content: bytes) -> list[str]:
    statements = ast.parse(content).body
    return [
        ast.dump(one, include_attributes=True) for one in statements if isinstance(one, (ast.Import, ast.ImportFrom))
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x = 1\n",
        b'"""\nimport a\n"""\nimport b\n',
        b"import a\n'''\nfrom b import c\n'''\n",
        b"x = 1; import a ; from b import (\n  c,\n  d,\n)\ny = 2\n",
        b"x = 1; \\\n  import a\n",
        b"\x0cimport a\nif x:\n    import b\n",
        b"import a, \\\n  b\nclass C:\n    x = 1; import d\n",
        b"from a import (b,  # )\n  c)\nx = (1\n)\n",
        b"import a\rimport b\r\nimport c",
        b"try:\n    import a\nexcept ImportError:\n    a = None\n",
        b"x = '\\\nimport a\\\n'\nimport b\n",
        "größe = 1\nfrom größe import ähnlich\n".encode(),
    ],
)
def test_where_they_can_stand(content: bytes) -> None:
    assert own(content) == expected(content)


def test_those_of_pythons_own_modules() -> None:
    assert len(MODULES) > 100
    for file in MODULES[::5]:  # of all of them it takes seconds
        assert own(file.read_bytes()) == expected(file.read_bytes()), file


def test_what_stands_behind_them_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(content: bytes) -> ast.Module:
        read.append(len(content))
        return ast.parse(content)

    monkeypatch.setattr(module, "syntax_tree", counted)
    module_imports(b"import a\n" + b"x = 1\n" * 1000)
    module_imports(b"x = 1\n" * 1000)
    assert read == [9]


def test_what_cannot_be_parsed_is_said() -> None:
    with pytest.raises(SyntaxError):
        module_imports(b"import\n")


def test_nodes_are_those_of_ast_but_for_contexts_and_operators() -> None:
    tree = ast.parse(Path(ast.__file__).read_bytes())
    left_out = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    assert nodes_of(tree) == [node for node in ast.walk(tree) if not isinstance(node, left_out)]
