"""Sample data: changes.json objects, and the text users already know for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from npu_summary.changes import Changes

Json = dict[str, Any]

COMMITS = {
    "verl": "796871d7d092f7cbc6a64e7f4a3796f7a2217f5e",
    "transformers": "8365f70e9259c21058bf18f876006f945d2a99de",
}

PAIR = {
    "distribution": "transformers-npu",
    "version": "1.0",
    "overlay": "transformers@8365f70",
    "revision": 1,
    "builds": ["1.0+npu.1.g8365f70"],
}

# Written by hand from the incumbent's documentation, to the last character.
KNOWN_TEXT = """\
================================ NPU Patch Summary ==================================

================ verl Patch Summary ================

Upstream: verl 1.0 at 796871d7d092f7cbc6a64e7f4a3796f7a2217f5e, from the commit
Wheel: verl-npu 1.0+npu.1.g796871d, overlay verl@796871d revision 1
Changes: 11 in 5 files
                    added  replaced   updated
   recipe.dapo          -         -         1
   verl.workers         6         4         -
   total                6         4         1

Patch File1: verl.workers.sharding_manager.hybrid_tp_config.py
  (1) Patch class: verl.workers.sharding_manager.hybrid_tp_config.hybrid_tp_config
       Class Changes:
          - added         module_attr         Dict
          - added         module_attr         DictConfig
          - added         module_attr         HybridTPConfig
          - added         module_attr         List
          - added         module_attr         Optional
          - added         module_attr         dataclass

Patch File2: verl.workers.megatron_workers.py
  (1) Patch class: verl.workers.megatron_workers.ActorRolloutRefWorker
       Class Changes:
          - replaced         method         compute_log_prob
          - replaced         method         update_actor

Patch File3: verl.utils.seqlen_balancing.py

Patch File4: verl.workers.rollout.vllm_rollout.vllm_rollout_spmd.py
  (1) Patch class: verl.workers.rollout.vllm_rollout.vllm_rollout_spmd.vLLMRollout
       Class Changes:
          - replaced         method         __init__
          - replaced         method         _init_dp_env

Patch File5: recipe.dapo.dapo_ray_trainer.py
  (1) Patch class: recipe.dapo.dapo_ray_trainer.RayDAPOTrainer

============ verl Patch Summary End ==============

================ transformers Patch Summary ================

Upstream: transformers 1.0 at 8365f70e9259c21058bf18f876006f945d2a99de, from the commit
Wheel: transformers-npu 1.0+npu.1.g8365f70, overlay transformers@8365f70 revision 1
Names: begin with upstream's folder src, which an import leaves out
Changes: 12 in 3 files
                                 added  replaced
   transformers.integrations         5         -
   transformers.models               2         5
   total                             7         5

Patch File1: src.transformers.models.qwen2.modeling_qwen2.py
   Module Changes:
          - added         method         fused_apply_rotary_pos_emb
  (1) Patch class: src.transformers.models.qwen2.modeling_qwen2.Qwen2RMSNorm
       Class Changes:
          - replaced         method         forward
  (2) Patch class: src.transformers.models.qwen2.modeling_qwen2.Qwen2MLP
       Class Changes:
          - replaced         method         forward

Patch File2: src.transformers.models.qwen3_moe.modeling_qwen3_moe.py
   Module Changes:
          - added         method         apply_rotary_pos_emb
  (1) Patch class: src.transformers.models.qwen3_moe.modeling_qwen3_moe.Qwen3MoeSparseMoeBlock
       Class Changes:
          - replaced         method         __init__
  (2) Patch class: src.transformers.models.qwen3_moe.modeling_qwen3_moe.Qwen3MoeRMSNorm
       Class Changes:
          - replaced         method         forward
  (3) Patch class: src.transformers.models.qwen3_moe.modeling_qwen3_moe.Qwen3MoeMLP
       Class Changes:
          - replaced         method         forward

Patch File3: src.transformers.integrations.npu_flash_attention.py
   Module Changes:
          - added         method         unpad_input
          - added         method         _prepare_from_posids
  (1) Patch class: src.transformers.integrations.npu_flash_attention.IndexFirstAxis
  (2) Patch class: src.transformers.integrations.npu_flash_attention.IndexPutFirstAxis
  (3) Patch class: src.transformers.integrations.npu_flash_attention.pad_input

============ transformers Patch Summary End ==============

