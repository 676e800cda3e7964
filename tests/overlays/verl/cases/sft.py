"""Fine-tuning by verl's own trainers, one run after the other: a rank of it, started by `ranks.py`.

The argument is the path of a JSON file: for each run the name of the trainer's module and the trainer's own
arguments. Modules are imported once for all runs. A rank writes a line when a run begins, the trainer its losses, and
then the rank which operators ran. The NPU is there when EMULATED_NPU is 1.

Upstream's trainer is stopped on the CPU by what is moved out of its way in `upstream_on_cpu`; the model, the data and
the training are its own.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  # the emulated NPU comes first

# isort: split
import torch
import torch.distributed as dist
from torchdata.stateful_dataloader import StatefulDataLoader

import emulation

BEGIN, OPERATORS = "run:", "operators:"
OVERLAYS = Path(__file__).parents[4] / "overlays"


def upstream_on_cpu() -> None:
    """Let upstream's trainer run on the CPU, in this process only.

    It names no backend for the CPU, asks for FlashAttention whatever the device, and reports one rank's loss.
    """
    if not importlib.util.find_spec("verl.trainer.fsdp_sft_trainer"):
        _upstreams_platform() if importlib.util.find_spec("verl.plugin") else _upstreams_engine()
        return
    from transformers import AutoModelForCausalLM  # noqa: PLC0415  # only where it is wanted
    from verl.utils import device  # noqa: PLC0415

    load = AutoModelForCausalLM.from_pretrained

    def from_pretrained(*args: Any, **kwargs: Any) -> Any:
        return load(*args, **{**kwargs, "attn_implementation": "sdpa"})

    device.get_nccl_backend = lambda: "gloo"
    AutoModelForCausalLM.from_pretrained = from_pretrained
    trainer = importlib.import_module("verl.trainer.fsdp_sft_trainer")  # the backend comes first
    step = trainer.FSDPSFTTrainer.training_step

    def training_step(self: Any, batch: Any) -> dict[str, Any]:
        result = step(self, batch)
        loss = torch.tensor(result["train/loss"])
        dist.all_reduce(loss)
        return {**result, "train/loss": float(loss) / dist.get_world_size()}

    trainer.FSDPSFTTrainer.training_step = training_step


def _upstreams_engine() -> None:
    """Let upstream's trainer of verl 0.7 run on the CPU: no backend, no engine, and memory to ask for."""
    from verl.utils import attention_utils, device, memory_utils, npu_flash_attn_utils  # noqa: PLC0415  # likewise

    device.get_nccl_backend = lambda: "gloo"
    memory_utils.aggressive_empty_cache = lambda **_: None
    names = ("index_first_axis", "pad_input", "rearrange", "unpad_input")
    functions = tuple(getattr(npu_flash_attn_utils, name) for name in names)
    attention_utils._get_attention_functions = lambda: functions
    engine = importlib.import_module("verl.workers.engine")  # what it imports is changed by now
    engine.EngineRegistry._engines["language_model"]["fsdp2"]["cpu"] = engine.FSDPEngineWithLMHead


def _upstreams_platform() -> None:
    """Let upstream's remaining trainer run on the CPU, for which it has no platform and no engine."""
    os.environ.update(VERL_PLATFORM="cpu", VERL_ENGINE_DEVICE="cuda")
    from verl.plugin.platform import PlatformRegistry, platform_base  # noqa: PLC0415  # only where it is wanted

    file = OVERLAYS / "verl@0.9.1/tree/verl/plugin/platform/platform_cpu.py"
    spec = importlib.util.spec_from_file_location(f"{platform_base.__package__}.platform_cpu", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    PlatformRegistry.register(platform="cpu")(module.PlatformCPU)


def load_data_here() -> None:
    """Let trainers load their data in this process only.

    Upstream forks eight workers for each set, and a process with threads, such as gloo's, may not survive a fork.
    """
    make = StatefulDataLoader.__init__

    def without_workers(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **{**kwargs, "num_workers": 0})

    StatefulDataLoader.__init__ = without_workers


def meet(begin: Callable[..., None], file: str, *args: Any, **kwargs: Any) -> None:
    """Start a world whose ranks meet in a file, whatever the trainer configures."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    place = {"store": dist.FileStore(file, world), "rank": rank, "world_size": world, "init_method": None}
    # Upstream's trainer names the CPU twice where there is nothing else.
    named = {"backend": kwargs["backend"].replace("cpu:gloo,cpu:gloo", "cpu:gloo")} if "backend" in kwargs else {}
    begin(*args, **{**kwargs, **place, **named})


def main(plan: str) -> None:
    """Train as often as the plan says."""
    load_data_here()
    begin = dist.init_process_group
    if not importlib.util.find_spec("verl_npu_summary"):
        upstream_on_cpu()
    for number, (trainer, *arguments) in enumerate(json.loads(Path(plan).read_text("utf-8"))):
        # Ranks meet again in every run, and must not read values of the run before.
        dist.init_process_group = functools.partial(meet, begin, f"{plan}.meeting{number}")
        sys.argv[1:] = arguments
        write(BEGIN, number)
        with emulation.recorded() as recording:
            importlib.import_module(trainer).main()
        write(OPERATORS, json.dumps(recording.operators))


def write(*words: object) -> None:
    """Write a line that the test reads."""
    print(*words, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
