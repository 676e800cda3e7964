"""Tolerances: by how much the outputs of one module may differ between two machines, by the type of their numbers.

They are for the norm of the difference by the norm of the reference. Another order of additions moves single elements
by many units in the last place and the norm by few; what follows adds to what came before. So each is a multiple of
the unit of rounding: enough for honest kernels through dozens of layers, too little for a wrong one.
"""

from __future__ import annotations

TOLERANCES = {
    "float64": 1e-9,
    "float32": 1e-4,
    "float16": 1e-2,
    "bfloat16": 5e-2,
}
# Both parts of a complex number are of half its bits.
_PARTS = {"complex128": "float64", "complex64": "float32", "complex32": "float16"}
_COARSE = 0.2  # of numbers in eight bits


def tolerance_of(dtype: str) -> float:
    """Return the tolerance of a type as torch names it; whole numbers and truth values have none."""
    return TOLERANCES.get(_PARTS.get(dtype, dtype), _COARSE if dtype.startswith("float8") else 0.0)
