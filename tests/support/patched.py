"""A tiny verl and transformers, patched and built by the real tool, and folders they are installed in."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments.once import once
from support.environment import Done, Environment
from support.overlays import give_out, write_overlay, write_stacks
from support.upstreams import METADATA, make_upstream
from support.wheelhouse import DOCTOR, make_own_wheels
from support.wheels import pack_installed, write_wheel

MODEL = b'''\
"""A model."""

import functools


def logged(function):
    @functools.wraps(function)
    def run(*args, **kwargs):
        return function(*args, **kwargs)

    return run


class Norm:
    """Normalizes."""

    eps = 1

    def forward(self, x):
        return x

    @property
    def size(self):
        return 1

    @staticmethod
    def make():
        return Norm()

    @classmethod
    def build(cls):
        return cls()

    @logged
    def logged(self, x):
        return x


@functools.lru_cache(maxsize=None)
def cached():
    return 1


def rotary(q):
    return q


def fail(x):
    raise ValueError(x)
'''
MODEL_OVERLAY = b"""\
from npu_overlays.markers import added, replaced, upstream, wrapped


class Norm:
    @wrapped(why="Fused on the NPU.")
    def forward(self, x):
        return upstream(self, x)

    @added(why="Tells the device.")
    def device(self):
        return "npu"


@replaced(why="One kernel instead of four.", forwarded="https://example.invalid/pull/7")
def rotary(q):
    return q + 0


@wrapped(why="Names the value.")
def fail(x):
    return upstream(x)
"""
TRANSFORMERS: dict[str, bytes] = {
    METADATA: b"Metadata-Version: 2.1\nName: transformers\nVersion: 4.5.6\nSummary: Models\nRequires-Python: >=3.9\n"
    b"Description-Content-Type: text/markdown\n\n# models\n",
    "README.md": b"# models\n",
    "LICENSE": b"Free for all.\n",
    "src/transformers/__init__.py": b"",
    "src/transformers/models/__init__.py": b"",
    "src/transformers/models/model.py": MODEL,
    "src/transformers/models/data.json": b"{}\n",
    "src/transformers/utils.py": b"def helper():\n    return 1\n",
    "src/transformers/empty.txt": b"",
}
VERL: dict[str, bytes] = {
    METADATA: b"Metadata-Version: 2.1\nName: verl\nVersion: 0.6.1\nSummary: Training\nRequires-Python: >=3.9\n"
    b"Requires-Dist: transformers\nDescription-Content-Type: text/markdown\n\n# training\n",
    "README.md": b"# training\n",
    "LICENSE": b"Free for all.\n",
    "verl/__init__.py": b'__version__ = "0.6.1"\n',
    "verl/trainer.py": b"import transformers.models.model as model\n\n\ndef fit():\n    return model.rotary(1)\n",
    "verl/config/trainer.yaml": b"steps: 1\n",
    "recipe/dapo.py": b"STEPS = 1\n",
}
TRAINER_OVERLAY = b"""\
from npu_overlays.markers import upstream, wrapped


@wrapped(why="Starts the device first.")
def fit():
    return upstream()
"""


@dataclass(frozen=True, kw_only=True)
class Patched:
    """The built wheels.

    Args:
        folder: where everything lies; ``wheels`` and the upstream releases are in it.
        environment: pip and uv find the wheels through it, and nothing else.
    """

    folder: Path
    environment: Environment

    @property
    def wheels(self) -> Path:
        """The folder of wheels, companions included."""
        return self.folder / "wheels"

    @property
    def doctor(self) -> Path:
        """The folder of npu-doctor's wheel and of what that requires."""
        return self.folder / "doctor"

    def wheel(self, name: str) -> Path:
        """Return the wheel of a distribution, e.g. ``verl_npu``."""
        (found,) = self.wheels.glob(f"{name}-*+npu*.whl")
        return found

    def version(self, name: str) -> str:
        """Return a wheel's version."""
        return self.wheel(name).name.split("-")[1]


