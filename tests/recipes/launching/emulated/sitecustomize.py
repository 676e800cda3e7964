"""The emulated NPU in every process that imports verl: Python imports this by its name when it starts.

It comes when transformers or verl is first imported, which ask once whether there is an NPU: most of Ray's processes
never do that, and torch is much to import.
"""

import os
import sys


def begin() -> None:
    """Put an emulated NPU into this process."""
    sys.path[:0] = os.environ["EMULATED_NPU_FROM"].split(os.pathsep)
    import stub_vllm  # noqa: PLC0415  # found only now, and torch with it

    import emulation  # noqa: PLC0415  # likewise

    emulation.install()
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
