"""Configuration of the cases: an emulated NPU if requested, and a record of its allocator's calls."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[4] / "lab")]

if os.environ.get("EMULATED_NPU") == "1":
    import stub_vllm

    import emulation

    # Must precede the first import of transformers or verl, which look for an NPU once.
    emulation.install()
    stub_vllm.install_profiler()

torch.set_num_threads(1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the cases that another process runs."""
    other = "on_cpu" if os.environ.get("EMULATED_NPU") == "1" else "on_npu"
    left = [item for item in items if item.get_closest_marker(other)]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)


@pytest.fixture(scope="module")
def world() -> Iterator[None]:
    """Make this process a world of one rank."""
    import actor  # noqa: PLC0415  # the emulated NPU comes first

    os.environ["RANK"] = "0"
    actor.start()
    yield
    torch.distributed.destroy_process_group()


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return, in order, what the NPU's allocator is asked for; the user wants expandable segments.

    Tests add to it what else must come before or after.
    """
    events: list[str] = []
    memory = type(sys)("torch.npu.memory")
    memory.__dict__["_set_allocator_settings"] = events.append
    monkeypatch.setattr(torch.npu, "memory", memory, raising=False)
    monkeypatch.setattr(torch.npu, "empty_cache", lambda: events.append("empty cache"))
    monkeypatch.setenv("EXPANDABLE_SEGMENTS", "True")
    for name in ("PYTORCH_NPU_ALLOC_CONF", "VERL_NPU_ORIGINAL_ALLOC_CONF"):
        # Set first, so that what the code under test sets is undone as well.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return events
