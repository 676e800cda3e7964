"""A folder of wheels as `npu-overlays build` leaves it, with everything in them that a page could stumble over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from npu_doctor.knowledge import load
from npu_doctor.stacks import constraints_name
from npu_overlays.wheels.constraints import constraints_text
from summary.pages import DIFF, sample
from summary.samples import change, distribution, file
from support.wheels import write_wheel

if TYPE_CHECKING:
    from summary.samples import Json

STACK = "verl-0.9.1"
VERSIONS = {"transformers": "5.10.4+npu.1.a8c5b99b", "verl": "0.9.1+npu.1.adb6e6f2"}
_NORM = """\
diff --git a/src/transformers/norm.py b/src/transformers/norm.py
--- a/src/transformers/norm.py
+++ b/src/transformers/norm.py
@@ -7,3 +7,4 @@
 def norm(x):
-    return slow(x)
+    text = '''two
+    lines'''
+    return fused(x)
 # end
"""


def fill(folder: Path) -> None:
    """Write both wheels of the default stack, their companions, npu-doctor, constraints, and a stranger's wheel."""
    norm = [file("src/transformers/norm.py", [], [change("replaced", "method", "norm", line=10)])]
    _patched(folder, distribution("transformers", norm), VERSIONS["transformers"], _NORM.encode())
    _patched(folder, sample(), VERSIONS["verl"], DIFF)
    for name, version in VERSIONS.items():
        write_wheel(folder, name, version, {f"{name}.py": b""})
    write_wheel(folder, "npu_doctor", "1.0", {"npu_doctor/__init__.py": b""})
    _patched(folder, distribution("attrs", []), "25.1.0+npu.1.g0123456", b"")
    catalogue = load()
    (stack,) = (one for one in catalogue.stacks if one.name == STACK)
    ours: dict[str, list[str]] = {}
    for overlay in stack.overlays:
        name = overlay.partition("@")[0]
        ours[overlay] = [f"{name}-npu=={VERSIONS[name]}", f"{name}=={VERSIONS[name]}"]
    (folder / constraints_name(STACK)).write_text(constraints_text(stack, catalogue, ours), "utf-8")


def _patched(folder: Path, changes: Json, version: str, diff: bytes) -> None:
    project = changes["upstream"]["project"]
    changes["distribution"]["version"] = version
    summary = f"{project}_npu_summary"
    files = {f"{summary}/changes.json": json.dumps(changes).encode(), f"{summary}/changes.diff": diff}
    write_wheel(folder, f"{project}_npu", version, files)
