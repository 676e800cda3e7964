"""A port of transformers → its wheels on CPU and the emulated NPU: our cases beside what upstream's code computes.

It is what `make follow PROVE="make prove"` runs: `npu-overlays follow` names the port by variables. What each operation
called is written into the port's folder, as in that of every pin. The exit code is 1 if a case fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from environments import ROOT, Installations, Torch, Unavailable, torch_environment
from environments.installer import install
from npu_overlays.contracts.lockfile import load_lock
from npu_overlays.contracts.overlay_code import called_operators
from npu_overlays.contracts.runtime_coverage import FIRED_FILE, RuntimeCoverage, render_coverage, shown_by
from npu_overlays.errors import OverlayError
from npu_overlays.files import write_atomically
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_schemas import stack_versions

CASES = ROOT / "tests" / "overlays" / "transformers" / "cases"
# They are of the emulation and of ranks, not of a pin.
_LEFT_OUT = ("test_collectives.py", "test_sharded_towers.py")
_VARIABLES = ("NPU_OVERLAYS_NAME", "NPU_OVERLAYS_ROOT", "NPU_OVERLAYS_WHEELS")


def operators_by_statement(content: Content) -> dict[str, list[str]]:
    """Return the operations that call NPU operators, by the statement that makes them, or else by their own name."""
    found: dict[str, list[str]] = {}
    for one in called_operators(content):
        found.setdefault(shown_by(one), []).append(f"{one.path}:{one.symbol}")
    return found


def main() -> int:
    """Prove the port that the variables name; returns the exit code."""
    missing = [name for name in _VARIABLES if not os.environ.get(name)]
    if missing:
        return _refused(f"{', '.join(missing)}: not set\nfix: npu-overlays follow --prove sets them")
    name, root, wheels = (os.environ[variable] for variable in _VARIABLES)
    try:
        overlay = find_overlay(Path(root), name)
    except OverlayError as error:
        return _refused(str(error))
    if overlay.pin.project != "transformers":
        return _refused(f"{name}: only ports of transformers can be proven\nfix: make follow PROJECTS=transformers")
    found = sorted(Path(wheels).glob("*.whl"))
    if not found:
        return _refused(f"{wheels}: holds no wheel\nfix: npu-overlays build {name} --out {wheels}")
    lock = load_lock(overlay)
    content = load_content(overlay, lock.metadata.version, lock.forms)
    with tempfile.TemporaryDirectory(prefix="npu-overlays-proof-") as folder:
        try:
            return _proven(content, found, lock.metadata.version, Path(folder))
        except (Unavailable, subprocess.CalledProcessError) as error:
            return _refused(f"{name}: cannot be tried: {error}\nfix: let pip reach what it needs")


def _refused(why: str) -> int:
    Console(stderr=True, highlight=False, soft_wrap=True).print(why, style="red", markup=False)
    return 2


def _proven(content: Content, wheels: list[Path], version: str, folder: Path) -> int:
    torch, overlay = torch_environment(), content.overlay
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
    seen = operations.with_suffix(".seen")
    if seen.is_file():
        fired = RuntimeCoverage(pin=overlay.pin.identity, called=json.loads(seen.read_text("utf-8")))
        write_atomically(overlay.folder / FIRED_FILE, render_coverage(fired).encode())
    return int(done.returncode != 0)


def _environment(torch: Torch, folder: Path, *requirements: str | Path) -> Torch:
    made = torch.beside(folder)
    install(made.python, requirements, given=("torch",))
    return made


def _run(python: Path, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    command = [str(python), *map(str, arguments)]
    return subprocess.run(command, env={**kept, **variables}, cwd=CASES.parent, check=False)


if __name__ == "__main__":
    sys.exit(main())
