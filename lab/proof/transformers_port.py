"""A port of transformers → its wheels on CPU and the emulated NPU: our cases beside what upstream's code computes.

What each operation called is written into the port's folder, as in that of every pin.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from environments import ROOT, Installations, Torch, torch_environment
from environments.installer import install
from npu_overlays.contracts.lockfile import load_lock
from npu_overlays.contracts.overlay_code import called_operators
from npu_overlays.contracts.runtime_coverage import FIRED_FILE, RuntimeCoverage, render_coverage, shown_by
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.files import write_atomically
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.overlay.project import Overlay
from npu_schemas import stack_versions

CASES = ROOT / "tests" / "overlays" / "transformers" / "cases"
# They are of the emulation and of ranks, not of a pin.
_LEFT_OUT = ("test_collectives.py", "test_sharded_towers.py")
# Pytest's exit code if it collects no test, also because each module skips itself.
_NONE_RUN = 5


def operators_by_statement(content: Content) -> dict[str, list[str]]:
    """Return the operations that call NPU operators, by the statement that makes them, or else by their own name."""
    found: dict[str, list[str]] = {}
    for one in called_operators(content):
        found.setdefault(shown_by(one), []).append(f"{one.path}:{one.symbol}")
    return found


def prove(overlay: Overlay, wheels: list[Path], folder: Path) -> bool:
    """Return whether our cases pass.

    Args:
        overlay: the port.
        wheels: those built of it.
        folder: for environments.

    Raises:
        OverlayError: none of our cases is for this version.
        Unavailable: there is no torch.
        subprocess.CalledProcessError: a requirement cannot be installed, or upstream's code fails.
    """
    torch, lock = torch_environment(), load_lock(overlay)
    content, version = load_content(overlay, lock.metadata.version, lock.forms), lock.metadata.version
    patched = _environment(torch, folder / "patched", *wheels, Installations(folder).doctor())
    upstream = _environment(torch, folder / "upstream", f"transformers=={version}", "einops")
    reference, operations = folder / "upstream.pt", folder / "operations.json"
    operations.write_text(json.dumps(operators_by_statement(content)), "utf-8")
    _run(upstream.python, ROOT / "lab" / "tiny_models.py", reference).check_returncode()
    options: list[str | Path] = ["-q", "-c", CASES / "pytest.ini", *(f"--ignore={CASES / name}" for name in _LEFT_OUT)]
    done = _run(
        patched.python,
        "-m",
        "pytest",
        *options,
        CASES,
        UPSTREAM_REFERENCE=str(reference),
        FIRED=str(operations),
        EMULATED_TORCH_NPU=stack_versions(overlay.name)[-1],
    )
    is_proven = has_passed(done.returncode, overlay.name)
    seen = operations.with_suffix(".seen")
    if seen.is_file():
        fired = RuntimeCoverage(pin=overlay.pin.identity, called=json.loads(seen.read_text("utf-8")))
        write_atomically(overlay.folder / FIRED_FILE, render_coverage(fired).encode())
    return is_proven


def has_passed(code: int, name: str) -> bool:
    """Return whether cases pass, by pytest's exit code; raises `OverlayError` if none was run on the port."""
    if code == _NONE_RUN:
        what = "none of our cases is for this version, so that they show nothing"
        raise OverlayError(Problem(where=name, what=what, fix=f"add a case to {CASES}"))
    return code == 0


def _environment(torch: Torch, folder: Path, *requirements: str | Path) -> Torch:
    made = torch.beside(folder)
    install(made.python, requirements, given=("torch",))
    return made


def _run(python: Path, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    command = [str(python), *map(str, arguments)]
    return subprocess.run(command, env={**kept, **variables}, cwd=CASES.parent, check=False)
