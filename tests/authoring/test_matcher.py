"""Whether one definition may be what another was, under another name or in another file."""

from __future__ import annotations

import pytest

from npu_overlays.authoring.matcher import is_alike_elsewhere
from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module

_LONG = "def scale(values, factor):\n    total = sum(values)\n    return [value * factor / total for value in values]\n"
_REFORMATTED = (
    "def grow(values, factor, *, least=0):\n    total = sum(\n        values\n    )\n"
    "    return [\n        value * factor / total\n        for value in values\n    ]\n"
)


def first_definition(module: Module) -> Definition:
    definitions = iter(module.definitions.values())
    return next(definitions)[0]


@pytest.mark.parametrize(
    ("before", "after", "alike"),
    [
        pytest.param(_LONG, _REFORMATTED, True, id="another name, layout and parameter"),
        pytest.param(_LONG, "def grow(values):\n    return sorted(values, reverse=True)\n", False, id="other code"),
        pytest.param("def one():\n    return 1\n", "def single():\n    return 1\n", True, id="short and the same"),
        pytest.param("def one():\n    return 1\n", "def two():\n    return 2\n", False, id="short and other"),
        pytest.param(
            "def one(x):\n    return x + 1\n", "def one(x):\n    return -x\n", True, id="short, by name and parameters"
        ),
        pytest.param(
            "def one(x):\n    return x + 1\n", "def one(y):\n    return -y\n", False, id="short, other parameters"
        ),
        pytest.param("ONE = None\n", "TWO = None\n", False, id="short value"),
        pytest.param(_LONG, "class Scale:\n    values = [1]\n", False, id="another kind"),
    ],
)
def test_likeness_elsewhere(before: str, after: str, *, alike: bool) -> None:
    one, other = Module("a.py", before.encode()), Module("b.py", after.encode())
    old, new = first_definition(one), first_definition(other)
    assert is_alike_elsewhere(one, old, other, new) == alike
