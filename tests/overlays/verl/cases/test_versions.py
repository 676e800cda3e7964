"""Checks of transformers' version at the pin itself: they judge by upstream's version, without the wheels' label."""

from __future__ import annotations

import importlib
import importlib.metadata
from importlib.util import find_spec

import pytest
import transformers

CHECK = "is_transformers_version_in_range"
# Upstream moved it from the second to the first, which was there before that.
HOMES = ("verl.utils.transformers_compat", "verl.models.transformers.monkey_patch")
homes = (importlib.import_module(name) for name in HOMES if find_spec(name))
in_range = next(getattr(home, CHECK) for home in homes if hasattr(home, CHECK)).__wrapped__
PIN = transformers.__version__


@pytest.mark.parametrize(
    ("bounds", "holds"),
    [
        ({"max_version": PIN}, True),
        ({"min_version": PIN}, True),
        ({"min_version": PIN, "max_version": PIN}, True),
        ({"max_version": f"{PIN}.dev0" if "dev" not in PIN else "4.55.4"}, False),
        ({"min_version": f"{PIN}.post1" if "dev" not in PIN else "4.56.0"}, False),
    ],
)
def test_a_bound_at_the_pin_is_judged_without_the_label(bounds: dict[str, str], holds: bool) -> None:
    assert importlib.metadata.version("transformers").startswith(f"{PIN}+npu.")
    assert in_range(**bounds) is holds


@pytest.mark.parametrize(("installed", "holds"), [("4.57.3", True), ("4.57.3+corp.1", False), ("4.57.4", False)])
def test_upstreams_transformers_is_judged_as_upstream_does(
    installed: str, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: installed)
    assert in_range(max_version="4.57.3") is holds
