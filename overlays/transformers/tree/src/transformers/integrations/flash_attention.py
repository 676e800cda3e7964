"""Changes to the flash attention interface: Ulysses sequence parallelism and autocast on NPU."""

from npu_overlays.markers import added, edited

from .npu_kernels import autocast_dtype, autocast_enabled
from .ulysses import ulysses_attention


@added(
    why="Up to 4.56.0 FlashAttentionKwargs documented names that attention ignored. Both spellings now work.",
    forwarded="https://github.com/huggingface/transformers/commit/14b89fed24480c68a8363982c91d825bb8bac12d",
    until="5",
)
def _with_current_names(kwargs):
    former = {"cumulative_seqlens_q": "cu_seq_lens_q", "cumulative_seqlens_k": "cu_seq_lens_k"}
    current = {name: value for name, value in kwargs.items() if name not in former}
    for name in kwargs.keys() & former.keys():
        if current.get(former[name]) is None:
            current[former[name]] = kwargs[name]
    return current


@edited(
    (
        "attn_output = _flash_attention_forward(",
        "attn_output = ulysses_attention(\n    _flash_attention_forward, module,",
    ),
    (
        "attn_implementation=module.config._attn_implementation",
        'implementation=kwargs.pop("implementation", module.config._attn_implementation)',
    ),
    ("torch.is_autocast_enabled()", "autocast_enabled(query.device)"),
    ("torch.get_autocast_gpu_dtype()", "autocast_dtype(query.device)"),
    (
        'if hasattr(module, "layer_idx") else None, **kwargs',
        'if hasattr(module, "layer_idx") else None,\n**_with_current_names(kwargs)',
    ),
    uses=[autocast_dtype, autocast_enabled, ulysses_attention],
    why="Ulysses sequence parallelism works without a runtime patch; without a registered group nothing changes. "
    "Attention receives the requested implementation, a kernel from the Hub included, under the name it reads, and "
    "uses the NPU's autocast instead of the GPU's.",
    forwarded="https://github.com/huggingface/transformers/commit/ae60c77689d8e9f4cd765e88047064fa41458ca7",
    until="5",
)
def flash_attention_forward(): ...


@edited(
    (
        "attn_output = _flash_attention_forward(",
        "attn_output = ulysses_attention(\n    _flash_attention_forward, module,",
    ),
    uses=[ulysses_attention],
    why="Ulysses sequence parallelism works without a runtime patch; without a registered group nothing changes.",
    drop_when="verl no longer needs its Ulysses patch",
    since="5",
)
def flash_attention_forward(): ...


@edited(
    ('torch.is_autocast_enabled("cuda")', "autocast_enabled(query.device)"),
    ('torch.get_autocast_dtype("cuda")', "autocast_dtype(query.device)"),
    uses=[autocast_dtype, autocast_enabled],
    why="On NPU, the dtype comes from the NPU's autocast; upstream asks the GPU's.",
    since="5",
    until="5.10",
)
def get_target_dtype(): ...
