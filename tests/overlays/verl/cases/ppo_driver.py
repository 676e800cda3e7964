"""Drivers of PPO and DAPO on a local Ray cluster, until training would start; prints what their workers found.

Trainers, worker groups and the base class of workers are verl's; the worker
itself holds no model. Run as a script with the path of a file and names of
`TRAINERS`, it writes JSON to the file.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ray
import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from verl.single_controller.base import Worker
from verl.single_controller.base.decorator import Dispatch, register

SEED, RANKS = 7, 2
# Trainer, the folder of its configuration, and the configuration's name.
TRAINERS = {
    "ppo": ("verl.trainer.ppo.ray_trainer:RayPPOTrainer", "verl/trainer/config", "ppo_trainer"),
    "dapo": ("recipe.dapo.dapo_ray_trainer:RayDAPOTrainer", "recipe/dapo/config", "dapo_trainer"),
}
OVERRIDES = (
    "algorithm.adv_estimator=grpo",
    "actor_rollout_ref.model.path=none",
    "actor_rollout_ref.rollout.name=vllm",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1",
    "data.train_batch_size=8",
    "actor_rollout_ref.actor.ppo_mini_batch_size=8",
    "trainer.nnodes=1",
    f"trainer.n_gpus_per_node={RANKS}",
    f"trainer.deterministic_seed={SEED}",
)


class EmptyWorker(Worker):  # type: ignore[misc]  # verl is not typed
    """A worker without a model; instead of building one, it reports its environment."""

    def __init__(self, config: Any, role: str, **_: Any) -> None:  # noqa: ARG002  # what verl gives every worker
        super().__init__()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def init_model(self) -> None:
        """Build nothing."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def found(self) -> dict[str, Any]:
        """Return the process' seed, and its environment."""
        return {"seed": torch.initial_seed(), "environment": dict(os.environ)}


class Stopped(Exception):  # noqa: N818  # not an error: the workers are there by then
    """Raised instead of starting servers."""


def _stop(*_: Any, **__: Any) -> None:
    raise Stopped


@ray.remote(num_cpus=1)
class Driver:
    """Stands for verl's TaskRunner, which is an actor as well: it builds the trainer and its workers."""

    def run(self, which: str) -> list[dict[str, Any]]:
        """Return what every worker found; what the user sets, only this process has."""
        os.environ["EXPANDABLE_SEGMENTS"] = "True"
        trainer = trainer_of(which)
        ppo = importlib.import_module("verl.trainer.ppo.ray_trainer")
        if hasattr(ppo, "LLMServerManager"):
            # Servers are started when the workers are there, and there is no engine for them.
            ppo.LLMServerManager = SimpleNamespace(create=_stop)
        with contextlib.suppress(Stopped, NotImplementedError):
            trainer.init_workers()
        found: list[dict[str, Any]] = trainer.actor_rollout_wg.found()
        return found


class NoServers:
    """Stands for the manager of rollouts, which the driver starts when its workers are there: here nothing follows."""

    @classmethod
    def create(cls, **_: Any) -> None:
        """Stop the driver."""
        raise NotImplementedError


def trainer_of(which: str) -> Any:
    """Return a trainer as its main program makes it, but for the data, which nothing here reads."""
    name, folder, config_name = TRAINERS[which]
    module, _, symbol = name.partition(":")
    packages = Path(importlib.import_module("verl").__file__ or "").parents[1]
    with initialize_config_dir(str(packages / folder), version_base=None):
        config = compose(config_name, overrides=list(OVERRIDES))
    ppo = importlib.import_module("verl.trainer.ppo.ray_trainer")
    if hasattr(ppo, "load_class_from_fqn") and not hasattr(ppo, "LLMServerManager"):
        key = "actor_rollout_ref.rollout.agent.agent_loop_manager_class"
        OmegaConf.update(config, key, f"{Path(__file__).stem}.{NoServers.__name__}", force_add=True)
    # Pools of one cluster have names of their own.
    pool = ppo.ResourcePoolManager({which: [RANKS]}, {ppo.Role.ActorRollout: which})
    data: Any = [{"input_ids": torch.zeros(1)}] * 16
    return getattr(importlib.import_module(module), symbol)(
        config=config,
        tokenizer=None,
        role_worker_mapping={ppo.Role.ActorRollout: ray.remote(EmptyWorker)},
        resource_pool_manager=pool,
        train_dataset=data,
        val_dataset=data,
        collate_fn=list,
        train_sampler=torch.utils.data.SequentialSampler(data),
    )


if __name__ == "__main__":
    # Ray's sockets lie below this folder, and their paths must be short.
    with tempfile.TemporaryDirectory(prefix="ray") as folder:
        # These devices are numbers only. None is used twice, since workers give them back when they please.
        chosen = sys.argv[2:]
        devices = RANKS * len(chosen)
        ray.init(num_cpus=8, num_gpus=devices, include_dashboard=False, _temp_dir=folder, log_to_driver=False)
        drivers = {which: Driver.remote() for which in chosen}
        found = {which: ray.get(driver.run.remote(which)) for which, driver in drivers.items()}
        ray.shutdown()
        logs = [file.read_text("utf-8", "replace") for file in Path(folder).rglob("logs/worker-*.*")]
        Path(sys.argv[1]).write_text(json.dumps({"found": found, "logs": logs}), "utf-8")
