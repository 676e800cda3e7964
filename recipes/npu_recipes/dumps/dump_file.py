"""A dump: an ``.npz`` that grows while a model runs and is read back one array at a time.

It has one array a tensor, named by number, and ``manifest.json``, which says what each of them is.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_doctor.jsonfiles import DataError, DataMistake, decode
from npu_recipes.dumps.request import spared
from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import replacing

SCHEMA = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """One tensor."""

    name: str  # the parameter it was given for, or where it stood among the outputs: ``hidden_states``, ``0``, ``1.0``
    dtype: str  # as torch names it, without the module
    shape: tuple[int, ...]  # of the whole tensor
    array: int  # the number of its array; of many elements, that holds every `every`-th, in order
    every: int  # see there; 1 where all are held, else coprime to each dimension of the shape
    not_finite: int  # how many of all its elements are NaN or infinite


@dataclass(frozen=True, kw_only=True)
class Passage:
    """One time a module ran, in the order in which they were through."""

    call: int  # which forward of the whole model it belongs to, from 0 on
    module: str  # its path in the model, empty for the model itself; what wraps modules (FSDP, DDP) is left out of it
    time: int  # how often the module had run in that call, 0 for the first time
    inputs: tuple[Tensor, ...]  # tensors that it was given
    outputs: tuple[Tensor, ...]  # tensors that it gave

    @property
    def key(self) -> tuple[int, str, int]:
        """What names the same passage in another dump."""
        return self.call, self.module, self.time


@dataclass(frozen=True, kw_only=True)
class DumpManifest:
    """The description of a dump."""

    passages: tuple[Passage, ...]  # in the order in which they were through
    begun: int  # how many forwards of the whole model were begun
    # By module, its class and those it inherits from, the nearest first, as ``package.module:Class``.
    classes: Mapping[str, tuple[str, ...]]
    made_by: Mapping[str, str]  # versions of torch and of the patched distributions, and the device

    @property
    def unended(self) -> tuple[int, ...]:
        """The forwards that the model itself was never through with: they failed."""
        ended = {one.call for one in self.passages if not one.module}
        return tuple(call for call in range(self.begun) if call not in ended)


def as_json(manifest: DumpManifest) -> dict[str, Any]:
    """Return a manifest as JSON holds it."""
    return {"schema": SCHEMA, **asdict(manifest)}


def of_json(stated: Mapping[str, Any]) -> DumpManifest:
    """Return a manifest; raises ``ValueError``, ``KeyError`` or ``TypeError`` if it has another form or version."""
    if stated["schema"] != SCHEMA:
        msg = f"its schema version is {stated['schema']}, this code reads {SCHEMA}"
        raise ValueError(msg)
    # Dumps did not always say how many forwards were begun.
    begun = 1 + max((one["call"] for one in stated["passages"]), default=-1)
    mistakes: list[DataMistake] = []
    fields = {"begun": begun, **{name: value for name, value in stated.items() if name != "schema"}}
    manifest = decode(DumpManifest, fields, "", mistakes)
    if manifest is None:
        raise ValueError(DataError(mistakes))
    return manifest


Array = npt.NDArray[Any]


class Store:
    """Writes a dump; its file appears when the manifest is there, and not at all where that never comes.

    Args:
        file: to write.
        began: when what writes it began, in seconds as `time.time` counts: a file written since then is of another
            process, and stays.

    Attributes:
        file: what is written, in the end.
    """

    def __init__(self, file: Path, began: float) -> None:
        self.file, self._began = file, began
        self._stack = ExitStack()
        stream = self._stack.enter_context(replacing(file, option="--out", last=self._last))
        # Not deflated: numbers of a model hardly get smaller by it.
        self._zip = self._stack.enter_context(zipfile.ZipFile(stream, "w"))
        self._number = 0

    def add(self, array: Array) -> int:
        """Write an array and return its number."""
        number, self._number = self._number, self._number + 1
        with self._zip.open(f"{number}.npy", "w", force_zip64=True) as place:
            np.lib.format.write_array(place, array, allow_pickle=False)
        return number

    def finish(self, manifest: DumpManifest) -> None:
        """Write the manifest and let the file appear."""
        self._zip.writestr(MANIFEST, json.dumps(as_json(manifest)))
        self._stack.close()

    def _last(self, file: Path) -> Path:
        self.file = spared(file, self._began)
        return self.file

    def abandon(self) -> None:
        """Leave nothing behind."""
        error = RuntimeError("there is nothing to write")
        self._stack.__exit__(type(error), error, None)


class Dump:
    """A dump that lies on disk.

    Attributes:
        name: as it was named.
        manifest: its description.
    """

    def __init__(self, name: str, archive: zipfile.ZipFile) -> None:
        self.name = name
        self._zip = archive
        self.manifest: DumpManifest = of_json(json.loads(archive.read(MANIFEST)))

    def array(self, number: int) -> Array:
        """Return an array as 64-bit floats, or as pairs of those where its numbers are complex.

        Truth values and whole numbers too, as far as those are exact.
        """
        with self._zip.open(f"{number}.npy") as place:
            array = np.lib.format.read_array(place, allow_pickle=False)
        return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)


@contextmanager
def opened(file: Path) -> Iterator[Dump]:
    """Yield a dump; raises `RecipeError` where the file is none, or is cut off."""
    try:
        with zipfile.ZipFile(file) as archive:
            dump = Dump(str(file), archive)
            yield dump
    except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"is no dump that can be read: {getattr(error, 'strerror', None) or error}"
        fix = "name a file that `npu-recipes dump` or `dump_forward` wrote to its end"
        raise RecipeError(Problem(where=str(file), what=what, fix=fix)) from error
