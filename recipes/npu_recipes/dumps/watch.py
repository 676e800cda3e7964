"""Watching: a program that is not to be edited → dumps of the models that it runs. Needs torch.

Each model that is called on its own, not by another module, is one to record: the first into the file that was named,
the second into one with ``-2`` in its name, and so on.
"""

from __future__ import annotations

import time
from pathlib import Path
from threading import Lock, local
from typing import Any

from torch import nn

from npu_recipes.dumps.hooks import Recorder
from npu_recipes.dumps.request import Wanted


class Watch:
    """Sees every module that is called, from its making to `finish`.

    Args:
        file: where to.
        wanted: what of each model.
    """

    def __init__(self, file: Path, wanted: Wanted) -> None:
        self._file, self._wanted, self._began = file, wanted, time.time()
        self._recorders: list[Recorder] = []
        self._known: set[nn.Module] = set()
        self._lock, self._calls = Lock(), local()
        self._call = nn.Module.__call__
        watch, call = self, self._call

        def called(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # instead of torch's own
            calls, depth = watch._calls, getattr(watch._calls, "depth", 0)
            if not depth:
                watch.see(module)
            calls.depth = depth + 1
            try:
                return call(module, *args, **kwargs)
            finally:
                calls.depth = depth

        nn.Module.__call__ = called

    @property
    def models(self) -> int:
        """How many models were seen."""
        return len(self._recorders)

    @property
    def missed(self) -> list[Path]:
        """The files of models without any wanted module: they hold the model by itself."""
        return [recorder.file for recorder in self._recorders if recorder.missed]

    def see(self, module: nn.Module) -> None:
        """Record a module that no other calls, where it is a model: no part of one, nor a copy for a device."""
        with self._lock:  # models may run beside each other
            if module in self._known or next(module.parameters(), None) is None or hasattr(module, "_is_replica"):
                return
            number = len(self._recorders) + 1
            file = self._file if number == 1 else self._file.with_stem(f"{self._file.stem}-{number}")
            recorder = Recorder(module, file, self._wanted, self._began)
            self._recorders.append(recorder)
            self._known.update(recorder.modules)

    def finish(self) -> list[Path]:
        """Stop watching and write what was not written yet; returns the files, of models that ran often enough."""
        nn.Module.__call__ = self._call
        for recorder in self._recorders:
            recorder.finish()
        return [recorder.file for recorder in self._recorders if recorder.written]
