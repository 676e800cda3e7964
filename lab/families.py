"""Families: every text and vision-language model of the installed transformers → a tiny one, run forward and backward.

A configuration is upstream's default with its sizes made small, by the names they have in all families. What cannot be
built that way, or does not run on text alone, is listed with the error.

usage: python families.py FOLDER [--emulated] [FAMILY ...]     FOLDER/FAMILY.pt, or FOLDER/FAMILY.txt with the error
"""

from __future__ import annotations

import argparse
import inspect
import multiprocessing
import re
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

_HIDDEN, _VOCABULARY, _LENGTH, _PADDED = 32, 99, 12, 3
_SECONDS = 600
# The size that every option of a configuration has whose name fits; the first that does counts.
_SIZES: tuple[tuple[str, int], ...] = (
    (r"hidden_size|d_model|n_embd|n_embed|((\w+_)?embed|emb|hidden)_dim|dim|width|lru_width|out_hidden_size", _HIDDEN),
    (r"embedding_size|embedding_dim|projection_dim|word_embed_proj_dim|(attention|decoder)_hidden_size", _HIDDEN),
    (r"(moe_|expert_|moe_shared_expert_)(intermediate|ffn_hidden)_size", 16),
    (r"(dense_|shared_|shared_expert_)?intermediate_size(_mlp)?|(\w+_)?ffn_dim|n_inner|d_ff|ffn_hidden_size", 48),
    (r"num_(hidden_|decoder_|encoder_)?layers|n_layers?|(en|de)coder_layers|depth", 2),
    (r"num_(attention_|query_)?heads|n_heads?|(en|de)coder_attention_heads|linear_num_value_heads", 4),
    (r"num_(key_value|kv)_heads|n_head_kv|kv_n_heads|linear_num_key_heads|num_query_groups", 2),
    (r"(\w+_)?head_dim|d_kv|kv_channels", 8),
    (r"(q|kv|o)_lora_rank", 16),
    (r"(text_|n_|encoder_hash_byte_group_)?vocab(_size)?(_per_layer_input)?", _VOCABULARY),
    (
        r"max_position_embeddings|n_positions|n_ctx|max_(seq|sequence|target|source)_(len|length|positions)|seq_length",
        64,
    ),
    (r"(num|n_routed|num_local|moe_num|n|num_moe)_?experts", 4),
    (r"(num_)?(experts_per_tok(en)?|moe_top_?k|top_k_experts|top_k|selected_experts)|moe_k", 2),
    (r"n_group|topk_group|first_k_dense_replace|n_shared_experts|num_nextn_predict_layers|num_dense_layers", 1),
    (r"moe_layer_start_index|(mamba_)?n_groups", 1),
    (r"mamba_(n_|num_)heads|(mamba_d_|ssm_)?state(_size)?|rotary_dim", 8),
    (r"image_size", _HIDDEN),
    (r"patch_size", 8),
    (r"sliding_window|window_size|attention_(window|chunk_size)|local_attention_window", 16),
    (r"pad_token_id", 0),
    (r"(bos|eos)_token_id", 1),
)
# Near a tie rounding decides which experts are chosen, and neither choice is the less accurate one: all are, in bf16.
_EVERY_EXPERT = dict.fromkeys(("num_experts_per_tok", "moe_topk", "moe_top_k", "moe_k", "top_k_experts"), 4)
# Latent attention has as many key heads as query heads, and heads of two parts.
_LATENT = {"num_key_value_heads": 4, "qk_head_dim": 16, "head_dim": 8}
HIGHEST_TOKEN = 90
# What a family may need beside small sizes, tried in this order: sections of its rotary embedding that fit a head of 8,
# rotated as a whole or by half; an attention layer among two; sizes and layers that are None where nothing is said;
# keys and values of its own for every layer; what its scaled embedding reads.
_ROPE: dict[str, Any] = {"rope_type": "default", "rope_theta": 10000.0}
_ATTEMPTS: tuple[dict[str, Any], ...] = (
    {},
    {"rope_parameters": {**_ROPE, "mrope_section": [1, 1, 2]}},
    {"rope_parameters": {**_ROPE, "mrope_section": [1, 1, 0], "partial_rotary_factor": 0.5}},
    {"attn_layer_indices": [1], "attn_layer_offset": 1, "attn_layer_period": 2, "expert_layer_offset": 1},
    {"topk_method": "greedy", "layers_block_type": ["mamba", "attention"]},
    {"num_experts_per_tok": 2, "n_routed_experts": 4, "num_experts": 4, "head_dim": 8, "num_key_value_heads": 2},
    {"rope_parameters": _ROPE, "head_dim": 8, "num_key_value_heads": 2},
    {"num_experts_per_tok": 2, "n_routed_experts": 4, "n_shared_experts": 1, "num_kv_shared_layers": 0},
    {"num_kv_shared_layers": 0, "activation_sparsity_pattern": None},
    {"layer_types": ["conv", "full_attention"]},
    {
        "rope_parameters": {
            **_ROPE,
            "original_max_position_embeddings": 64,
            "llama_4_scaling_beta": 0.1,
            "partial_rotary_factor": 1.0,
        }
    },
    {"rope_scaling": {"rope_type": "default", "mrope_section": [1, 1, 2]}},
)


