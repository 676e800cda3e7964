"""Rotary position embeddings in one NPU operator."""

import torch
from transformers.integrations.npu_kernels import can_use_rotary, npu_rotary, on_npu

from npu_overlays.markers import edited, like, upstream, wrapped


@wrapped(
    targets=like(
        "src/transformers/models/llama/modeling_llama.py:apply_rotary_pos_emb",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU one fused operator instead of five, for queries and for keys; elsewhere unchanged.",
    accept=("seed: SeedOss is a model.",),
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
    why="On NPU one fused operator instead of five, for queries and for keys; elsewhere unchanged.",
    accept=("seed: SeedOss is a model.",),
    since="5",
)
def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    if on_npu(q):
        tables = (cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim))
        if can_use_rotary(q, *tables) and can_use_rotary(k, *tables):
            return npu_rotary(q, *tables), npu_rotary(k, *tables)
    return upstream(q, k, cos, sin, unsqueeze_dim)


@edited(
    (
        "(q * cos) + (rotate_half(q) * sin)",
        "npu_rotary(q, cos, sin) if can_use_rotary(q, cos, sin) else (q * cos) + (rotate_half(q) * sin)",
    ),
    (
        "(k * cos) + (rotate_half(k) * sin)",
        "npu_rotary(k, cos, sin) if can_use_rotary(k, cos, sin) else (k * cos) + (rotate_half(k) * sin)",
    ),
    targets=like(
        "src/transformers/models/qwen2_vl/modeling_qwen2_vl.py:apply_multimodal_rotary_pos_emb",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU one fused operator instead of five, on the tables the function has prepared; elsewhere unchanged.",
    until="5.17",
)
def rotate_query_and_key(): ...


@edited(
    (
        "(q * cos) + (rotate_half(q) * sin)",
        "npu_rotary(q, cos, sin) if can_use_rotary(q, cos, sin) else (q * cos) + (rotate_half(q) * sin)",
    ),
    (
        "(k * cos) + (rotate_half(k) * sin)",
        "npu_rotary(k, cos, sin) if can_use_rotary(k, cos, sin) else (k * cos) + (rotate_half(k) * sin)",
    ),
    targets=like(
        "src/transformers/models/qwen2_vl/modeling_qwen2_vl.py:apply_rotary_pos_emb_vision",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU one fused operator instead of five, on the tables the function has prepared; elsewhere unchanged.",
)
def rotate_query_and_key(): ...


@edited(
    (
        "(q * cos) + (rotate_half(q) * sin)",
        "npu_rotary(q, cos, sin) if can_use_rotary(q, cos, sin) else (q * cos) + (rotate_half(q) * sin)",
    ),
    (
        "(k * cos) + (rotate_half(k) * sin)",
        "npu_rotary(k, cos, sin) if can_use_rotary(k, cos, sin) else (k * cos) + (rotate_half(k) * sin)",
    ),
    targets=like(
        "src/transformers/models/deepseek_v3/modeling_deepseek_v3.py:apply_rotary_pos_emb_interleave",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU one fused operator instead of five, once the function has put the halves side by side; elsewhere "
    "unchanged.",
    until="5.11",
)
def rotate_query_and_key(): ...


@wrapped(
    targets=like(
        "src/transformers/models/deepseek_v3/modeling_deepseek_v3.py:apply_rotary_pos_emb_interleave",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU one fused operator instead of seven, once the halves stand side by side; elsewhere unchanged.",
    since="5.11",
)
def apply_rotary_pos_emb_interleave(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
    if on_npu(q):
        # Upstream reads the first half of either table, which is the second as well.
        halves = (cos.chunk(2, dim=-1)[0], sin.chunk(2, dim=-1)[0])
        tables = [torch.cat((half, half), dim=-1).unsqueeze(unsqueeze_dim) for half in halves]
        if can_use_rotary(q, *tables) and can_use_rotary(k, *tables):
            q, k = (torch.cat((one[..., 0::2], one[..., 1::2]), dim=-1) for one in (q, k))
            return npu_rotary(q, *tables), npu_rotary(k, *tables)
    return upstream(q, k, cos, sin, position_ids, unsqueeze_dim)


@edited(
    (
        "(q * cos) + (rotate_half(q) * sin)",
        "npu_rotary(q, cos, sin) if can_use_rotary(q, cos, sin) else (q * cos) + (rotate_half(q) * sin)",
    ),
    (
        "(k * cos) + (rotate_half(k) * sin)",
        "npu_rotary(k, cos, sin) if can_use_rotary(k, cos, sin) else (k * cos) + (rotate_half(k) * sin)",
    ),
    targets=like(
        "src/transformers/models/olmo2/modeling_olmo2.py:apply_rotary_pos_emb",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU one fused operator instead of five, before the function goes back to the dtype it was given; elsewhere "
    "unchanged.",
)
def rotate_query_and_key(): ...


@edited(
    (
        "(q_rot * cos) + (rotate_half(q_rot) * sin)",
        (
            "npu_rotary(q_rot, cos, sin) if can_use_rotary(q_rot, cos, sin) "
            "else (q_rot * cos) + (rotate_half(q_rot) * sin)"
        ),
    ),
    (
        "(k_rot * cos) + (rotate_half(k_rot) * sin)",
        (
            "npu_rotary(k_rot, cos, sin) if can_use_rotary(k_rot, cos, sin) "
            "else (k_rot * cos) + (rotate_half(k_rot) * sin)"
        ),
    ),
    targets=like(
        "src/transformers/models/qwen3_next/modeling_qwen3_next.py:apply_rotary_pos_emb",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU one fused operator instead of five, on the part of each head that is rotated; elsewhere unchanged.",
    since="4.57",
)
def rotate_part_of_query_and_key(): ...
