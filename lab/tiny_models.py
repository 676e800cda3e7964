"""Models: tiny random models of every patched family, run forward and backward; what comes out is compared.

Run as a script with the path of a file, it saves what the transformers in
reach computes on CPU: the reference, when that transformers is upstream's.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
import transformers
from packaging.version import Version

VOCABULARY = 67
HIDDEN = 32
AUTOCAST = "autocast"
_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": 44,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "attn_implementation": "eager",
}
_MOE: dict[str, Any] = {
    "moe_intermediate_size": 24,  # PyTorch's own grouped product wants rows of 16 bytes
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "mlp_only_layers": [0],
    "head_dim": 8,
}
_MROPE: dict[str, Any] = {"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}}
_VISION: dict[str, Any] = {
    "depth": 2,
    "num_heads": 2,
    "in_channels": 3,
    "patch_size": 2,
    "attn_implementation": "eager",
}
# From 4.57 on, with an interleaved mrope; from 5 on, with linear attention and a mrope of a part of the head.
_INTERLEAVED: dict[str, Any] = {"head_dim": 8, "rope_scaling": {"rope_type": "default", "mrope_section": [2, 1, 1]}}
_HYBRID: dict[str, Any] = {
    "head_dim": 32,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_conv_kernel_dim": 3,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "partial_rotary_factor": 0.25,
}
_SHARED: dict[str, Any] = {
    **{name: value for name, value in _MOE.items() if name not in ("mlp_only_layers", "head_dim")},
    "shared_expert_intermediate_size": 24,
}
_PART: dict[str, Any] = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}}
_DEEPSTACK: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 20,
    "out_hidden_size": HIDDEN,
    "num_position_embeddings": 16,
}
# Upstream's router, as it is before 5, fails where autocast makes its logits narrower than its input.
_NO_AUTOCAST = () if find_spec("transformers.integrations.moe") else ("qwen3_vl_moe_text",)
# Upstream rounds otherwise from 5.17 on. Of a seed's roundings either device has more by chance; these differ little.
_HALF_SEED, _VISION_SEED = (3, 7) if Version(transformers.__version__) >= Version("5.17") else (4, 6)
# Three images' worth of patches, of different sizes: (frames, height, width).
_GRID = ((1, 4, 4), (1, 2, 6), (2, 4, 2))


@dataclass(frozen=True)
class Case:
    """One model and one input.

    Args:
        family: which builder makes the model.
        dtype: of parameters and activations; ``autocast`` has parameters in fp32, and bf16 where autocast says so.
        activation: of its MLPs.
        batch: number of sequences; ``packed`` ones are joined into one.
        layout: ``plain``, ``padded`` (on the left), or ``packed``.
        seed: of parameters and input.
    """

    family: str
    dtype: str = "float32"
    activation: str = "silu"
    batch: int = 2
    layout: str = "plain"
    seed: int = 0

    @property
    def name(self) -> str:
        """Identifier of the case in reference files and test names."""
        parts = (self.family, self.dtype, self.activation, f"b{self.batch}", self.layout, f"s{self.seed}")
        return "-".join(parts)

    @property
    def parameters(self) -> torch.dtype:
        """The dtype of parameters and input."""
        parameters: torch.dtype = torch.float32 if self.dtype == AUTOCAST else getattr(torch, self.dtype)
        return parameters


Results = dict[str, torch.Tensor]


def cases() -> Iterator[Case]:
    """Yield every case: all layouts in fp32, every dtype, another activation, several seeds."""
    for family in TEXT:
        for batch, layout in ((1, "plain"), (3, "padded"), (1, "packed")):
            yield Case(family, batch=batch, layout=layout, seed=batch)
        # Linear attention multiplies roundings, on either device by chance more: of other seeds one of ten by 1.4.
        for dtype, seed in (("bfloat16", 5), ("float16", _HALF_SEED), (AUTOCAST, 5)):
            if dtype != AUTOCAST or family not in _NO_AUTOCAST:
                yield Case(family, dtype=dtype, seed=seed)
        yield Case(family, activation="gelu", seed=5)
    for family, dtype in itertools.product(VISION, ("float32", "bfloat16", AUTOCAST)):
        yield Case(family, dtype=dtype, seed=_VISION_SEED)


def representatives() -> Iterator[Case]:
    """Yield one case of each family, in the dtype for which every operator is documented."""
    return (Case(family, batch=1, dtype="bfloat16", seed=1) for family in (*TEXT, *VISION))


def run(case: Case, device: str, *, exactly: bool = False) -> Results:
    """Return the output and the gradient of every parameter, all on CPU.

    Args:
        case: the model and its input.
        device: where to run.
        exactly: whether to compute in fp32 with the case's (rounded) parameters.
    """
    model, inputs = ready(case, device, exactly=exactly)
    with torch.autocast(device, dtype=torch.bfloat16, enabled=case.dtype == AUTOCAST and not exactly):
        output = step(model, inputs, case.seed)
    gradients = {f"grad {name}": parameter.grad for name, parameter in model.named_parameters()}
    found = {"output": output.detach(), **{name: grad for name, grad in gradients.items() if grad is not None}}
    return {name: tensor.cpu() for name, tensor in found.items()}


def ready(case: Case, device: str, *, exactly: bool = False) -> tuple[torch.nn.Module, dict[str, Any]]:
    """Return the case's model and its input, both on the device."""
    torch.manual_seed(case.seed)
    model, inputs = (TEXT.get(case.family) or VISION[case.family])(case)
    for parameter in model.parameters():
        # Norm weights of one and biases of zero would hide mistakes.
        torch.nn.init.normal_(parameter, mean=0.4 if parameter.dim() == 1 else 0.0, std=0.25)
    for number, module in enumerate(model.modules()):
        # No two norms have the same, and none what its class has where nothing is said.
        for name in ("variance_epsilon", "eps"):
            if hasattr(module, name):
                setattr(module, name, 0.003 + 0.0007 * number)
    model = model.to(case.parameters).train()
    if exactly:
        model, inputs = model.float(), _widened(inputs)
    return model.to(device), _moved(inputs, device)