@dataclass(frozen=True, kw_only=True)
class InstalledSite:
    """A folder the wheels are installed in."""

    folder: Path
    patched: Patched

    def path(self, name: str) -> Path:
        """Return a file's path."""
        return self.folder / name

    def info(self, name: str) -> Path:
        """Return the metadata folder of a distribution, e.g. ``verl_npu``."""
        (found,) = self.folder.glob(f"{name}-*.dist-info")
        return found

    def write(self, name: str, content: bytes) -> None:
        """Write a file, folders included."""
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_bytes(content)

    def python(
        self, *arguments: str, python: str = sys.executable, cwd: Path | None = None, **more: str | None
    ) -> Done:
        """Run Python with this folder on its path; never writes bytecode."""
        env: dict[str, str | None] = {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", **more}
        return self.patched.environment.run(python, *arguments, cwd=cwd or self.folder.parent, **env)

    def verify(self, *arguments: str, **more: Any) -> Any:
        """Run ``--verify --json`` in a process of its own and return what it says, with the exit code as ``exit``."""
        done = self.python("-m", "verl_npu_summary", "--verify", "--json", *arguments, **more)
        assert done.out, done.err
        assert not done.err, done.err
        return {**json.loads(done.out), "exit": done.code}


def make_patched(shared: Path) -> Patched:
    """Return the wheels, built once a run."""
    folder = once(shared, "patched", _make)
    return Patched(folder=folder, environment=Environment(folder=folder, index=folder / "wheels"))


def _make(folder: Path) -> None:
    environment = Environment(folder=folder, index=folder / "wheels")
    transformers, transformers_commit = make_upstream(folder / "upstream/transformers", environment, TRANSFORMERS)
    verl, verl_commit = make_upstream(folder / "upstream/verl", environment, VERL)
    overlays = folder / "overlays"
    write_overlay(
        overlays,
        project="transformers",
        commit=transformers_commit,
        repository=transformers.url,
        packages=["src/transformers"],
        files={
            "tree/src/transformers/models/model.py": MODEL_OVERLAY,
            "tree/src/transformers/npu.py": b'"""Added for the NPU."""\n\n\ndef kernel():\n    return "npu"\n',
        },
    )
    write_overlay(
        overlays,
        project="verl",
        commit=verl_commit,
        repository=verl.url,
        packages=["verl", "recipe"],
        files={"tree/verl/trainer.py": TRAINER_OVERLAY},
    )
    names = [f"transformers@{transformers_commit[:7]}", f"verl@{verl_commit[:7]}"]
    write_stacks(overlays, "pair", {"pair": names})
    environment.ok("lock", "--all", "--overlays", overlays)
    give_out(overlays)
    environment.ok("build", "--all", "--overlays", overlays, "--out", folder / "wheels")
    for name, version, files in (("transformers", "4.5.6", TRANSFORMERS), ("verl", "0.6.1", VERL)):
        own = {path.removeprefix("src/"): content for path, content in files.items() if path.count("/")}
        own.pop(METADATA)
        write_wheel(folder / "wheels", name, version, own, metadata="Requires-Python: >=3.9\n")
    _install(environment, folder / "site", "pip")
    make_own_wheels(folder / "doctor", DOCTOR)
    pack_installed(folder / "doctor", "packaging")
    # Each process of the audit would compile it again.
    command = ("-m", "pip", "install", "--quiet", "--find-links", folder / "doctor")
    environment.python(*command, "--target", folder / "site", "npu-doctor")


def _install(environment: Environment, target: Path, tool: str) -> None:
    install = ["-m", "pip", "install"] if tool == "pip" else ["-m", "uv", "pip", "install", "--python", sys.executable]
    environment.python(
        *install, "--quiet", "--target", target, "verl-npu", *(["--no-compile"] if tool == "pip" else [])
    )


def copy_site(patched: Patched, folder: Path, *, doctor: bool = True) -> InstalledSite:
    """Return a fresh copy of the installation; without npu-doctor, which is most of it, where that is asked."""
    others = () if doctor else ("npu_doctor*", "npu_summary", "packaging*")
    shutil.copytree(patched.folder / "site", folder, ignore=shutil.ignore_patterns(*others))
    return InstalledSite(folder=folder, patched=patched)


def zip_site(site: InstalledSite, file: Path) -> None:
    """Pack an installation into a zip file for zipimport."""
    with zipfile.ZipFile(file, "w") as archive:
        for entry in sorted(site.folder.rglob("*")):
            archive.write(entry, entry.relative_to(site.folder).as_posix())


def compile_all(site: InstalledSite, *options: str, python: str = sys.executable) -> None:
    """Compile every module of the wheels, as installers do."""
    command = [python, "-m", "compileall", "-q", "-x", "/(npu_doctor|packaging)/", *options, str(site.folder)]
    subprocess.run(command, check=True, capture_output=True)
