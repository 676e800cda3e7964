"""`follow` as the robot runs it: every project, layers and pins shaped as those of transformers and verl."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.environment import Environment
from support.overlays import write_layer
from support.wheels import write_wheel

pytestmark = pytest.mark.slow

PIN = """\
[build-system]
requires = ["npu-overlays"]
build-backend = "npu_overlays.backend"

[tool.overlay]
project = "{project}"
revision = 1
{more}
[[tool.overlay.upstream.archive]]
distribution = "{project}"
version = "{version}"
file = "{file}"
sha256 = "{digest}"
"""
LAYER = 'suffix = "npu"\npurpose = "NPU"\nlicense-files = ["LICENSE"]\n'
NORM = b"class Norm:\n    def forward(self, x):\n        return x\n\n\ndef rotary(q):\n    return q\n"
NORM_OVERLAY = b"""\
from npu_overlays.markers import edited, upstream, wrapped


class Norm:
    @wrapped(why="Fused on the NPU.")
    def forward(self, x):
        return upstream(self, x)


@edited(("return q", "return q + 0"), why="One kernel.")
def rotary(q): ...
"""
TRAINER = b"import transformers\n\n\ndef fit(steps):\n    return transformers, steps\n"
TRAINER_OVERLAY = b"""\
from npu_overlays.markers import upstream, wrapped


@wrapped(why="Starts the device first.")
def fit(steps):
    return upstream(steps)
"""


@dataclass(frozen=True)
class Projects:
    """Overlays of two projects, each a layer and its pins, and the index of their releases."""

    environment: Environment

    @property
    def overlays(self) -> Path:
        return self.environment.folder / "overlays"

    def transformers(self, version: str, model: bytes) -> Path:
        """Release a transformers, whose wheel lacks the folder `src` of its repository."""
        files = {"transformers/__init__.py": b"", "transformers/models/norm.py": model}
        return self._release("transformers", version, files)

    def verl(self, version: str, trainer: bytes) -> Path:
        """Release a verl, whose wheel holds its tests too."""
        files = {"verl/__init__.py": b"", "verl/trainer/fit.py": trainer, "verl/trainer/fit.yaml": b"steps: 1\n"}
        files["tests/test_fit_on_cpu.py"] = b"def test_fit(): ...\n"
        return self._release("verl", version, files)

    def pin(self, wheel: Path, more: str = "") -> None:
        project, version = wheel.name.split("-")[:2]
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        text = PIN.format(project=project, version=version, file=wheel.name, digest=digest, more=more)
        folder = self.overlays / f"{project}@{version}"
        folder.mkdir()
        (folder / "pyproject.toml").write_text(text)

    def followed(self, *arguments: str) -> list[tuple[str, str, str, int]]:
        """Return for each port where it began, its name, the outcome and the number of parts left."""
        found = self.environment.ok("follow", "--overlays", "overlays", "--json", *arguments).json()
        return [(one["from"], one["to"], one["outcome"], one["left"]) for one in found]

    def adopt(self, name: str) -> None:
        """Take a port over, as a pull request that is merged does."""
        port = self.environment.folder / "follow" / name / "overlays" / name
        shutil.copytree(port, self.overlays / name)

    def _release(self, project: str, version: str, files: dict[str, bytes]) -> Path:
        licence = {f"{project}-{version}.dist-info/licenses/LICENSE": b"Free for all.\n"}
        return write_wheel(self.environment.folder / "index", project, version, {**files, **licence})


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    made = Projects(Environment(folder=tmp_path))
    config = LAYER + 'packages = ["src/transformers"]\n'
    files = {"tree/src/transformers/models/norm.py": NORM_OVERLAY}
    write_layer(made.overlays / "transformers", project="transformers", config=config, files=files)
    config = LAYER + 'packages = ["verl"]\nnot-built = ["tests"]\n'
    write_layer(
        made.overlays / "verl", project="verl", config=config, files={"tree/verl/trainer/fit.py": TRAINER_OVERLAY}
    )
    made.pin(made.transformers("4.9", NORM))
    made.pin(made.transformers("5.0", NORM))
    edit = '\n[[tool.overlay.edit]]\npaths = ["verl/trainer/fit.yaml"]\nfind = "steps: 1"\nreplace = "steps: 2"\n'
    made.pin(made.verl("0.8", TRAINER), edit + 'why = "One step is none."\n')
    made.environment.ok("lock", "--all", "--overlays", "overlays")
    return made


@pytest.mark.thorough
def test_each_project_is_followed_past_its_failures_until_its_ports_are_adopted(projects: Projects) -> None:
    assert projects.followed() == []

    projects.transformers("5.1", NORM + b"\n\nONE = 1\n")
    (projects.environment.folder / "index/transformers-5.2-py3-none-any.whl").write_bytes(b"half a wheel")
    projects.transformers("5.3", NORM.replace(b"return q", b"return rotated(q)"))
    projects.transformers("5.4", NORM.replace(b"def forward(self, x)", b"def forward(self, states)"))
    projects.verl("0.9", TRAINER.replace(b"def fit(", b"@transformers.traced\ndef fit("))
    projects.verl("0.10", TRAINER.replace(b"fit(steps)", b"fit(steps, seed=0)"))
    assert projects.followed("--prove", "true") == [
        ("transformers@5.0", "transformers@5.1", "proven", 0),
        ("transformers@5.1", "transformers@5.2", "failed", 0),
        ("transformers@5.1", "transformers@5.3", "decide", 1),
        ("transformers@5.1", "transformers@5.4", "proven", 0),
        ("verl@0.8", "verl@0.9", "decide", 1),
        ("verl@0.8", "verl@0.10", "proven", 0),
    ]

    projects.adopt("transformers@5.4")
    projects.adopt("verl@0.10")
    assert projects.followed() == []
    projects.verl("0.11", TRAINER.replace(b"fit(steps)", b"fit(steps, seed=0, rank=0)"))
    assert projects.followed() == [("verl@0.10", "verl@0.11", "unproven", 0)]
