"""Runs: what verl or another trainer wrote → for every metric its values by step, and what was odd about the file.

`run_files` finds out which form a file has and calls the module that reads it. All of them fill a
`collector.Collector`, which alone merges steps that were logged twice.
"""

from npu_recipes.runs.run_files import read_groups
from npu_recipes.runs.series import Run, Series

__all__ = ["Run", "Series", "read_groups"]
