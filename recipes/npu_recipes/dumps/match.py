"""Two dumps → how far each module's outputs lie apart.

A module's own children have run before it ends: if all before a module agree and its outputs do not, the cause is
either its own forward, or what its parent does between its parts; its inputs tell which.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from npu_recipes.dumps.dump_file import Array, Dump, Passage, Tensor
from npu_recipes.errors import Problem, RecipeError

Kind = Literal["within", "beyond", "shape", "missing"]
# By how much the outputs of one module may differ between two machines, by the type of their numbers: the norm of the
# difference by the norm of the reference. Another order of additions moves single elements by many units in the last
# place and the norm by few; later modules add to the error of earlier ones. So each is a multiple of the unit of
# rounding: enough for correct kernels through dozens of layers, too little for a wrong one.
TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
# Both parts of a complex number are of half its bits.
_PARTS = {"complex128": "float64", "complex64": "float32", "complex32": "float16"}
_COARSE = 0.2  # of numbers in eight bits


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How two tensors differ."""

    name: str  # which of the module's
    kind: Kind  # ``shape`` where they cannot be compared, ``missing`` where one side has none of that name
    error: float | None  # the norm of their difference by that of the reference; None where it has no value
    tolerance: float  # what it may be
    said: str  # dtypes and shapes, as far as they matter


@dataclass(frozen=True, kw_only=True)
class Matched:
    """A passage of both dumps, with the differences of what it was given and what it gave."""

    passage: Passage
    inputs: tuple[Difference, ...]
    outputs: tuple[Difference, ...]

    @property
    def agrees(self) -> bool:
        """Whether every output that both sides have is within its tolerance, and there is one."""
        both = [one for one in self.outputs if one.kind != "missing"]
        return all(one.kind == "within" for one in both) and bool(both or not self.outputs)

    @property
    def compared(self) -> bool:
        """Whether it gave a tensor on either side; a module without one is judged by its parts and inputs."""
        return bool(self.outputs)

    @property
    def unpaired(self) -> tuple[str, ...]:
        """The inputs that it was given on one side alone, with the side."""
        return tuple(f"{one.name} ({one.said})" for one in self.inputs if one.kind == "missing")

    @property
    def told(self) -> bool:
        """Whether there is an input of the same name on both sides, or none at all: else nothing is known of them."""
        return len(self.unpaired) < len(self.inputs) or not self.inputs

    @property
    def fed_alike(self) -> bool | None:
        """Whether every input is within its tolerance; None if only those that both sides have are."""
        if any(one.kind not in {"within", "missing"} for one in self.inputs):
            return False
        return None if self.unpaired else True

    @property
    def error(self) -> float | None:
        """The largest error of its outputs."""
        return max((one.error for one in self.outputs if one.error is not None), default=None)


@dataclass(frozen=True, kw_only=True)
class Matching:
    """Two dumps compared."""

    matched: tuple[Matched, ...]  # what both have, in the order in which the reference was through with it
    only_reference: tuple[str, ...]  # modules that ran on that side alone
    only_run: tuple[str, ...]  # modules that ran on the other side alone


def match(reference: Dump, run: Dump, factor: float) -> Matching:
    """Compare two dumps.

    Args:
        reference: the one to trust.
        run: the one to judge.
        factor: by which every tolerance is multiplied.

    Raises:
        RecipeError: they hold different elements of a tensor.
    """
    theirs = {one.key: one for one in run.manifest.passages}
    matched, only_reference = [], []
    for one in reference.manifest.passages:
        other = theirs.pop(one.key, None)
        if other is None:
            only_reference.append(one.module)
            continue
        inputs = tuple(_differences(one.inputs, other.inputs, reference, run, factor))
        outputs = tuple(_differences(one.outputs, other.outputs, reference, run, factor))
        matched.append(Matched(passage=one, inputs=inputs, outputs=outputs))
    return Matching(
        matched=tuple(matched),
        only_reference=tuple(dict.fromkeys(only_reference)),
        only_run=tuple(dict.fromkeys(one.module for one in theirs.values())),
    )


def _differences(
    ours: Sequence[Tensor], theirs: Sequence[Tensor], reference: Dump, run: Dump, factor: float
) -> Iterator[Difference]:
    others = {one.name: one for one in theirs}
    for one in ours:
        other = others.pop(one.name, None)
        if other is None:
            yield _missing(one, "the reference")
        elif one.shape != other.shape:
            said = f"{one.dtype}{list(one.shape)} and {other.dtype}{list(other.shape)}"
            yield Difference(name=one.name, kind="shape", error=None, tolerance=0.0, said=said)
        else:
            every = _common(one, other, reference, run)
            here, there = reference.array(one.array), run.array(other.array)
            yield _difference(one, other, here[:: every // one.every], there[:: every // other.every], factor)
    for other in others.values():
        yield _missing(other, "the run")


def _common(one: Tensor, other: Tensor, reference: Dump, run: Dump) -> int:
    """Return the stride of the elements that both hold, where one of them holds no others."""
    every = math.lcm(one.every, other.every)
    if every > max(one.every, other.every):
        shape = list(other.shape)
        what = f"holds every {other.every}th element of a tensor {shape}, and {reference.name} every {one.every}th"
        fix = "record both with the same --elements and the same version of npu-recipes"
        raise RecipeError(Problem(where=run.name, what=what, fix=fix))
    return every


def _missing(one: Tensor, side: str) -> Difference:
    return Difference(name=one.name, kind="missing", error=None, tolerance=0.0, said=f"only {side} has it")


def _difference(one: Tensor, other: Tensor, here: Array, there: Array, factor: float) -> Difference:
    tolerance = factor * max(tolerance_of(one.dtype), tolerance_of(other.dtype))
    error = _error(here, there)
    broken = one.not_finite != other.not_finite
    said = one.dtype if one.dtype == other.dtype else f"{one.dtype} and {other.dtype}"
    if broken:
        said += f", {one.not_finite} and {other.not_finite} elements NaN or infinite"
    return Difference(
        name=one.name,
        kind="beyond" if broken or error is None or error > tolerance else "within",
        error=error,
        tolerance=tolerance,
        said=said,
    )


def _error(here: Array, there: Array) -> float | None:
    """Return the norm of the difference by that of the reference; None if one alone is zero or not finite."""
    both = np.isfinite(here) & np.isfinite(there)
    if not np.array_equal(here[~both], there[~both], equal_nan=True):
        return None
    difference, size = np.linalg.norm(there[both] - here[both]), np.linalg.norm(here[both])
    if difference == 0:
        return 0.0
    return float(difference / size) if size > 0 and np.isfinite(difference) and np.isfinite(size) else None


def tolerance_of(dtype: str) -> float:
    """Return the tolerance of a type as torch names it; whole numbers and truth values have none."""
    return TOLERANCES.get(_PARTS.get(dtype, dtype), _COARSE if dtype.startswith("float8") else 0.0)
