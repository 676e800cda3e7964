"""Known failures: which operations one of our own cases proves, and where upstream moved what the case itself calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why cases may fail over a port that is none the worse for it.

    Args:
        cases: the pattern of their names.
        says: a part of what they say then.
        operation: what they prove. It is a reason where `port` left it to a person or marked it for one to look at,
            and for none of what it does by itself.
        since: the commit of upstream's that moved what the cases themselves call; a reason from there on.
        added: the file of upstream's that the cases look at. It is a reason where the overlay's own upstream does not
            have it yet, and the port leaves it as it is.
        why: what that commit did, or what that file is.
    """

    cases: str
    says: str = ""
    operation: str = ""
    since: str = ""
    added: str = ""
    why: str = ""


_PATCHING = "verl/models/transformers/monkey_patch.py:apply_monkey_patch"
_SWITCH = "verl/utils/device.py:set_expandable_segments"
_ENTER = "verl/workers/sharding_manager/fsdp_vllm.py:FSDPVLLMShardingManager.__enter__"
_PROOFS = {
    "verl/models/transformers/monkey_patch.py:_ulysses_flash_attention_forward": (
        "cpu: test_distributed.test_ulysses_attention*",
    ),
    _PATCHING: (
        "cpu: test_cpu.test_patching_a_model_assigns*",
        "cpu: test_cpu.test_with_upstreams_transformers_attention*",
        "npu: test_sharded_actor.*sequences-*",
    ),
    _SWITCH: ("npu: test_emulated.*segments*", "engines: test_engines.*segments*", "engines: test_switching.*"),
    "verl/utils/device.py:get_nccl_backend": ("cpu: test_cpu.test_a_cpu_run_uses_gloo",),
    "verl/utils/seqlen_balancing.py:rearrange_micro_batches": (
        "npu: test_emulated.test_no_micro_batch*",
        "npu: test_emulated.test_samples_that_belong_together*",
        "npu: test_emulated.test_without_a_group_no_other_rank*",
    ),
    "verl/models/transformers/npu_patch.py:*": (
        "npu: test_emulated.test_verl_sees_the_npu*",
        "npu: test_emulated.test_models_compute*",
        "npu: test_actor.*",
        "*: test_nothing_patched.*",
    ),
    "verl/workers/engine/fsdp/utils.py:apply_npu_fsdp_patches": (
        "npu: test_emulated.test_verl_sees_the_npu*",
        "*: test_nothing_patched.*",
    ),
    _ENTER: ("engines: test_switching.*",),
    "verl/workers/megatron_workers.py:ActorRolloutRefWorker.update_actor": (
        "engines: test_megatron.test_on_other_devices_the_whole_batch*-update_actor?",
    ),
    "recipe/one_step_off_policy/ray_trainer.py:OneStepOffRayTrainer.init_workers": (
        "*: test_drivers.*-OneStepOffRayTrainer?",
    ),
    "verl/workers/rollout/vllm_rollout/vllm_async_server.py:AsyncvLLMServer.init_engine": (
        "engines: test_engines.test_a_servers_engine*",
    ),
}
_MOVED = (
    Reason(cases="*: test_nothing_patched.*", says="tion_forward']", operation=_PATCHING),
    Reason(
        cases="engines: test_engines.test_a_server_refuses*",
        says="vLLMHttpServerBase",
        since="fd8ae6672673c745293a0459799b1823541b0888",
        why="has another server, which the case knows by the name that it got later",
    ),
    Reason(
        cases="cpu: test_distributed.*",
        # pytest leaves out what stands before.
        says="UDA enabled",
        since="7a457c934af40986c8dfcbffcc71c4e11259a6e8",
        why="takes a machine that has no accelerator for one with CUDA, unless VERL_PLATFORM says otherwise",
    ),
    Reason(
        cases="*: test_drivers.*-RobRaySACTrainer?",
        since="0d1100dddb2ada236d0811fbb23c5a8a4d9e69cb",
        why="lets a trainer be imported, on which the overlay has no operation",
    ),
    Reason(
        cases="npu: test_emulated.test_verl_sees_the_npu*",
        says="npu_patch",
        since="d643921a8388cb85b175e1f099e434da73ce4376",
        why="imports verl's patches for NPU, which the overlay has emptied, where an engine is made",
    ),
    Reason(
        cases="engines: test_mindspeed.test_nothing_calls_repatch*",
        says="engine_wor",
        since="b20e1c879bc66fcc7809cd8061ad01d850e0f808",
        why="calls MindSpeed's `repatch` in another place, on which the overlay has no operation",
    ),
    *(
        Reason(
            cases="engines: test_mindspeed.test_nothing_calls_repatch*",
            says=f"('{file}', 'repatch') != ('mindspeed.py', 'repatch') Left contains one more item",
            added=f"verl/workers/engine/mindspeed/{file}",
            why="calls MindSpeed's `repatch`, too, and is new; the overlay has no operation on it",
        )
        for file in ("transformer_impl.py", "utils.py")
    ),
    *(
        Reason(
            cases=f"engines: {file}*",
            says="vllm_rollout_spmd",
            since="fd893c788dbdb967c6eb62845b09a02e38819ac1",
            why="deletes vLLM's rollout inside workers, which these cases import",
        )
        for file in ("test_engines", "test_switching")
    ),
)
# Upstream makes a dataclass of these keys by then, which has none that the overlay adds to them.
_SETTINGS = tuple(
    Reason(
        cases=f"engines: test_engines.{case}*",
        says="got an unexpected keyword argument",
        operation="verl/trainer/config/rollout/rollout.yaml",
    )
    for case in (
        "test_a_server_refuses",
        "test_data_parallel_engines",
        "test_off_the_npu_only",
        "test_settings_that_cannot_work",
    )
)
# Each configuration is left to a person by its own name.
_CONFIGURATIONS = tuple(
    Reason(cases=f"*: test_drivers.*configuration*{Path(file).name}*", operation=f"recipe/{file}")
    for file in (
        "fully_async_policy/config/fully_async_ppo_megatron_trainer.yaml",
        "fully_async_policy/config/fully_async_ppo_trainer.yaml",
        "one_step_off_policy/config/one_step_off_ppo_megatron_trainer.yaml",
        "one_step_off_policy/config/one_step_off_ppo_trainer.yaml",
        "transfer_queue/config/transfer_queue_ppo_trainer.yaml",
    )
)


