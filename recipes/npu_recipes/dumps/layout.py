"""Layout: what a dump says of itself, as frozen values and as the JSON inside the file.

A dump is an ``.npz``: one array a tensor, named by number, and ``manifest.json``, which says what each of them is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """One tensor.

    Args:
        name: the parameter it was given for, or where it stood among the outputs: ``hidden_states``, ``0``, ``1.0``.
        dtype: as torch names it, without the module.
        shape: of the whole tensor.
        array: the number of its array; of many elements, that holds every `every`-th, in order.
        every: see there; 1 where all are held, else coprime to each dimension of the shape.
        not_finite: how many of all its elements are NaN or infinite.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    array: int
    every: int
    not_finite: int


@dataclass(frozen=True, kw_only=True)
class Passage:
    """One time a module ran, in the order in which they were through.

    Args:
        call: which forward of the whole model it belongs to, from 0 on.
        module: its path in the model, empty for the model itself; what wraps modules (FSDP, DDP) is left out of it.
        time: how often the module had run in that call, 0 for the first time.
        inputs: tensors that it was given.
        outputs: tensors that it gave.
    """

    call: int
    module: str
    time: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @property
    def key(self) -> tuple[int, str, int]:
        """What names the same passage in another dump."""
        return self.call, self.module, self.time


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All that a dump says.

    Args:
        passages: in the order in which they were through.
        begun: how many forwards of the whole model were begun.
        classes: by module, its class and those it inherits from, the nearest first, as ``package.module:Class``.
        made_by: versions of torch and of the patched distributions, and the device.
    """

    passages: tuple[Passage, ...]
    begun: int
    classes: Mapping[str, tuple[str, ...]]
    made_by: Mapping[str, str]

    @property
    def unended(self) -> tuple[int, ...]:
        """The forwards that the model itself was never through with: they failed."""
        ended = {one.call for one in self.passages if not one.module}
        return tuple(call for call in range(self.begun) if call not in ended)


def as_json(manifest: Manifest) -> dict[str, Any]:
    """Return a manifest as JSON holds it."""
    return {"schema": SCHEMA, **asdict(manifest)}


def of_json(stated: Mapping[str, Any]) -> Manifest:
    """Return a manifest; raises ``ValueError``, ``KeyError`` or ``TypeError`` where it is none of this version."""
    if stated["schema"] != SCHEMA:
        msg = f"its schema version is {stated['schema']}, this code reads {SCHEMA}"
        raise ValueError(msg)
    passages = tuple(_passage(one) for one in stated["passages"])
    return Manifest(
        passages=passages,
        # Dumps did not always say it.
        begun=stated.get("begun", 1 + max((one.call for one in passages), default=-1)),
        classes={module: tuple(names) for module, names in stated["classes"].items()},
        made_by=dict(stated["made_by"]),
    )


def _passage(stated: Mapping[str, Any]) -> Passage:
    tensors = {
        side: tuple(Tensor(**{**one, "shape": tuple(one["shape"])}) for one in stated[side])
        for side in ("inputs", "outputs")
    }
    return Passage(call=stated["call"], module=stated["module"], time=stated["time"], **tensors)
