"""Environments: torch 2.13 once per machine, and beside it the wheels of one overlay.

torch is kept in the cache folder between runs, since unpacking it takes half a
minute; what is tested is built and installed anew every time. Nothing is compiled
when it is installed: of thousands of modules most are never imported.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from platformdirs import user_cache_path

from environments.installer import install
from environments.once import once
from npu_doctor.stacks import CPU_INDEX

ROOT = Path(__file__).resolve().parent.parent.parent
# Only builds for CPU alone: the ordinary ones bring gigabytes that no test uses.
TORCH = "torch==2.13.0+cpu"
REQUIREMENTS = (
    "filelock",
    "huggingface-hub>=0.34,<1",
    "numpy",
    "packaging",
    "pytest>=8",
    "pyyaml",
    "regex",
    "requests",
    "safetensors",
    "tqdm",
)
# The exit code that says that the pinned upstream cannot be had.
_UNREACHABLE = 4
_PACKAGES = ("transformers", "verl", "recipe")
# torch comes for some versions of Python only; the first of these that can have it is used.
PYTHONS = (sys.executable, "python3.11", "python3.12", "python3.10", "python3.13")


class Unavailable(Exception):  # noqa: N818  # a reason to skip, not an error
    """What is needed cannot be had here; the message says what and why."""


def reason(error: Exception) -> str:
    """Return why something failed: the last line that a process said, if it said any, else what the error says."""
    if isinstance(error, Unavailable):
        return str(error)
    said = (getattr(error, "stderr", None), getattr(error, "output", None))
    texts = (text.decode(errors="replace") if isinstance(text, bytes) else text or "" for text in said)
    lines = [line for text in texts for line in text.strip().splitlines()[-1:]]
    return lines[0] if lines else f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class Torch:
    """An environment with torch."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        """Its site-packages."""
        (folder,) = self.folder.glob("lib/python*/site-packages")
        return folder

    def beside(self, folder: Path) -> Torch:
        """Return a new environment in `folder` that sees everything of this one."""
        _run(self.python, "-m", "venv", "--without-pip", folder)
        made = Torch(folder)
        (made.packages / "torch.pth").write_text(f"{self.packages}\n", "utf-8")
        return made


def torch_environment() -> Torch:
    """Return the machine's environment with torch, made where it is missing; raises `Unavailable`."""
    reasons = []
    for name in PYTHONS:
        python = shutil.which(name)
        if python is None:
            continue
        try:
            return _torch_for(Path(python))
        except subprocess.CalledProcessError as error:
            reasons.append(f"{name}: {reason(error)}")
    fix = f"supply its wheel by PIP_FIND_LINKS=FOLDER, or name an index that has it: PIP_EXTRA_INDEX_URL={CPU_INDEX}"
    raise Unavailable(f"no Python here can install {TORCH}: {fix} (" + "; ".join(reasons) + ")")


def _torch_for(python: Path) -> Torch:
    # Of a virtual environment only the Python it was made from matters: every clone of the project uses one copy.
    version = _run(python, "-c", "import sys; print(sys.version, sys.base_prefix)")
    digest = hashlib.sha256("\n".join((version, TORCH, *REQUIREMENTS)).encode()).hexdigest()[:12]

    def make(folder: Path) -> None:
        _run(python, "-m", "venv", "--clear", "--without-pip", folder)
        made = Torch(folder).python
        # Only pip looks where its configuration says that builds for CPU alone may be.
        _run(sys.executable, "-m", "pip", "--python", made, "install", "--quiet", "--no-compile", TORCH)
        install(made, REQUIREMENTS)

    (cache_folder() / "torch").mkdir(parents=True, exist_ok=True)
    return Torch(once(cache_folder() / "torch", digest, make))


def cache_folder() -> Path:
    """Return the folder that keeps things between runs."""
    return Path(os.environ.get("NPU_OVERLAYS_CACHE") or user_cache_path("npu-overlays"))


