"""Runs: what verl or another trainer wrote → for every metric its values by step, and what was odd about the file.

`reading` finds out which form a file has and asks the module for it; all of them fill a `collecting.Collector`, which
knows what becomes of steps that were logged twice.
"""

from npu_recipes.runs.run_files import read_groups
from npu_recipes.runs.series import Run, Series

__all__ = ["Run", "Series", "read_groups"]
