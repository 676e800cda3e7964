"""Storing: arrays → an ``.npz`` that grows while a model runs, and back again, one array at a time."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_recipes.dumps.layout import MANIFEST, Manifest, as_json, of_json
from npu_recipes.dumps.naming import spared
from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import replacing

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

    def finish(self, manifest: Manifest) -> None:
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
        manifest: what it says of itself.
    """

    def __init__(self, name: str, archive: zipfile.ZipFile) -> None:
        self.name = name
        self._zip = archive
        self.manifest: Manifest = of_json(json.loads(archive.read(MANIFEST)))

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
