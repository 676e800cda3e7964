"""Hooks: a model that runs → a dump of what its modules were given and gave. Needs torch."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from npu_recipes.dumps.dump_file import DumpManifest, Passage, Store, Tensor
from npu_recipes.dumps.request import Wanted, problems_of
from npu_recipes.dumps.tensors import names_of, written
from npu_recipes.errors import Problem, RecipeError

# What wraps modules: a model that is sharded or compiled is compared with one that is not.
_WRAPPED = {"_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod"}
# In classes of these, `module` is what is wrapped; anybody else may call a part of a module so.
_WRAPPERS = re.compile(r"(?:torch(?!\.nn\.modules)|megatron|deepspeed|accelerate)(?:\.|$)")


def only_observes(hook: Callable[..., None]) -> Callable[..., None]:
    """Mark a hook that changes nothing: transformers-npu runs fused operators beside it, as it does without one."""
    vars(hook)["only_observes"] = True
    return hook


@contextmanager
def dump_forward(model: nn.Module, file: str | Path, **wanted: Any) -> Iterator[None]:
    """Record what the modules of a model are given and give, while the block runs.

    Args:
        model: the model; sharded ones are recorded by rank, each into a file of its own.
        file: the ``.npz`` to write, at the end of the block.
        wanted: `calls`, `skip`, `only` and `elements`, as in `Wanted`.

    Raises:
        RecipeError: something else is wanted than can be, the file cannot be written, or there was no forward to be
            recorded.
    """
    asked = Wanted(**wanted)
    if problems := list(problems_of(asked, lambda name, value: f"{name}={value!r}")):
        raise RecipeError(problems)
    recorder = Recorder(model, Path(file), asked)
    try:
        yield
    finally:
        recorder.finish()
    if not recorder.written:
        what, fix = "is not written: no forward was recorded", "call the model in the block more often than `skip` says"
        raise RecipeError(Problem(where=str(file), what=what, fix=fix))


@dataclass(frozen=True, kw_only=True)
class _Running:
    """A module that runs: what it was given, and after how many passages."""

    module: nn.Module
    inputs: tuple[Tensor, ...]
    after: int


class Recorder:
    """Hooks of one model; see `dump_forward`. It finishes by itself once it has recorded everything that was wanted.

    Args:
        model: whose.
        file: to write.
        wanted: what of the model.
        began: as in `Store`; None for now.

    Attributes:
        file: what is written.
        written: whether it was.
        missed: whether `only` is found in the path of no module: the model by itself is recorded.
    """

    def __init__(self, model: nn.Module, file: Path, wanted: Wanted, began: float | None = None) -> None:
        self.file, self.written = file, False
        self._store: Store | None = Store(file, time.time() if began is None else began)
        self._wanted, self._model, self._call = wanted, model, -1
        self._running: list[_Running] = []
        self._times: dict[str, int] = {}
        self._passages: list[Passage] = []
        self._paths = paths_of(model)
        self._innermost = {path: module for module, path in self._paths.items()}
        self.missed = True
        self._handles: list[RemovableHandle] = []
        for module, path in self._paths.items():
            if re.search(wanted.only, path):
                self.missed = False
            elif module is not model:
                continue
            self._handles.append(module.register_forward_pre_hook(self._before, with_kwargs=True))
            self._handles.append(module.register_forward_hook(self._after))

    @property
    def modules(self) -> Mapping[nn.Module, str]:
        """The modules with their paths."""
        return self._paths

    def finish(self) -> None:
        """Take the hooks away and write the file, if that was not done before and a forward was begun."""
        for handle in self._handles:
            handle.remove()
        store, self._store = self._store, None
        begun = min(self._call + 1 - self._wanted.skip, self._wanted.calls)
        if store and begun <= 0:
            store.abandon()
        elif store:
            recorded = {one.module for one in self._passages}
            classes = {path: _classes(module) for module, path in self._paths.items() if path in recorded}
            made_by = _made_by(self._model)
            store.finish(DumpManifest(passages=tuple(self._passages), begun=begun, classes=classes, made_by=made_by))
            self.file, self.written = store.file, True

    @property
    def _recording(self) -> Store | None:
        """Where to record, in the forwards that are to be; None in others."""
        wanted = self._wanted
        return self._store if wanted.skip <= self._call < wanted.skip + wanted.calls else None

    @only_observes
    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if module is self._model and (not self._running or self._running[0].module is module):
            # A forward that failed has left its modules behind.
            self._running, self._times = [], {}
            self._call += 1
            if self._call == self._wanted.skip + self._wanted.calls:  # the last to be recorded was one that failed
                self.finish()
        store = self._recording
        if store and (self._running or module is self._model):
            # What is given may be changed in place: it is written at once.
            given = {**dict(zip(names_of(module), args, strict=False)), **kwargs}
            inputs = tuple(written(given, store, self._wanted.elements))
            self._running.append(_Running(module=module, inputs=inputs, after=len(self._passages)))

    @only_observes
    def _after(self, module: nn.Module, _args: tuple[Any, ...], output: object) -> None:
        # A layer whose activations are computed again for the gradient runs outside of any forward of the model.
        store = self._recording
        if not store or all(one.module is not module for one in self._running):
            return
        running = self._running.pop()
        while running.module is not module:  # those above it failed, and somebody caught that
            running = self._running.pop()
        path = self._paths[module]
        inside = {one.module for one in self._passages[running.after :]}
        # A wrapper is left out where the module of the same path inside it was recorded; a compiled module runs unseen.
        if self._innermost[path] is module or path not in inside:
            outputs = tuple(written(output, store, self._wanted.elements))
            times, call = self._times.get(path, 0), self._call - self._wanted.skip
            self._passages.append(Passage(call=call, module=path, time=times, inputs=running.inputs, outputs=outputs))
            self._times[path] = times + 1
        if module is self._model and self._call + 1 == self._wanted.skip + self._wanted.calls:
            self.finish()


def paths_of(model: nn.Module) -> dict[nn.Module, str]:
    """Return the modules of a model, the outer ones first, with their paths; what wraps a module has that one's."""
    named: dict[str, nn.Module] = {}
    paths: dict[nn.Module, str] = {}
    for name, module in model.named_modules():
        above, _, last = name.rpartition(".")
        within = paths[named[above]] if name else ""
        wrapped = last in _WRAPPED or (last == "module" and _is_wrapper(named[above]))
        named[name] = module
        paths[module] = within if wrapped else f"{within}.{last}".strip(".")
    return paths


def _is_wrapper(module: nn.Module) -> bool:
    return any(_WRAPPERS.match(kind.__module__) for kind in type(module).__mro__)


def _classes(module: nn.Module) -> tuple[str, ...]:
    """Return a module's class and those it inherits from, without torch's and Python's own."""
    kinds = [kind for kind in type(module).__mro__ if kind.__module__.split(".")[0] not in {"torch", "builtins"}]
    return tuple(f"{kind.__module__}:{kind.__qualname__}" for kind in kinds or [type(module)])


def _made_by(model: nn.Module) -> dict[str, str]:
    device = next((str(one.device) for one in model.parameters()), "cpu")
    patched = [one for one in metadata.distributions() if str(one.metadata["Name"]).lower().endswith("-npu")]
    versions = {str(one.metadata["Name"]): one.version for one in patched}
    return {"torch": torch.__version__, "device": device, **versions}
