"""Rotary position embeddings as one NPU operator."""

import torch
from transformers.integrations.npu_kernels import (
    can_use_rotary,
    can_use_rotary_pairs,
    npu_rotary,
    npu_rotary_pairs,
    on_npu,
    rotated,
    rotated_pairs,
)

from npu_overlays.markers import edited, like, upstream, wrapped


@wrapped(
    targets=like(
        "src/transformers/models/llama/modeling_llama.py:apply_rotary_pos_emb",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator replaces five for queries, and one for keys; elsewhere upstream's code runs.",
    accept=("seed: SeedOss is the name of a model.",),
    until="5",
)
def apply_rotary_pos_emb(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
    if on_npu(q):
        tables = (cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim))
        if can_use_rotary(q, *tables) and can_use_rotary(k, *tables):
            return npu_rotary(q, *tables), npu_rotary(k, *tables)
    return upstream(q, k, cos, sin, position_ids, unsqueeze_dim)


@wrapped(
    targets=like(
        "src/transformers/models/llama/modeling_llama.py:apply_rotary_pos_emb",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator replaces five for queries, and one for keys; elsewhere upstream's code runs.",
    accept=("seed: SeedOss is the name of a model.",),
    since="5",
)
def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    if on_npu(q):
        tables = (cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim))
        if can_use_rotary(q, *tables) and can_use_rotary(k, *tables):
            return npu_rotary(q, *tables), npu_rotary(k, *tables)
    return upstream(q, k, cos, sin, unsqueeze_dim)


@edited(
    ("(q * cos) + (rotate_half(q) * sin)", "rotated(q, cos, sin, rotate_half)"),
    ("(k * cos) + (rotate_half(k) * sin)", "rotated(k, cos, sin, rotate_half)"),
    targets=[
        like(
            "src/transformers/models/nemotron/modeling_nemotron.py:apply_rotary_pos_emb",
            "src/transformers/models/olmo2/modeling_olmo2.py:apply_rotary_pos_emb",
            "src/transformers/models/qwen2_vl/modeling_qwen2_vl.py:apply_rotary_pos_emb_vision",
            within="src/transformers/models/*/modeling_*.py",
        ),
        like(
            "src/transformers/models/qwen2_vl/modeling_qwen2_vl.py:apply_multimodal_rotary_pos_emb",
            within="src/transformers/models/*/modeling_*.py",
            until="5.17",
        ),
        like(
            "src/transformers/models/deepseek_v3/modeling_deepseek_v3.py:apply_rotary_pos_emb_interleave",
            within="src/transformers/models/*/modeling_*.py",
            until="5.11",
        ),
    ],
    uses=[rotated],
    why="On NPU, one fused operator replaces five, on inputs that upstream has prepared; elsewhere upstream's code "
    "runs.",
)
def rotate_query_and_key(): ...


@edited(
    ("(q_rot * cos) + (rotate_half(q_rot) * sin)", "rotated(q_rot, cos, sin, rotate_half)"),
    ("(k_rot * cos) + (rotate_half(k_rot) * sin)", "rotated(k_rot, cos, sin, rotate_half)"),
    targets=[
        like(
            "src/transformers/models/phi3/modeling_phi3.py:apply_rotary_pos_emb",
            within="src/transformers/models/*/modeling_*.py",
        ),
        like(
            "src/transformers/models/qwen3_next/modeling_qwen3_next.py:apply_rotary_pos_emb",
            within="src/transformers/models/*/modeling_*.py",
            since="4.57",
        ),
    ],
    why="On NPU, one fused operator replaces five, on the rotated part of each head; elsewhere upstream's code runs.",
)
def rotate_part_of_query_and_key(): ...


@edited(
    (
        "(q.float() * cos) + (rotate_half(q.float()) * sin)",
        (
            "npu_rotary(q.float(), cos, sin) if can_use_rotary(q, cos, sin) "
            "else (q.float() * cos) + (rotate_half(q.float()) * sin)"
        ),
    ),
    (
        "(k.float() * cos) + (rotate_half(k.float()) * sin)",
        (
            "npu_rotary(k.float(), cos, sin) if can_use_rotary(k, cos, sin) "
            "else (k.float() * cos) + (rotate_half(k.float()) * sin)"
        ),
    ),
    targets=like(
        "src/transformers/models/modernbert/modeling_modernbert.py:apply_rotary_pos_emb",
        within="src/transformers/models/*/modeling_*.py",
    ),
    since="5",
    why="On NPU, one fused operator replaces five, on inputs that upstream has prepared; elsewhere upstream's code "
    "runs.",
)
def rotate_query_and_key(): ...


@edited(
    ("(x * cos) + (rotate_half(x) * sin)", "rotated(x, cos, sin, rotate_half)"),
    targets=[
        like(
            "src/transformers/models/gemma3n/modeling_gemma3n.py:apply_rotary_pos_emb",
            within="src/transformers/models/*/modeling_*.py",
        ),
        like(
            "src/transformers/models/glm_moe_dsa/modeling_glm_moe_dsa.py:apply_rotary_pos_emb",
            within="src/transformers/models/*/modeling_*.py",
            since="5.5",
            until="5.11",
        ),
    ],
    why="On NPU, one fused operator replaces five; elsewhere upstream's code runs.",
)
def rotate_states(): ...


@edited(
    ("(q * cos) + (rotate_half(q) * sin)", "rotated_pairs(q, cos, sin, rotate_half)"),
    ("(k * cos) + (rotate_half(k) * sin)", "rotated_pairs(k, cos, sin, rotate_half)"),
    targets=like(
        "src/transformers/models/cohere/modeling_cohere.py:apply_rotary_pos_emb",
        "src/transformers/models/helium/modeling_helium.py:apply_rotary_pos_emb",
        within="src/transformers/models/*/modeling_*.py",
    ),
    uses=[rotated_pairs],
    why="On NPU, one fused operator that rotates neighbouring pairs replaces five; elsewhere upstream's code runs.",
)
def rotate_query_and_key(): ...


@edited(
    (
        "(q.float() * cos) + (rotate_half(q).float() * sin)",
        (
            "npu_rotary_pairs(q.float(), cos, sin) if can_use_rotary_pairs(q, cos, sin) "
            "else (q.float() * cos) + (rotate_half(q).float() * sin)"
        ),
    ),
    (
        "(k.float() * cos) + (rotate_half(k).float() * sin)",
        (
            "npu_rotary_pairs(k.float(), cos, sin) if can_use_rotary_pairs(k, cos, sin) "
            "else (k.float() * cos) + (rotate_half(k).float() * sin)"
        ),
    ),
    targets=like(
        "src/transformers/models/ernie4_5/modeling_ernie4_5.py:apply_rotary_pos_emb",
        within="src/transformers/models/*/modeling_*.py",
    ),
    uses=[can_use_rotary_pairs, npu_rotary_pairs],
    why="On NPU, one fused operator that rotates neighbouring pairs replaces five; elsewhere upstream's code runs.",
)
def rotate_query_and_key(): ...


@edited(
    ("(q_rot * cos) + (rotate_half(q_rot) * sin)", "rotated_pairs(q_rot, cos, sin, rotate_half)"),
    ("(k_rot * cos) + (rotate_half(k_rot) * sin)", "rotated_pairs(k_rot, cos, sin, rotate_half)"),
    targets=like(
        "src/transformers/models/glm/modeling_glm.py:apply_rotary_pos_emb",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator that rotates neighbouring pairs replaces five; elsewhere upstream's code runs.",
)
def rotate_part_of_query_and_key(): ...


@edited(
    ("(q_rot * cos) + (rotate_half_llm(q_rot) * sin)", "rotated_pairs(q_rot, cos, sin, rotate_half_llm)"),
    ("(k_rot * cos) + (rotate_half_llm(k_rot) * sin)", "rotated_pairs(k_rot, cos, sin, rotate_half_llm)"),
    targets=[
        like(
            "src/transformers/models/glm4v/modeling_glm4v.py:apply_multimodal_rotary_pos_emb",
            within="src/transformers/models/*/modeling_*.py",
            until="5",
        ),
        like(
            "src/transformers/models/glm4v/modeling_glm4v.py:apply_rotary_pos_emb",
            within="src/transformers/models/*/modeling_*.py",
            since="5",
        ),
    ],
    why="On NPU, one fused operator that rotates neighbouring pairs replaces five; elsewhere upstream's code runs.",
)
def rotate_part_of_query_and_key(): ...


@wrapped(
    targets=like(
        "src/transformers/models/deepseek_v3/modeling_deepseek_v3.py:apply_rotary_pos_emb_interleave",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, pairs are reordered into halves and one fused operator replaces seven; elsewhere upstream's code "
    "runs.",
    since="5.11",
)
def apply_rotary_pos_emb_interleave(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
    if on_npu(q):
        # Both halves of each table are equal; upstream reads the first.
        halves = (cos.chunk(2, dim=-1)[0], sin.chunk(2, dim=-1)[0])
        tables = [torch.cat((half, half), dim=-1).unsqueeze(unsqueeze_dim) for half in halves]
        if can_use_rotary(q, *tables) and can_use_rotary(k, *tables):
            q, k = (torch.cat((one[..., 0::2], one[..., 1::2]), dim=-1) for one in (q, k))
            return npu_rotary(q, *tables), npu_rotary(k, *tables)
    return upstream(q, k, cos, sin, position_ids, unsqueeze_dim)