@dataclass(frozen=True)
class Installations:
    """Builds overlays and installs them beside torch."""

    folder: Path

    def wheels(self, overlay: str) -> list[Path]:
        """Return the wheel of an overlay and its companion, built once a run; raises `Unavailable`."""

        def make(folder: Path) -> None:
            _npu_overlays("build", overlay, "--out", str(folder))

        self.folder.mkdir(parents=True, exist_ok=True)
        return sorted(once(self.folder, f"wheels-{overlay}", make).glob("*.whl"))

    def doctor(self) -> Path:
        """Return the wheel of npu-doctor, built once a run."""
        return self._built("doctor", ROOT / "build_tools")

    def recipes(self) -> Path:
        """Return the wheel of npu-recipes, built once a run."""
        return self._built("recipes", ROOT / "recipes")

    def _built(self, name: str, project: Path) -> Path:
        def make(folder: Path) -> None:
            command = (Path(sys.executable), "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
            _run(*command, "--disable-pip-version-check", "--wheel-dir", folder, project)

        self.folder.mkdir(parents=True, exist_ok=True)
        (wheel,) = once(self.folder, name, make).glob("*.whl")
        return wheel

    def install(self, torch: Torch, overlay: str) -> Torch:
        """Return an environment with an overlay's wheels, npu-doctor and what they require, made once a run."""
        return self._beside(torch, f"installed-{overlay}", *self.wheels(overlay), self.doctor())

    def packages(self, torch: Torch, name: str, requirements: tuple[str, ...], *, given: tuple[str, ...] = ()) -> Path:
        """Return a folder of further packages, for PYTHONPATH, made once a run; those given are not among them."""
        return self._beside(torch, f"packages-{name}", *requirements, given=given).packages

    def _beside(self, torch: Torch, name: str, *requirements: str | Path, given: tuple[str, ...] = ()) -> Torch:
        def make(folder: Path) -> None:
            install(torch.beside(folder).python, requirements, given=("torch", *given))

        return Torch(once(self.folder, name, make))

    def checkout(self, overlay: str, *paths: str, commit: str = "") -> Path:
        """Return a folder with files and folders of the pinned upstream commit, or another; raises `Unavailable`."""

        def make(folder: Path) -> None:
            _unpack(overlay, folder, lambda path: path if path.partition("/")[0] in paths else "", commit=commit)

        folder = once(self.folder, f"checkout-{overlay}", make)
        missing = [path for path in paths if not (folder / path).exists()]
        if missing:
            raise Unavailable(f"the source of {overlay} has no {', '.join(missing)}: git must be able to reach it")
        return folder

    def upstream(self, torch: Torch, overlay: str) -> Torch:
        """Return an environment with the upstream package an overlay is made from, unpatched."""
        installed = self.install(torch, overlay)

        def make(folder: Path) -> None:
            made = torch.beside(folder)
            for name in installed.packages.iterdir():
                # What the wheel requires at another version than torch's environment has.
                if not name.name.startswith(("transformers", "torch.pth")):
                    (made.packages / name.name).symlink_to(name)
            unpack_upstream(overlay, made.packages)

        return Torch(once(self.folder, f"upstream-{overlay}", make))


def unpack_upstream(overlay: str, folder: Path) -> None:
    """Write the packages an overlay is made from, unpatched, into a folder."""
    _unpack(overlay, folder, _packaged)


def _packaged(path: str) -> str:
    """Return where a repository path lies in a folder of packages, or nothing."""
    inside = path.removeprefix("src/")
    return inside if inside.partition("/")[0] in _PACKAGES and "/" in inside else ""


def _unpack(overlay: str, target: Path, place: Callable[[str], str], *, commit: str = "") -> None:
    """Write files of the pinned upstream commit, as they are, to where `place` puts their paths; empty for nowhere.

    `commit` is another one of the same repository; raises `Unavailable` where git cannot reach it.
    """
    from npu_overlays.errors import SourceError  # noqa: PLC0415
    from npu_overlays.overlay.configuration import load_overlay  # noqa: PLC0415
    from npu_overlays.overlay.source_choice import choice_from  # noqa: PLC0415  # the build tool is asked only where needed
    from npu_overlays.pipeline.upstream import acquire  # noqa: PLC0415

    wanted = load_overlay(ROOT / "overlays" / overlay)
    if commit:
        wanted = replace(wanted, pin=replace(wanted.pin, commit=commit, tag="", archives=()))
    choice = choice_from(os.environ)
    try:
        tree = acquire(wanted, choice.mode_for(wanted), choice.clone(wanted.pin.project))
    except SourceError as error:
        raise Unavailable(str(error)) from error
    for path in filter(place, tree.entries):
        file = target / place(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(tree.read(path))


def _npu_overlays(*arguments: str) -> None:
    try:
        _run(Path(sys.executable), "-m", "npu_overlays", *arguments, cwd=ROOT)
    except subprocess.CalledProcessError as error:
        if error.returncode == _UNREACHABLE:
            raise Unavailable(error.stderr.strip()) from error
        raise AssertionError(f"npu-overlays {' '.join(arguments)}:\n{error.stdout}{error.stderr}") from error


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout
