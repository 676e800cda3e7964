"""A port → its wheels on CPU and the emulated NPU, as those of pins are tried.

The exit code is 1 if a case fails, and 2 if the cases cannot run.
It is what `make follow PROVE="make prove"` runs: `npu-overlays follow` names the port by variables.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from environments import Unavailable, reason
from npu_overlays.errors import OverlayError, Problem, UsageError
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_overlays.overlay.project import Overlay
from proof import transformers_port, verl_port

_VARIABLES = ("NPU_OVERLAYS_NAME", "NPU_OVERLAYS_ROOT", "NPU_OVERLAYS_WHEELS")
_PROOFS: Mapping[str, Callable[[Overlay, list[Path], Path], bool]] = {
    "transformers": transformers_port.prove,
    "verl": verl_port.prove,
}


def main() -> int:
    """Prove the port that the variables name; returns the exit code."""
    try:
        overlay, wheels = _named(os.environ)
        with tempfile.TemporaryDirectory(prefix="npu-overlays-proof-") as folder:
            return int(not _PROOFS[overlay.pin.project](overlay, wheels, Path(folder)))
    except OverlayError as error:
        why = str(error)
    except (Unavailable, subprocess.CalledProcessError) as error:
        why = f"cannot be tried: {reason(error)}\nfix: let pip reach what it needs"
    Console(stderr=True, highlight=False, soft_wrap=True).print(why, style="red", markup=False)
    # Make has one exit code for whatever fails, so `follow` reads a file.
    if file := os.environ.get("NPU_OVERLAYS_UNTRIED"):
        Path(file).write_text(why.partition("\n")[0], "utf-8")
    return 2


def _named(variables: Mapping[str, str]) -> tuple[Overlay, list[Path]]:
    """Return the port that variables name, and its wheels; raises `OverlayError` where it cannot be proven."""
    if missing := [name for name in _VARIABLES if not variables.get(name)]:
        raise UsageError(Problem(where=", ".join(missing), what="not set", fix="npu-overlays follow --prove sets them"))
    name, root, wheels = (variables[variable] for variable in _VARIABLES)
    overlay = find_overlay(Path(root), name)
    if overlay.pin.project not in _PROOFS:
        fix = f"make follow PROJECTS={overlay.pin.project}, without PROVE"
        raise UsageError(Problem(where=name, what=f"only ports of {' and '.join(_PROOFS)} can be proven", fix=fix))
    found = sorted(Path(wheels).glob("*.whl"))
    if not found:
        raise UsageError(Problem(where=wheels, what="holds no wheel", fix=f"npu-overlays build {name} --out {wheels}"))
    return overlay, found


if __name__ == "__main__":
    sys.exit(main())