def step(model: torch.nn.Module, inputs: dict[str, Any], seed: int = 0) -> torch.Tensor:
    """Run a model forward and backward, from random weights on its output; returns the output."""
    output = model(**inputs)
    if not isinstance(output, torch.Tensor):
        # Vision towers of 5 and newer give what the language model gets beside what their last block gives.
        merged = getattr(output, "pooler_output", None)
        output = output[0] if merged is None else merged
    torch.manual_seed(seed + 1)
    weight = torch.randn(output.shape).to(output.device)
    (output.float() * weight).mean().backward()
    return output


def _moved(inputs: dict[str, Any], device: str) -> dict[str, Any]:
    return {name: value.to(device) if isinstance(value, torch.Tensor) else value for name, value in inputs.items()}


def _widened(inputs: dict[str, Any]) -> dict[str, Any]:
    floats = {
        name: value.float() for name, value in inputs.items() if hasattr(value, "dtype") and value.is_floating_point()
    }
    return {**inputs, **floats}


def _tokens(case: Case) -> dict[str, Any]:
    """Return token inputs of odd lengths in the case's layout."""
    length = 7
    ids = torch.randint(VOCABULARY, (case.batch, length))
    if case.layout == "plain":
        return {"input_ids": ids, "use_cache": False}
    if case.layout == "padded":
        mask = torch.ones_like(ids)
        for row in range(1, case.batch):
            mask[row, : row + 1] = 0
        return {"input_ids": ids, "attention_mask": mask, "use_cache": False}
    lengths = (5, 1, 7)
    positions = torch.cat([torch.arange(part) for part in lengths]).unsqueeze(0)
    return {"input_ids": torch.randint(VOCABULARY, positions.shape), "position_ids": positions, "use_cache": False}