@dataclass(frozen=True)
class Variant:
    """One input of one precision.

    Args:
        name: in results.
        dtype: of parameters and activations.
        layout: ``left`` or ``right``, the side on which the first of two sequences is padded; ``packed``, both joined
            into one; or neither.
        is_exact: whether it is what bf16 is held against: computed in fp32, with parameters rounded to bf16.
    """

    name: str
    dtype: torch.dtype
    layout: str = ""
    is_exact: bool = False

    @property
    def every_expert(self) -> dict[str, Any]:
        """Options of a configuration that choose all experts, where rounding would choose among them."""
        return _EVERY_EXPERT if not self.layout else {}


VARIANTS = (
    Variant("fp32 left", torch.float32, "left"),
    Variant("fp32 right", torch.float32, "right"),
    Variant("fp32 packed", torch.float32, "packed"),
    Variant("bf16", torch.bfloat16),
)
EXACT = Variant("bf16 exact", torch.float32, is_exact=True)


def families() -> list[str]:
    """Return the names of all families that have a causal language model, or one that takes images and text."""
    return sorted(_architectures())


def _architectures() -> dict[str, str]:
    """Return the name of the class to build by family."""
    from transformers.models.auto import modeling_auto  # noqa: PLC0415  # the emulated NPU comes first

    found: dict[str, str] = {}
    for table in ("MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"):
        for family, name in getattr(modeling_auto, table).items():
            found[family] = name if isinstance(name, str) else name[0]
    return found


def small(config: type[Any], more: dict[str, Any]) -> Any:
    """Return a configuration of a class with small sizes; raises whatever upstream's own checks do.

    Args:
        config: the class.
        more: options that it, and every part of it, gets beside these where it has them.
    """
    usual = config()
    parts = getattr(config, "sub_configs", None) or {}
    options = dict(_options(usual, parts))
    for name in parts:
        part = getattr(usual, name, None)
        if part is not None and not isinstance(part, dict):
            options[name] = small(type(part), more).to_dict()
    # Copies, because a configuration writes the default kind of its rotary embedding into the table it is given.
    options.update({name: deepcopy(value) for name, value in more.items() if hasattr(usual, name)})
    return config(**options)


