"""Reasons: which operations one of our own cases proves, and where upstream moved what the case itself calls."""

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
        why: what that commit did.
    """

    cases: str
    says: str = ""
    operation: str = ""
    since: str = ""
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
    "verl/utils/seqlen_balancing.py:rearrange_micro_batches": ("npu: test_emulated.test_no_micro_batch*",),
    "verl/models/transformers/npu_patch.py:*": (
        "npu: test_emulated.test_verl_sees_the_npu*",
        "npu: test_emulated.test_models_compute*",
        "npu: test_actor.*",
        "drivers: test_nothing_patched.*",
    ),
    _ENTER: ("engines: test_switching.*",),
    "verl/workers/rollout/vllm_rollout/vllm_async_server.py:AsyncvLLMServer.init_engine": (
        "engines: test_engines.test_a_servers_engine*",
    ),
}
_ANOTHER = "adds a trainer, on which the overlay has no operation"
_MOVED = (
    Reason(cases="drivers: test_nothing_patched.*", says="tion_forward']", operation=_PATCHING),
    Reason(cases="drivers: test_drivers.*gkd*", since="d8e97e1724e348658c670b9160f1393d4fb20678", why=_ANOTHER),
    Reason(cases="drivers: test_drivers.*vla*", since="3979d2fe7db293f1ff2e2329ab265fc092b39db2", why=_ANOTHER),
    Reason(
        cases="drivers: test_drivers.*configuration*transfer_queue_ppo_megatron*",
        since="09a923ab9d563d839e58375beee74b29a52d7e23",
        why=_ANOTHER,
    ),
    Reason(cases="drivers: test_drivers.*specRL*", since="0e41729676f4fd20f91064f7ab672055d220f4d8", why=_ANOTHER),
    Reason(
        cases="drivers: test_drivers.*sft_trainer_ray*", since="3d77af6ab669da573c79df0d739295ae91d47694", why=_ANOTHER
    ),
    Reason(
        cases="engines: test_engines.test_a_server_refuses*",
        says="vLLMHttpServerBase",
        since="fd8ae6672673c745293a0459799b1823541b0888",
        why="has another server, which the case knows by the name that it got later",
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
            cases=f"engines: {file}*",
            says="vllm_rollout_spmd",
            since="fd893c788dbdb967c6eb62845b09a02e38819ac1",
            why="deletes vLLM's rollout inside workers, which these cases import",
        )
        for file in ("test_engines", "test_switching")
    ),
)
# Each configuration is left to a person by its own name.
_CONFIGURATIONS = tuple(
    Reason(cases=f"drivers: test_drivers.*configuration*{Path(file).name}*", operation=f"recipe/{file}")
    for file in (
        "fully_async_policy/config/fully_async_ppo_megatron_trainer.yaml",
        "fully_async_policy/config/fully_async_ppo_trainer.yaml",
        "one_step_off_policy/config/one_step_off_ppo_megatron_trainer.yaml",
        "one_step_off_policy/config/one_step_off_ppo_trainer.yaml",
        "transfer_queue/config/transfer_queue_ppo_trainer.yaml",
    )
)
_OPERATIONS = tuple(Reason(cases=case, operation=name) for name, cases in _PROOFS.items() for case in cases)
REASONS = (*_OPERATIONS, *_CONFIGURATIONS, *_MOVED)
