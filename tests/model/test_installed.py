"""Real packages: of every class whose bases are known, the model has the order that Python gives it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from class_orders import compared
from environments import Torch, Unavailable, torch_environment
from environments.installer import install
from environments.once import once


@pytest.mark.slow
def test_the_classes_of_sphinx_have_pythons_order() -> None:
    found = compared(Path(sys.executable), "sphinx")
    assert found.differing == {}
    assert found.counts["whole"] + found.counts["named"] > 700
    assert found.counts["unknown"] < 10


@pytest.fixture(scope="module")
def python(shared: Path) -> Path:
    """Return an interpreter that has what our overlays patch, unpatched."""

    def make(folder: Path) -> None:
        install(torch.beside(folder).python, ("libcst", "transformers==5.10.4", "verl==0.9.1"), given=("torch",))

    try:
        torch = torch_environment()
    except Unavailable as reason:
        pytest.skip(str(reason))
    return Torch(once(shared, "class-orders", make)).python


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(("package", "known"), [("libcst", 800), ("verl", 400), ("transformers", 11_000)])
def test_the_classes_of_larger_packages_have_pythons_order(python: Path, package: str, known: int) -> None:
    found = compared(python, package, stubs=package == "verl")
    assert found.differing == {}
    assert found.counts["whole"] + found.counts["named"] > known
    assert found.counts["unknown"] < 10
