"""Stacks of verl: the pin in; an environment with torch and verl's dependencies, and folders with its packages, out.

What verl depends on is kept in the cache folder between runs, as torch is; what
is tested is built and installed anew every time, and laid over it by PYTHONPATH.
"""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from environments import Installations, Torch, Unavailable, cache_folder, torch_environment, unpack_upstream
from environments.installer import install, place
from environments.once import once
from npu_schemas import stack_versions

# The cases of `tests/overlays/verl` that are for every stack, by the names there.
PROCESSES = ("training at length", "cpu", "npu", "drivers", "drivers on a cluster", "engines", "audits", "sharded")
# What npu-recipes asks for, which is laid over these environments too.
RECIPES = ("matplotlib", "rich")
# What verl and transformers import when models are trained, at versions that the pins before numpy 2 work with.
# No wandb and no dashboard of ray: nothing here reports to them.
REQUIREMENTS = (
    *RECIPES,
    "accelerate",
    "codetiming",
    "datasets>=3,<4",
    "dill",
    "einops",
    "huggingface-hub>=0.34,<1",
    "hydra-core",
    "numpy<2",
    "packaging>=20",
    "pandas<3",
    "peft",
    "psutil",
    "pyarrow>=19,<21",
    "pybind11",
    "pydantic",
    "pylatexenc",
    "ray>=2.41",
    "torchdata",
)
# The same for the pins from numpy 2 on, and what their trainers import besides.
NUMPY_2 = (
    *RECIPES,
    "TransferQueue>=0.1.10",
    "accelerate",
    "cachetools",
    "codetiming",
    "datasets>=3,<4",
    "dill",
    "fastapi",
    "huggingface-hub>=1",
    "hydra-core",
    "msgspec",
    "numpy>=2",
    "packaging>=20",
    "pandas<3",
    "peft",
    "pillow",
    "psutil",
    "pyarrow>=19,<21",
    "pybind11",
    "pydantic",
    "pylatexenc",
    "pyzmq",
    "ray>=2.41",
    "torchdata",
    "uvicorn",
)


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Two overlays that belong together.

    Args:
        verl: name of verl's overlay.
        transformers: name of the one it is paired with.
        requirements: what this stack needs at versions of its own. The transformers among them lies below the one that
            is tested: without a bound pip tries every newer one first, for a quarter of a minute.
        base: what it has in common with others.
        processes: which of the cases in `tests/overlays/verl` are for it, by the names there.
        thorough: whether `make test` leaves it out: the newest stack is tried always.
        git_only: whether there is no release to build from where git cannot be reached.
    """

    verl: str
    transformers: str
    requirements: tuple[str, ...]
    base: tuple[str, ...] = REQUIREMENTS
    processes: tuple[str, ...] = (*PROCESSES, "images")
    thorough: bool = True
    git_only: bool = False

    @property
    def marks(self) -> list[pytest.MarkDecorator]:
        """What tests of this stack are marked with."""
        return [pytest.mark.thorough] * self.thorough + [pytest.mark.upstream] * self.git_only

    @property
    def torch_npu(self) -> str:
        """The newest torch_npu that published stacks name beside the transformers."""
        return stack_versions(self.transformers)[-1]

    def environment(self) -> Torch:
        """Return an environment with all this stack needs but its own wheels; raises `Unavailable`."""
        torch = torch_environment()
        wanted = (*self.base, *self.requirements)
        digest = hashlib.sha256("\n".join((str(torch.folder), *wanted)).encode()).hexdigest()[:12]

        def make(folder: Path) -> None:
            try:
                install(torch.beside(folder).python, wanted, given=("torch",))
            except subprocess.CalledProcessError as error:
                if _contradicts(error.stderr):
                    raise
                raise Unavailable(f"verl's dependencies cannot be installed: {error.stderr.strip()[-300:]}") from error

        (cache_folder() / "verl").mkdir(parents=True, exist_ok=True)
        return Torch(once(cache_folder() / "verl", digest, make))

    def installed(self, installations: Installations, environment: Torch) -> Path:
        """Return a folder with the stack's wheels and npu-doctor, for PYTHONPATH, made once a run.

        Raises:
            Unavailable: the source of one of the two cannot be had.
        """
        wheels = [*self._wheels(installations), installations.doctor()]
        return once(
            installations.folder, f"stack-{self.verl}", lambda folder: place(environment.python, wheels, folder)
        )

    def recipes(self, installations: Installations, environment: Torch) -> Path:
        """Return a folder with npu-recipes, for PYTHONPATH beside that of `installed`, made once a run."""
        wheels = [installations.recipes()]
        return once(installations.folder, "recipes-alone", lambda folder: place(environment.python, wheels, folder))

    def upstream(self, installations: Installations, environment: Torch) -> Path:
        """Return a folder with the packages this stack is made from, unpatched; raises `Unavailable`."""
        # They hold no code, only the names and versions that transformers and verl ask for.
        companions = [wheel for wheel in self._wheels(installations) if "_npu-" not in wheel.name]

        def make(folder: Path) -> None:
            place(environment.python, companions, folder)
            for overlay in (self.verl, self.transformers):
                unpack_upstream(overlay, folder)

        return once(installations.folder, f"upstream-stack-{self.verl}", make)

    def _wheels(self, installations: Installations) -> list[Path]:
        return [*installations.wheels(self.verl), *installations.wheels(self.transformers)]


def _contradicts(said: str) -> bool:
    """Return whether requirements of ours contradict each other: a defect, and no reason to skip anything."""
    unsatisfiable = "ResolutionImpossible" in said or "requirements are unsatisfiable" in said
    return unsatisfiable and "was not found in" not in said


STACKS = (
    Stack(
        verl="verl@0.9.1",
        transformers="transformers@5.10.4",
        base=NUMPY_2,
        processes=(
            "all on a cpu",
            "training at length",
            "platform of the npu",
            "drivers on a cluster",
            "audits",
            "images",
        ),
        thorough=False,
        requirements=("tokenizers>=0.22,<=0.23.0", "transformers>=5.10,<5.11", "tensordict>=0.10.0,<=0.10.0"),
    ),
    Stack(
        verl="verl@796871d",
        transformers="transformers@8365f70",
        # It has no forwards of its own for batches that mix images and text.
        processes=PROCESSES,
        requirements=("tokenizers>=0.21,<0.22", "transformers>=4.55,<4.56", "tensordict>=0.8,!=0.9.0,<=0.9.1"),
        git_only=True,
    ),
    Stack(
        verl="verl@d62da49",
        transformers="transformers@91393fe",
        requirements=("tokenizers>=0.22,<=0.23.0", "transformers>=4.57,<5", "tensordict>=0.8,!=0.9.0,<=0.10.0"),
    ),
    # Of Megatron this verl's overlay changes one call, MindSpeed's `repatch`, which test_mindspeed.py tries; all that
    # test_megatron.py computes is upstream's own code here, and so it skips itself.
    Stack(
        verl="verl@bec9ef7",
        transformers="transformers@4.57.6",
        requirements=(
            *("cachetools", "fastapi", "pillow", "uvicorn"),
            *("tokenizers>=0.22,<=0.23.0", "transformers>=4.57,<5", "tensordict>=0.10.0,<=0.10.0"),
        ),
    ),
)


def stack_of(name: str) -> Stack:
    """Return the stack with a verl; raises `Unavailable` where there is none."""
    stack = next((one for one in STACKS if one.verl == name), None)
    if stack is None:
        raise Unavailable(
            f"there is no environment for {name or 'this range'}: --python with what upstream's tests need"
        )
    return stack
