"""Every shipped trainer logs the patch summary once, and is deterministic if requested."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ppo_driver
import pytest
import ray
import stub_megatron
import stub_packages
import stub_vllm
import torch
import verl
from changed import changed
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from verl.utils.npu import determinism, start

# Newer trainers go without an engine that is not installed, and require what they import besides.
if changed("verl/trainer/fsdp_sft_trainer.py", "run_sft"):
    for stub in (stub_megatron, stub_vllm):
        stub.install()
    for package in ("aiohttp", "cachetools", "openai", "sglang", "transfer_queue"):
        stub_packages.install(package)

PACKAGES = Path(verl.__file__).parents[1]
SUMMARY = "= NPU Patch Summary ="
SEED = 7
# verl's release wheel has no recipes.
SHIPPED = [name for name, (_, folder, _) in ppo_driver.TRAINERS.items() if (PACKAGES / folder).is_dir()]
# Second drivers of a run: another trainer logs the summary.
SILENT = {"FullyAsyncRollouter"}


def trainers() -> list[tuple[str, str]]:
    """Return module and name of every class in the installed packages that trains: it has a method ``fit``."""
    found = []
    for file in sorted((*PACKAGES.glob("verl/**/*.py"), *PACKAGES.glob("recipe/**/*.py"))):
        name = ".".join(file.relative_to(PACKAGES).with_suffix("").parts)
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and {"fit", "init_workers"} & {
                getattr(one, "name", "") for one in node.body
            }:
                found.append((name, node.name))
    return found


def configurations() -> list[str]:
    """Return every shipped configuration of a trainer."""
    folders = ("verl/trainer/config", "verl/experimental/*/config", "recipe/*/config")
    files = [file for folder in folders for file in PACKAGES.glob(f"{folder}/*trainer*.yaml")]
    return [str(file.relative_to(PACKAGES)) for file in sorted(files) if not file.name.startswith("_")]


class Stopped(Exception):  # noqa: N818  # not an error: the hook has run by then
    """Raised instead of starting workers."""


def stop(*_: Any, **__: Any) -> None:
    raise Stopped


@pytest.fixture
def own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what a deterministic run does to its process, and let it log as a new process does."""
    for name in ("RANK", determinism.SEED, *determinism.SWITCHES):
        # Set first, so that what the code under test sets is undone as well.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(start, "_logged", [])
    yield
    torch.use_deterministic_algorithms(mode=False)


def begin(module: Any, name: str) -> None:
    """Start training as a trainer's main program does, until it starts workers or joins other ranks."""
    config = OmegaConf.create({"trainer": {"deterministic_seed": SEED}})
    trainer_class = getattr(module, name)
    # Ray's actor class wraps the class.
    trainer_class = getattr(getattr(trainer_class, "__ray_metadata__", None), "modified_class", trainer_class)
    starts = next((one for one in ("init_workers", "init") if hasattr(trainer_class, one)), "")
    if not starts:
        module.run_sft(config)
        return
    # What an abstract trainer leaves to others does not run before it is stopped.
    concrete = type(name, (trainer_class,), {})
    concrete.__abstractmethods__ = frozenset()
    trainer = object.__new__(concrete)
    trainer.config = config
    trainer.resource_pool_manager = SimpleNamespace(create_resource_pool=stop)
    # The first that newer trainers do.
    trainer._setup = trainer._init_async_objects = stop
    started = getattr(trainer, starts)()
    if inspect.isawaitable(started):
        asyncio.run(started)  # type: ignore[arg-type]


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize(("module", "name"), trainers())
def test_every_trainer_logs_the_summary_once_and_makes_its_run_deterministic(
    module: str, name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.distributed, "init_process_group", stop)
    monkeypatch.setattr(ray, "init", stop)
    monkeypatch.setenv("LOCAL_RANK", "0")
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        if "'compute_reward' from 'verl.trainer.ppo.reward'" not in str(error):
            raise
        pytest.skip(f"upstream's release cannot import it: {error}")

    for _ in range(2):
        with caplog.at_level(logging.INFO), pytest.raises(Stopped):
            begin(imported, name)

    assert determinism.requested_seed() == SEED
    assert torch.initial_seed() == SEED
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("verl_npu", "verl.utils.npu"))]
    assert len(ours) == (0 if name in SILENT else 1)
    assert all(SUMMARY in message for message in ours)


@pytest.mark.parametrize("file", configurations())
def test_every_trainers_configuration_has_the_key(file: str) -> None:
    path = PACKAGES / file
    with initialize_config_dir(str(path.parent), version_base=None):
        config = compose(path.stem)

    assert "deterministic_seed" in config.trainer
    assert config.trainer.deterministic_seed is None


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what drivers and workers of PPO and DAPO found and logged on a local Ray cluster."""
    result = tmp_path_factory.mktemp("cluster") / "found.json"
    command = [sys.executable, str(Path(__file__).with_name("ppo_driver.py")), str(result), *SHIPPED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return json.loads(result.read_text("utf-8"))


@pytest.mark.thorough
@pytest.mark.parametrize("trainer", sorted(ppo_driver.TRAINERS))
def test_workers_on_a_cluster_get_seed_and_switches_from_the_driver(cluster: Any, trainer: str) -> None:
    if trainer not in SHIPPED:
        pytest.skip("what this wheel was built from has no recipes")
    workers = cluster["found"][trainer]

    assert [worker["seed"] for worker in workers] == [ppo_driver.SEED + rank for rank in range(ppo_driver.RANKS)]
    for worker in workers:
        wanted = {**determinism.SWITCHES, determinism.SEED: str(ppo_driver.SEED), "EXPANDABLE_SEGMENTS": "True"}
        assert {name: worker["environment"].get(name) for name in wanted} == wanted


@pytest.mark.thorough
def test_on_a_cluster_each_driver_logs_the_summary_once_and_workers_do_not(cluster: Any) -> None:
    counts = sorted(log.count(SUMMARY) for log in cluster["logs"] if SUMMARY in log)

    assert len(cluster["logs"]) > len(counts)
    assert counts == [1] * len(SHIPPED)
