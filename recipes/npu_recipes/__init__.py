"""npu-recipes: training with verl on Ascend NPUs, and whether a run there matches one on GPUs.

`cli` parses and calls one of `commands`; only `running` prints errors. It knows nothing of the build tool: what a
patched wheel changed, it reads from the wheel.
"""

from __future__ import annotations

__version__ = "0.1.0"
