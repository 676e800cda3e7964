"""The emulated NPU in every process that runs verl: Python imports this by its name when it starts.

Before anything imports transformers or verl, which ask once whether there is an NPU. Ray's own processes go without.
"""

import os
import sys

if os.environ.get("EMULATED_NPU") == "1" and any(
    part in " ".join(sys.orig_argv) for part in ("default_worker.py", "verl.trainer")
):
    sys.path[:0] = os.environ["EMULATED_NPU_FROM"].split(os.pathsep)
    import stub_vllm

    import emulation

    emulation.install()
    stub_vllm.install_profiler()
