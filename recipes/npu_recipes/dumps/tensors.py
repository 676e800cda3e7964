"""Tensors: a module's inputs or outputs → the tensors among them, written to a dump and described. Needs torch."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Iterator, Mapping
from itertools import chain, count
from typing import Any

import torch
from torch import nn

from npu_recipes.dumps.dump_file import Store, Tensor

# Types that numpy does not have, and some that are as exact in 32 bits.
_AS_THEY_ARE = {torch.float32, torch.float64, torch.bool}


def written(values: object, store: Store, elements: int) -> Iterator[Tensor]:
    """Write every tensor among some values, and yield its description."""
    for name, tensor in _tensors(values, ""):
        flat = tensor.detach().reshape(-1)
        every = _stride(flat.numel(), elements)
        yield Tensor(
            name=name,
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=tuple(tensor.shape),
            array=store.add(_portable(flat[::every])),
            every=every,
            not_finite=_not_finite(flat),
        )


def names_of(module: nn.Module) -> Iterator[str]:
    """Yield what a forward calls the values that it is given by their places, and numbers where it has no names."""
    by_place = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    try:
        parameters = inspect.signature(module.forward).parameters.values()
        names = [one.name for one in parameters if one.kind in by_place]
    except (TypeError, ValueError):  # what is compiled has none
        names = []
    return chain(names, map(str, count(len(names))))


def _stride(size: int, elements: int) -> int:
    """Return every how-manieth of `size` elements is kept, so that at most `elements` are."""
    least = max(1, math.ceil(size / elements)) if elements else 1
    # Dimensions are multiples of powers of two: a stride that shares a factor with one sees the same few columns only.
    return next(one for one in count(least) if math.gcd(one, size) == 1)


def _not_finite(flat: torch.Tensor) -> int:
    if not (flat.is_floating_point() or flat.is_complex()):
        return 0
    # Of eight bits torch tells nothing.
    return int((~torch.isfinite(flat.to(torch.float32) if flat.element_size() == 1 else flat)).sum())


def _portable(flat: torch.Tensor) -> Any:  # an array of numpy's
    if flat.is_floating_point() and flat.dtype not in _AS_THEY_ARE:
        flat = flat.to(torch.float32)
    if flat.dtype == torch.complex32:
        flat = flat.to(torch.complex64)
    return flat.contiguous().resolve_conj().resolve_neg().cpu().numpy()


def _tensors(value: object, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors in a value: of lists, dictionaries, dataclasses and transformers' outputs, not of caches."""
    if isinstance(value, torch.Tensor):
        local = value.to_local() if hasattr(value, "to_local") else value
        if not (local.is_meta or local.is_sparse):
            yield name or "0", local
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _tensors(one, f"{name}.{key}".lstrip("."))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for one in dataclasses.fields(value):
            yield from _tensors(getattr(value, one.name, None), f"{name}.{one.name}".lstrip("."))
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            yield from _tensors(one, f"{name}.{number}".lstrip("."))
