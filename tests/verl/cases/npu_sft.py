"""verl's own fine-tuning on the emulated NPU: a rank of it, started by torchrun; it prints which operators ran.

The first argument names the trainer's module, the others are the trainer's own.
"""

from __future__ import annotations

import importlib
import json
import sys

import conftest  # noqa: F401  # the emulated NPU comes first

# isort: split
import emulation

if __name__ == "__main__":
    trainer = importlib.import_module(sys.argv.pop(1))
    with emulation.recorded() as recording:
        trainer.main()
    print("operators:", json.dumps(recording.operators))  # noqa: T201  # what the test reads
