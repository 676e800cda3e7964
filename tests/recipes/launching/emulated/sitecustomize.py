"""The emulated NPU in every process that runs verl: Python imports this by its name when it starts.

Before anything imports transformers or verl, which ask once whether there is an NPU. Ray's own processes go without.
What ran there is written now and then, since Ray ends its workers without a word.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path


def tell(operators: dict[str, int], file: Path) -> None:
    """Write the operators that ran, again and again."""
    while True:
        time.sleep(0.5)
        # Whole or not at all: the process may end at any moment.
        new = file.with_suffix(".new")
        new.write_text(json.dumps(dict(operators)), "utf-8")
        new.replace(file)


if os.environ.get("EMULATED_NPU") == "1" and any(
    part in " ".join(sys.orig_argv) for part in ("default_worker.py", "verl.trainer")
):
    sys.path[:0] = os.environ["EMULATED_NPU_FROM"].split(os.pathsep)
    import stub_vllm

    import emulation

    emulation.install()
    stub_vllm.install_profiler()
    recording = emulation.recorded()
    seen = Path(os.environ["EMULATED_NPU_SEEN"]) / f"{os.getpid()}.json"
    threading.Thread(target=tell, args=(recording.__enter__().operators, seen), daemon=True).start()
