"""The emulated NPU in every process that imports verl: Python imports this by its name when it starts.

It comes when transformers or verl is first imported, which ask once whether there is an NPU: most of Ray's processes
never do that, and torch is much to import.

Each process writes what it ran into a file of its own below EMULATED_NPU_RAN, an operator a line, when it first runs:
Ray ends its workers without letting them say anything.
"""

import os
import sys
from collections import Counter
from pathlib import Path

# A recording that nobody holds is closed.
OPEN: list[object] = []


class NamedCounter(Counter):
    """Counts, and writes down what is counted for the first time."""

    def __missing__(self, name: str) -> int:
        """Write a new name into the file of this process."""
        with Path(os.environ["EMULATED_NPU_RAN"], str(os.getpid())).open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
        return 0


def begin() -> None:
    """Put an emulated NPU into this process."""
    sys.path[:0] = os.environ["EMULATED_NPU_FROM"].split(os.pathsep)
    import stub_vllm  # noqa: PLC0415  # found only now, and torch with it

    import emulation  # noqa: PLC0415  # likewise

    emulation.install()
    recording = emulation.recorded()
    recording.__enter__().operators = NamedCounter()
    OPEN.append(recording)
    stub_vllm.install_profiler()


class Waiting:
    """Finds nothing, but sees what is asked for."""

    def find_spec(self, name: str, *_: object) -> None:
        """Begin where one of those that ask for an NPU is to be imported."""
        if name in ("transformers", "verl") and self in sys.meta_path:
            sys.meta_path.remove(self)
            begin()


if os.environ.get("EMULATED_NPU") == "1":
    sys.meta_path.insert(0, Waiting())
