"""A vLLM that starts nothing: modules with the names verl imports, and an engine that remembers its arguments."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

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


def _accept(*_: Any, **__: Any) -> None:
    """Take whatever is given."""


class Anything(types.ModuleType):
    """A module that has every name: each is a class."""

    __path__: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = {"LLM": LLM, "SamplingParams": SamplingParams}.get(name) or type(name, (), {"__init__": _accept})
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:  # noqa: ARG002  # the protocol
        known = name.partition(".")[0] in ("vllm", "zmq", "msgspec", "uvicorn", "fastapi")
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec: Any) -> Any:
        module = Anything(spec.name)
        module.__dict__["__version__"] = VERSION
        return module

    def exec_module(self, module: Any) -> None:
        """Nothing to execute."""


def install() -> None:
    """Let `import vllm` succeed in this process, and let it look installed."""
    sys.meta_path.append(_Finder())
    metadata = Path(tempfile.mkdtemp()) / f"vllm-{VERSION}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}\n")
    sys.path.append(str(metadata.parent))


def install_profiler() -> None:
    """Let verl's profiler import what it wants of torch_npu; the emulated one has operators only."""
    sys.modules["torch_npu"].__path__ = []
    for name in ("npu", "profiler"):
        sys.modules[f"torch_npu.{name}"] = Anything(f"torch_npu.{name}")
