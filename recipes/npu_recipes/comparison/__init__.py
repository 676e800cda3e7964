"""Comparison: two groups of runs → for every metric how far they lie apart, and whether that is within its limit.

`limits` has the limits, `curves` makes one curve of several runs and measures, `judgement` holds a metric against its
limit, `verdict` sums up.
"""

from npu_recipes.comparison.curves import Bounds
from npu_recipes.comparison.judgement import Judged
from npu_recipes.comparison.limits import DEFAULTS, Limit, read_limit, read_limits
from npu_recipes.comparison.verdict import Comparison, compare

__all__ = ["DEFAULTS", "Bounds", "Comparison", "Judged", "Limit", "compare", "read_limit", "read_limits"]
