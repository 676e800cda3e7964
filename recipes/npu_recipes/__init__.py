"""npu-recipes: training with verl on Ascend NPUs, and comparing the precision of such a run with one on GPUs.

`cli` parses the command line and calls one of `commands`. Nothing here imports the build tool: what a patched wheel
changed is read from the wheel.
"""

from __future__ import annotations

__version__ = "0.1.0"
