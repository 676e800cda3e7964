"""Over every module of packages in the environment of the tests: nearly all can be wrapped, and is given back."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import files
from itertools import chain

import pytest

from npu_overlays.errors import OverlayError
from npu_overlays.model.module import Module

from . import checks

PACKAGES = ("docutils", "hatchling", "hypothesis", "jinja2", "jsonschema", "packaging", "requests", "rich", "sphinx")
# Of all definitions of functions in all packages, how many may be left out, in thousandths.
LEFT_OUT = 3


@pytest.mark.thorough
@pytest.mark.slow
def test_nearly_every_function_of_packages_is_wrapped(record_property: Callable[[str, object], None]) -> None:
    done = count = 0
    for file in chain.from_iterable(files(name) or () for name in PACKAGES):
        content = file.read_binary() if file.suffix == ".py" and ".." not in file.parts else b""
        try:
            module = Module(str(file), content)
        except OverlayError:
            continue
        done += checks.wrapped(str(file), content)
        definitions = chain.from_iterable(module.definitions.values())
        count += sum(one.kind == "function" for one in definitions)
    record_property("wrapped functions", done)
    assert done > 0
    assert (count - done) * 1000 <= LEFT_OUT * count, f"{done} of {count}"