def _case_of(file: str) -> str:
    """Return how cases are named that look at a trainer, which is by its module, or at a configuration."""
    named = f"{file.removesuffix('.py').replace('/', '.')}-*" if file.endswith(".py") else f"{file}?"
    return f"*: test_drivers.*?{named}"


_TRAINERS = tuple(
    Reason(
        cases=_case_of(file),
        added=file,
        why="is a new trainer, on which the overlay has no operation",
    )
    for file in (
        "recipe/dapo/config/dapo_megatron_trainer.yaml",
        "recipe/gkd/config/on_policy_distill_trainer.yaml",
        "recipe/gkd/ray_trainer.py",
        "recipe/specRL/config/specRL_trainer.yaml",
        "recipe/specRL/ray_trainer.py",
        "recipe/transfer_queue/config/transfer_queue_ppo_megatron_trainer.yaml",
        "recipe/vla/config/rob_ppo_trainer.yaml",
        "recipe/vla/rob_ray_trainer.py",
        "verl/experimental/transfer_queue/config/transfer_queue_ppo_megatron_trainer.yaml",
        "verl/experimental/vla/config/rob_ppo_trainer.yaml",
        "verl/experimental/vla/config/rob_sac_trainer.yaml",
        "verl/experimental/vla/rob_ray_trainer.py",
        "verl/experimental/vla/sac/sac_ray_trainer.py",
        "verl/trainer/config/diffusion_trainer.yaml",
        "verl/trainer/config/sft_trainer_engine.yaml",
        "verl/trainer/diffusion/ray_diffusion_trainer.py",
        "verl/trainer/main_ppo_sync.py",
        "verl/trainer/ppo/v1/trainer_base.py",
        "verl/trainer/sft_trainer.py",
        "verl/trainer/sft_trainer_ray.py",
    )
)
_OPERATIONS = tuple(Reason(cases=case, operation=name) for name, cases in _PROOFS.items() for case in cases)
REASONS = (*_OPERATIONS, *_CONFIGURATIONS, *_SETTINGS, *_TRAINERS, *_MOVED)
