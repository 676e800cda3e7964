"""A vLLM that starts nothing: modules with the names verl imports, and an engine that remembers its arguments."""

from __future__ import annotations

import sys
from typing import Any

import stub_packages
from stub_packages import Anything

VERSION = "0.10.0"


class LLM:
    """An engine: refuses an argument given twice, as any function does, and keeps the others."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments

    def sleep(self, level: int = 1) -> None:
        """Sleep."""


class SamplingParams:
    """Sampling parameters."""

    def __init__(self, **arguments: Any) -> None:
        self.__dict__.update(arguments)


def install() -> None:
    """Let `import vllm` succeed in this process, and let it look installed."""
    known = {"LLM": LLM, "SamplingParams": SamplingParams, "__version__": VERSION}
    stub_packages.install("vllm", {"*": known}, version=VERSION)
    for package in ("zmq", "msgspec", "uvicorn", "fastapi", "starlette"):
        stub_packages.install(package)


def install_profiler() -> None:
    """Let verl's profiler import what it wants of torch_npu; the emulated one has operators only."""
    sys.modules["torch_npu"].__path__ = []
    for name in ("npu", "profiler"):
        sys.modules[f"torch_npu.{name}"] = Anything(f"torch_npu.{name}")
