"""Schemas: a torch_npu wheel in, its operators' schemas and whether autograd knows them out.

Nothing is imported: the library in the wheel carries its schemas as text, and
the names of its autograd nodes. Run as a script with the paths of wheels, it
prints what `lab/emulation/schemas.json` holds.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

# What verl calls itself, where the loaded torch_npu has it.
UPSTREAMS = ("npu_cross_entropy_loss",)
OPERATORS = (
    *UPSTREAMS,
    "npu_fusion_attention",
    "npu_grouped_matmul",
    "npu_moe_token_permute",
    "npu_moe_token_unpermute",
    "npu_rms_norm",
    "npu_rotary_mul",
    "npu_swiglu",
)
_TEXT = re.compile(rb"[\x20-\x7e]{8,}")


def read_wheel(wheel: Path) -> dict[str, dict[str, object]]:
    """Return, for each operator the wheel has, its `schema` and whether it has a `backward`."""
    with zipfile.ZipFile(wheel) as archive:
        library = next(name for name in archive.namelist() if name.endswith("/libtorch_npu.so"))
        texts = set(_TEXT.findall(archive.read(library)))
    schemas = {text.decode().partition("(")[0]: text.decode() for text in texts if b") -> " in text}
    return {
        name: {"schema": schemas[name], "backward": f"{_camel(name)}Backward0".encode() in texts}
        for name in OPERATORS
        if name in schemas
    }


def version_of(wheel: Path) -> str:
    """Return the version in a wheel's file name."""
    return wheel.name.split("-")[1]


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


if __name__ == "__main__":
    found = {version_of(Path(path)): read_wheel(Path(path)) for path in sys.argv[1:]}
    sys.stdout.write(json.dumps(found, indent=2, sort_keys=True) + "\n")
