"""Log: which operators the emulated NPU ran, and how often the host waited for it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType

# Operators that launch nothing on a device: they only describe memory anew, or allocate it.
_NO_LAUNCH = frozenset(
    [
        "view",
        "_unsafe_view",
        "as_strided",
        "detach",
        "alias",
        "expand",
        "transpose",
        "t",
        "permute",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "unbind",
        "squeeze",
        "unsqueeze",
        "unfold",
        "diagonal",
        "lift_fresh",
        "_reshape_alias",
        "empty",
        "empty_strided",
        "empty_like",
        "resize_",
        "set_",
        "is_pinned",
        "_local_scalar_dense",
        "real_to_host",
        "narrow",
        "chunk",
        "view_as",
        "_conj",
    ]
)
# Operators whose result, or whose size, the host must read.
_WAITING = frozenset(
    ["_local_scalar_dense", "nonzero", "masked_select", "unique", "unique_consecutive", "_unique2", "equal", "bincount"]
)


@dataclass
class Recording:
    """What ran while it was open: operators by full name, and the reasons for which the host waited.

    Of `callers`, functions by their code and its file, it also holds which NPU operators each `called` itself.
    """

    operators: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)
    callers: Mapping[tuple[str, CodeType], str] = field(default_factory=dict)
    called: dict[str, set[str]] = field(default_factory=dict)

    def launches(self) -> int:
        """Return how many operators were launched on the device."""
        return sum(count for name, count in self.operators.items() if _short(name) not in _NO_LAUNCH)

    def fused(self, name: str) -> int:
        """Return how often the NPU operator `name` ran."""
        return self.operators[f"npu.{name}"]


_open: list[Recording] = []


@contextmanager
def recorded(callers: Mapping[str, CodeType] | None = None) -> Iterator[Recording]:
    """Record what runs on the emulated NPU inside the block, and which functions of these it runs for."""
    recording = Recording(callers={_place(code): name for name, code in (callers or {}).items()})
    _open.append(recording)
    try:
        yield recording
    finally:
        _open.remove(recording)


def note_operator(name: str) -> None:
    """Count one run of an operator, ``aten.add.Tensor`` or ``npu.npu_swiglu``."""
    for recording in _open:
        recording.operators[name] += 1
        if _short(name) in _WAITING:
            recording.waits[name] += 1
        if recording.callers and name.startswith("npu."):
            _note_callers(recording, name)


def _note_callers(recording: Recording, name: str) -> None:
    """Note for which of the callers an operator runs: the innermost, since others may only have called that one."""
    frame: FrameType | None = sys._getframe()
    while frame and _place(frame.f_code) not in recording.callers:
        frame = frame.f_back
    if frame:
        recording.called.setdefault(recording.callers[_place(frame.f_code)], set()).add(name)


def _place(code: CodeType) -> tuple[str, CodeType]:
    """Return what tells code from all other: the same text in the same line of another file is equal to it."""
    return code.co_filename, code


def note_wait(reason: str) -> None:
    """Count one time the host waits for the device."""
    for recording in _open:
        recording.waits[reason] += 1


def _short(name: str) -> str:
    return name.split(".")[1]
