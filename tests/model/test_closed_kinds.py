"""Which classes typing makes in its own way, wherever the name of what makes them comes from."""

from __future__ import annotations

import pytest

from npu_overlays.model import Symbol

from .trees import model

COMPAT = """
# pkg/compat.py
import typing as t
from typing import Protocol as Interface
from typing_extensions import TypedDict
Record = t.NamedTuple
class Protocol: ...
class Options(TypedDict): ...
"""


@pytest.mark.parametrize(
    ("imports", "base", "kind"),
    [
        ("import typing as t", "t.Protocol[int]", "Protocol"),
        ("from .compat import Interface", "Interface", "Protocol"),
        ("from . import compat", "compat.Record", "NamedTuple"),
        ("from .compat import Protocol", "Protocol", ""),
        ("from typing import Protocol\nclass B(Protocol): ...", "B", ""),
        ("from .compat import Options", "Options", "TypedDict"),
        ("from elsewhere import Protocol", "Protocol", "Protocol"),
        ("from .compat import *", "Interface", "Protocol"),
        ("from zope.interface import Interface\nclass B(Interface): ...", "B", "Interface"),
    ],
)
def test_a_class_is_closed_by_what_its_base_is_and_not_by_its_name(imports: str, base: str, kind: str) -> None:
    classes = model(f"{COMPAT}# pkg/a.py\n{imports}\nclass A({base}): ...\n").classes
    assert classes.closed_kind(Symbol("pkg/a.py", "A")) == kind