def _llama(case: Case) -> tuple[torch.nn.Module, dict[str, Any]]:
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415  # the emulated NPU comes first

    return LlamaForCausalLM(LlamaConfig(**_SIZES, hidden_act=case.activation, mlp_bias=True)), _tokens(case)


def _qwen2(case: Case) -> tuple[torch.nn.Module, dict[str, Any]]:
    from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415

    return Qwen2ForCausalLM(Qwen2Config(**_SIZES, hidden_act=case.activation)), _tokens(case)


def _qwen3(case: Case) -> tuple[torch.nn.Module, dict[str, Any]]:
    from transformers import Qwen3Config, Qwen3ForCausalLM  # noqa: PLC0415

    return Qwen3ForCausalLM(Qwen3Config(**_SIZES, head_dim=8, hidden_act=case.activation)), _tokens(case)


def _mrope_inputs(case: Case) -> dict[str, Any]:
    inputs = _tokens(case)
    if case.layout == "plain":
        # An image in the text: the three rows of positions differ.
        rows = torch.stack(
            [torch.tensor(row) for row in ((0, 1, 1, 1, 1, 2, 3), (0, 1, 1, 2, 2, 3, 4), (0, 1, 2, 1, 2, 3, 4))]
        )
        inputs["position_ids"] = rows.unsqueeze(1).expand(3, case.batch, -1)
    return inputs


def _qwen2_vl_text(case: Case) -> tuple[torch.nn.Module, dict[str, Any]]:
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig  # noqa: PLC0415
    from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLTextModel  # noqa: PLC0415

    config = Qwen2VLTextConfig(**_SIZES, **_MROPE, hidden_act=case.activation)
    return Qwen2VLTextModel(config), _mrope_inputs(case)


def _qwen2_5_vl_text(case: Case) -> tuple[torch.nn.Module, dict[str, Any]]:
    from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLTextConfig  # noqa: PLC0415
    from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLTextModel  # noqa: PLC0415

    config = Qwen2_5_VLTextConfig(**_SIZES, **_MROPE, hidden_act=case.activation)
    return Qwen2_5_VLTextModel(config), _mrope_inputs(case)


def _patches() -> dict[str, Any]:
    grid = torch.tensor(_GRID)
    return {"hidden_states": torch.randn(int(grid.prod(1).sum()), 3 * 2 * 2 * 2), "grid_thw": grid}


def _qwen2_vl_vision(case: Case) -> tuple[torch.nn.Module, dict[str, Any]]:
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig  # noqa: PLC0415
    from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VisionTransformerPretrainedModel  # noqa: PLC0415

    config = Qwen2VLVisionConfig(**_VISION, embed_dim=16, hidden_size=HIDDEN)
    return Qwen2VisionTransformerPretrainedModel(config), _typed(_patches(), case)


def _qwen2_5_vl_vision(case: Case) -> tuple[torch.nn.Module, dict[str, Any]]:
    from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl  # noqa: PLC0415
    from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLVisionConfig  # noqa: PLC0415

    sizes = {"hidden_size": 16, "out_hidden_size": HIDDEN, "intermediate_size": 20, "window_size": 8}
    config = Qwen2_5_VLVisionConfig(**_VISION, **sizes, fullatt_block_indexes=[1])
    return modeling_qwen2_5_vl.Qwen2_5_VisionTransformerPretrainedModel(config), _typed(_patches(), case)


def _typed(inputs: dict[str, Any], case: Case) -> dict[str, Any]:
    return {**inputs, "hidden_states": inputs["hidden_states"].to(case.parameters)}


Builder = Callable[[Case], tuple[torch.nn.Module, dict[str, Any]]]


