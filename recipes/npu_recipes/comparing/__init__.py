"""Comparing: two groups of runs → for every metric how far they lie apart, and whether that is within its limit.

`limits` says which metric may differ by how much, `curves` makes one curve of several runs, `measures` aligns two
curves by step and measures, `judged` holds that against the limit, `verdict` sums up.
"""

from npu_recipes.comparing.judged import Judged
from npu_recipes.comparing.limits import DEFAULTS, Limit, read_limit, read_limits
from npu_recipes.comparing.verdict import Comparison, compare

__all__ = ["DEFAULTS", "Comparison", "Judged", "Limit", "compare", "read_limit", "read_limits"]