============================= NPU Patch Summary End==================================
"""


def change(action: str, kind: str, name: str, **more: Any) -> Json:
    operation = {"updated": "edit"}.get(action, action)
    place = {"line": 12, "operation": operation, "overlay": "verl@796871d"}
    reasons = {"why": "measured faster on the NPU", "forwarded": "", "drop_when": ""}
    return {"action": action, "kind": kind, "name": name, **place, **reasons, **more}


def methods(action: str, *names: str, kind: str = "method") -> list[Json]:
    return [change(action, kind, name) for name in names]


def klass(name: str, changes: list[Json], action: str = "updated", **more: Any) -> Json:
    return {"action": action, "name": name, "changes": changes, **more}


def file(path: str, classes: list[Json], module: list[Json], action: str = "updated") -> Json:
    return {
        "path": path,
        "installed": path.removeprefix("src/"),
        "action": action,
        "before": None if action == "added" else "0" * 64,
        "after": None if action == "deleted" else "1" * 64,
        "class_changes": classes,
        "module_changes": module,
    }


def distribution(project: str, files: list[Json], not_applied: list[Json] | None = None) -> Json:
    commit = COMMITS.get(project, "0123456789abcdef0123456789abcdef01234567")
    version = f"1.0+npu.1.g{commit[:7]}"
    pairs = [PAIR] if project == "verl" else []
    return {
        "schema": 1,
        "distribution": {"name": f"{project}-npu", "version": version},
        "purpose": "NPU",
        "upstream": {
            "project": project,
            "version": "1.0",
            "repository": f"https://example.org/{project}",
            "commit": commit,
            "tag": "",
            "source": {"kind": "git"},
            "compared": True,
            "missing": [],
        },
        "overlay": {"name": f"{project}@{commit[:7]}", "revision": 1, "layers": [], "sha256": "2" * 64},
        "requires": [f"{one['distribution']}=={one['version']}" for one in pairs],
        "pairs": pairs,
        "companion": project,
        "not_built": [],
        "files": files,
        "not_applied": not_applied or [],
    }


def verl(attribute: str = "attribute") -> Json:
    """Return verl's part of the known text; there module attributes are named ``module_attr``."""
    names = ("Dict", "DictConfig", "HybridTPConfig", "List", "Optional", "dataclass")
    config = klass("hybrid_tp_config", methods("added", *names, kind=attribute))
    worker = klass("ActorRolloutRefWorker", methods("replaced", "compute_log_prob", "update_actor"))
    rollout = klass("vLLMRollout", methods("replaced", "__init__", "_init_dp_env"))
    return distribution(
        "verl",
        [
            file("verl/workers/sharding_manager/hybrid_tp_config.py", [config], []),
            file("verl/workers/megatron_workers.py", [worker], []),
            file("verl/utils/seqlen_balancing.py", [], []),
            file("verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py", [rollout], []),
            file("recipe/dapo/dapo_ray_trainer.py", [klass("RayDAPOTrainer", [])], []),
        ],
    )


def transformers() -> Json:
    """Return transformers' part of the known text."""
    forward = methods("replaced", "forward")
    moe = [
        klass("Qwen3MoeSparseMoeBlock", methods("replaced", "__init__")),
        klass("Qwen3MoeRMSNorm", forward),
        klass("Qwen3MoeMLP", forward),
    ]
    flash = [klass(name, [], "added") for name in ("IndexFirstAxis", "IndexPutFirstAxis", "pad_input")]
    return distribution(
        "transformers",
        [
            file(
                "src/transformers/models/qwen2/modeling_qwen2.py",
                [klass("Qwen2RMSNorm", forward), klass("Qwen2MLP", forward)],
                methods("added", "fused_apply_rotary_pos_emb"),
            ),
            file(
                "src/transformers/models/qwen3_moe/modeling_qwen3_moe.py",
                moe,
                methods("added", "apply_rotary_pos_emb"),
            ),
            file(
                "src/transformers/integrations/npu_flash_attention.py",
                flash,
                methods("added", "unpad_input", "_prepare_from_posids"),
            ),
        ],
    )


def chinese() -> Json:
    """Return a distribution whose reasons and names leave every narrow encoding."""
    why = "昇腾上更快 – naïve “quotes” 🚀"
    return distribution("verl", [file("verl/x.py", [], [change("added", "method", "größe", why=why)])])


def typed(*samples: Json) -> list[Changes]:
    return [cast("Changes", sample) for sample in samples]