def _text(family: str, config: str, model: str, inputs: Callable[[Case], dict[str, Any]], **options: Any) -> Builder:
    """Return a builder of a text model by the names of its classes."""

    def build(case: Case) -> tuple[torch.nn.Module, dict[str, Any]]:
        package = import_module(f"transformers.models.{family}.modeling_{family}")
        chosen = {}
        if case.dtype != "float32" and "num_experts" in options:
            # Near a tie rounding decides which experts are chosen, and neither choice is the less accurate one.
            chosen["num_experts_per_tok"] = options["num_experts"]
        if "num_experts" in options:
            chosen["norm_topk_prob"] = case.batch != 1
        settings = getattr(package, config)(**{**_SIZES, **options, **chosen}, hidden_act=case.activation)
        return getattr(package, model)(settings), inputs(case)

    return build


def _vision(family: str, config: str, model: str, **options: Any) -> Builder:
    """Return a builder of a vision tower by the names of its classes."""

    def build(case: Case) -> tuple[torch.nn.Module, dict[str, Any]]:
        package = import_module(f"transformers.models.{family}.modeling_{family}")
        return getattr(package, model)(getattr(package, config)(**_VISION, **options)), _typed(_patches(), case)

    return build


def _present(builders: dict[str, Builder]) -> dict[str, Builder]:
    """Return those of some families that the transformers in reach has."""
    packages = {name: name.removesuffix("_text").removesuffix("_vision") for name in builders}
    return {name: one for name, one in builders.items() if find_spec(f"transformers.models.{packages[name]}")}


TEXT: dict[str, Builder] = {
    "llama": _llama,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "qwen3_moe": _text("qwen3_moe", "Qwen3MoeConfig", "Qwen3MoeForCausalLM", _tokens, **_MOE),
    "qwen2_vl_text": _qwen2_vl_text,
    "qwen2_5_vl_text": _qwen2_5_vl_text,
    **_present(
        {
            "qwen3_vl_text": _text("qwen3_vl", "Qwen3VLTextConfig", "Qwen3VLTextModel", _mrope_inputs, **_INTERLEAVED),
            "qwen3_vl_moe_text": _text(
                "qwen3_vl_moe", "Qwen3VLMoeTextConfig", "Qwen3VLMoeTextModel", _mrope_inputs, **_MOE | _INTERLEAVED
            ),
            "qwen3_next": _text("qwen3_next", "Qwen3NextConfig", "Qwen3NextForCausalLM", _tokens, **_HYBRID | _SHARED),
            "qwen3_5_text": _text("qwen3_5", "Qwen3_5TextConfig", "Qwen3_5TextModel", _mrope_inputs, **_HYBRID | _PART),
            "qwen3_5_moe_text": _text(
                "qwen3_5_moe", "Qwen3_5MoeTextConfig", "Qwen3_5MoeTextModel", _mrope_inputs, **_HYBRID | _SHARED | _PART
            ),
        }
    ),
}
VISION: dict[str, Builder] = {
    "qwen2_vl_vision": _qwen2_vl_vision,
    "qwen2_5_vl_vision": _qwen2_5_vl_vision,
    **_present(
        {
            "qwen3_vl_vision": _vision(
                "qwen3_vl", "Qwen3VLVisionConfig", "Qwen3VLVisionModel", deepstack_visual_indexes=[0], **_DEEPSTACK
            ),
            "qwen3_vl_moe_vision": _vision(
                "qwen3_vl_moe",
                "Qwen3VLMoeVisionConfig",
                "Qwen3VLMoeVisionModel",
                deepstack_visual_indexes=[0],
                **_DEEPSTACK,
            ),
            "qwen3_5_vision": _vision("qwen3_5", "Qwen3_5VisionConfig", "Qwen3_5VisionModel", **_DEEPSTACK),
            "qwen3_5_moe_vision": _vision(
                "qwen3_5_moe", "Qwen3_5MoeVisionConfig", "Qwen3_5MoeVisionModel", **_DEEPSTACK
            ),
        }
    ),
}


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.save({case.name: run(case, "cpu") for case in cases()}, sys.argv[1])