def _options(usual: Any, parts: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    is_latent = hasattr(usual, "qk_rope_head_dim")
    for name in sorted(vars(usual).keys() - parts.keys()):
        value = getattr(usual, name, None)
        if name.startswith("_") or isinstance(value, bool):
            continue
        if name == "layer_types" and isinstance(value, list) and value:
            yield name, (list(dict.fromkeys(value)) * 2)[-2:]
        elif is_latent and name in _LATENT:
            yield name, _LATENT[name]
        elif isinstance(value, int) and (size := _size(name, value)) is not None:
            yield name, size


def _size(name: str, value: int) -> int | None:
    for pattern, size in _SIZES:
        if re.fullmatch(pattern, name):
            return size
    return min(value, HIGHEST_TOKEN) if name.endswith("_token_id") else None


def build(family: str, more: dict[str, Any]) -> torch.nn.Module:
    """Return a tiny model of a family with parameters that hide no mistake; raises whatever upstream does.

    Args:
        family: as upstream names it.
        more: options of its configuration beside small sizes.
    """
    import transformers  # noqa: PLC0415  # as above
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: PLC0415

    config = small(CONFIG_MAPPING[family], more)
    model_class = getattr(transformers, _architectures()[family])
    if model_class.config_class and not isinstance(config, model_class.config_class):
        config = next(part for part in vars(config).values() if isinstance(part, model_class.config_class))
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    model: torch.nn.Module = model_class(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=0.4 if parameter.dim() == 1 else 0.0, std=0.25)
    for number, module in enumerate(model.modules()):
        for name in ("variance_epsilon", "eps"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.003 + 0.0007 * number)
    return model.eval()


def run(model: torch.nn.Module, variant: Variant, device: str) -> dict[str, torch.Tensor]:
    """Return the output and the gradient of every parameter, all on CPU.

    Args:
        model: as `build` returns it; its parameters keep their values.
        variant: the input and the precision.
        device: where to run.
    """
    if variant.is_exact:
        model = model.to(torch.bfloat16)
    model = model.to(device=device, dtype=variant.dtype)
    model.zero_grad()
    inputs = {name: tensor.to(device) for name, tensor in _inputs(variant.layout).items()}
    if getattr(model.config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = inputs["input_ids"]
    made = model(**inputs)
    output = made.logits if hasattr(made, "logits") else made[0]
    weight = torch.randn(output.shape).to(device)
    (output.float() * weight).mean().backward()
    found = {"output": output.detach().float().cpu()}
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            found[f"grad {name}"] = parameter.grad.float().cpu()
    return found


def _inputs(layout: str) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    ids = torch.randint(2, 80, (2, _LENGTH))
    if layout == "packed":
        # The sequences are of odd lengths, and told by their positions alone.
        positions = torch.cat((torch.arange(_LENGTH - _PADDED), torch.arange(_LENGTH + _PADDED)))
        return {"input_ids": ids.view(1, -1), "position_ids": positions.unsqueeze(0)}
    mask = torch.ones_like(ids)
    if layout:
        mask[0, slice(_PADDED) if layout == "left" else slice(-_PADDED, None)] = 0
    return {"input_ids": ids, "attention_mask": mask}


def _save(family: str, folder: Path, results: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
    """Run a family and save results by variant, and of the emulated NPU the operators that ran; or else the error."""
    try:
        torch.save(results(family, needs(family)), folder / f"{family}.pt")
    except Exception as error:  # whatever upstream raises is the answer
        lines = str(error).strip().splitlines() or [""]
        (folder / f"{family}.txt").write_text(f"{type(error).__name__}: {lines[0]}\n", "utf-8")


def needs(family: str) -> dict[str, Any]:
    """Return what a configuration needs beside small sizes to run on the CPU; raises the first error if none helps."""
    first: Exception | None = None
    for more in _ATTEMPTS:
        try:
            run(build(family, more), VARIANTS[0], "cpu")
        except Exception as error:  # whatever upstream raises
            first = first or error
        else:
            return more
    assert first is not None  # noqa: S101  # there are attempts
    raise first


def _on_cpu(family: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"results": {variant.name: _results(family, more, variant, "cpu") for variant in (*VARIANTS, EXACT)}}


def _emulated(family: str, more: dict[str, Any]) -> dict[str, Any]:
    import emulation  # noqa: PLC0415  # only where there is to be an NPU

    results, operators, launches = {}, {}, {}
    for variant in VARIANTS:
        with emulation.recorded() as recording:
            results[variant.name] = _results(family, more, variant, "npu")
        operators[variant.name], launches[variant.name] = dict(recording.operators), recording.launches()
    return {"results": results, "operators": operators, "launches": launches}


def _results(family: str, more: dict[str, Any], variant: Variant, device: str) -> dict[str, torch.Tensor] | None:
    """Return what a variant gives, or None where it is packed sequences and the family does not take them."""
    model = build(family, {**more, **variant.every_expert})
    if variant.layout == "packed" and "position_ids" not in inspect.signature(model.forward).parameters:
        return None
    try:
        return run(model, variant, device)
    except Exception:  # whatever upstream raises: its positions may be of images as well
        if variant.layout != "packed":
            raise
    return None


def main() -> int:
    """Run each family in a process of its own; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--emulated", action="store_true", help="on the emulated NPU")
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    options = parser.parse_intermixed_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    if options.emulated:
        import emulation  # noqa: PLC0415  # before transformers, which asks once whether there is an NPU

        emulation.install()
    results = _emulated if options.emulated else _on_cpu
    # Forked, so that torch and transformers, and what every model imports of it, are imported once.
    build("llama", {})
    context = multiprocessing.get_context("fork")
    for family in options.families or families():
        child = context.Process(target=_save, args=(family, options.folder, results))
        child.start()
        child.join(_SECONDS)
        if child.exitcode != 0:
            child.kill()
            why = f"no answer within {_SECONDS} s" if child.exitcode is None else f"exit code {child.exitcode}"
            (options.folder / f"{family}.txt").write_text(f"{why}\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
