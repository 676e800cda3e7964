"""The attention with which FSDP workers load models: that of the configuration, or the device's default."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import actor as tiny
import pytest
import stub_vllm
import torch
import transformers
from omegaconf import OmegaConf

# Between two releases, upstream's module of these workers imports vLLM.
UPSTREAM = map(Path, os.environ["UPSTREAM_PACKAGES"].split(os.pathsep))
WORKERS = [file for folder in UPSTREAM if (file := folder / "verl/workers/fsdp_workers.py").is_file()]
if any("\nfrom verl.third_party.vllm import " in file.read_text("utf-8") for file in WORKERS):
    stub_vllm.install()

from verl.utils.model import load_valuehead_model  # noqa: E402  # vLLM comes first

if WORKERS:
    from verl.workers import fsdp_workers
imported = [fsdp_workers] if WORKERS else []
of_workers = pytest.mark.skipif(not WORKERS, reason="upstream has no FSDP workers any more")
pytestmark = pytest.mark.usefixtures("world")


class Stopped(Exception):  # noqa: N818  # not an error: the model would be loaded now
    """Raised instead of loading a model."""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the folder of a tiny value model; its tokenizer has no words."""
    tokens = SimpleNamespace(bos_token_id=0, eos_token_id=1, pad_token_id=2)
    for name in ("hf_tokenizer", "hf_processor"):
        monkeypatch.setattr(f"verl.utils.{name}", lambda *_, **__: tokens)
        for module in imported:
            monkeypatch.setattr(module, name, lambda *_, **__: tokens, raising=False)
    for module in imported:
        monkeypatch.setattr(module, "get_generation_config", lambda *_, **__: None, raising=False)
    config = transformers.Qwen2Config(**tiny.SIZES, num_labels=1)
    transformers.Qwen2ForTokenClassification(config).save_pretrained(tmp_path)
    return str(tmp_path)


def worker_of(worker_class: Any, path: str) -> Any:
    worker = object.__new__(worker_class)
    flags = {"_is_actor": True, "_is_lora": False, "_rank": 1, "device_mesh": None, "ulysses_sequence_parallel_size": 1}
    worker.__dict__.update(flags, config=OmegaConf.create({"model": {"path": path, "tokenizer_path": path}}))
    return worker


@of_workers
@pytest.mark.parametrize(("configured", "expected"), [({"attn_implementation": "eager"}, "eager"), ({}, "sdpa")])
def test_the_actor_is_loaded_with_the_configured_attention(
    model: str, configured: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def load(**options: Any) -> None:
        found.append(options["config"]._attn_implementation)
        raise Stopped

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", load)
    worker = worker_of(fsdp_workers.ActorRolloutRefWorker, model)

    with pytest.raises(Stopped):
        worker._build_model_optimizer(model, OmegaConf.create({}), None, configured)

    assert found == [expected]


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_value_model_runs_the_attention_of_its_configuration(model: str, attention: str) -> None:
    config = transformers.AutoConfig.from_pretrained(model, attn_implementation=attention)

    loaded = load_valuehead_model(model, torch.float32, config, trust_remote_code=False)

    assert loaded.config._attn_implementation == attention


@of_workers
@pytest.mark.parametrize(("configured", "expected"), [({"attn_implementation": "eager"}, "eager"), ({}, "sdpa")])
def test_the_critic_is_loaded_with_the_configured_attention(
    model: str, configured: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def load(_path: str, _dtype: Any, config: Any, *_: Any) -> None:
        found.append(config._attn_implementation)
        raise Stopped

    monkeypatch.setattr("verl.utils.model.load_valuehead_model", load)
    worker = worker_of(fsdp_workers.CriticWorker, model)
    paths = {"path": model, "tokenizer_path": model}
    worker.config = OmegaConf.create({"model": {**paths, "override_config": configured, "fsdp_config": {}}})

    with pytest.raises(Stopped):
        worker._build_critic_model_optimizer(worker.config)

    assert found == [expected]
