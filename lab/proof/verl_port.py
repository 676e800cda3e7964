"""A port of verl → its wheels: verl's own tests for CPU as without them, and our cases on CPU and the emulated NPU.

They run in the environment of the newest stack whose packages the port's upstream can be installed beside, with the
transformers of that stack, and our cases are those for its verl. What costs much and finds little beyond the others is
left out, as `make sampled` leaves it out, and so is a case that imports a module that upstream has removed since.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from rich.console import Console

from environments import ROOT, Installations, Torch, unpack_beside, unpack_upstream
from environments.installer import place
from npu_overlays.contracts.lock_head import load_metadata
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_overlays.overlay.project import Overlay
from verl_cases import ALONE, case_endings, install_beside
from verl_stacks import STACKS, Stack
from verl_tests import BESIDE, PATCHED, UPSTREAM, Laboratory


def prove(overlay: Overlay, wheels: list[Path], folder: Path) -> bool:
    """Return whether verl's tests end as over upstream, and our cases pass; prints what does not.

    Args:
        overlay: the port.
        wheels: those built of it.
        folder: for trees, environments and logs.

    Raises:
        OverlayError: it fits no stack, its source holds no tests, or none of them passes over upstream.
        Unavailable: upstream, or what a stack holds, cannot be had.
        subprocess.CalledProcessError: a wheel cannot be installed.
    """
    stack = fitting_stack(load_metadata(overlay).requires)
    _say(f"{overlay.name}: beside what {stack.verl} and {stack.transformers} are tried with")
    unpack_upstream(overlay.folder, folder / UPSTREAM)
    unpack_beside(overlay.folder, folder / BESIDE, "tests")
    place(stack.environment().python, wheels, folder / PATCHED)
    differences = differences_of_upstreams(stack, folder)
    failures = _failures_of_ours(stack, wheels, folder)
    for line in (*differences, *failures):
        _say(line)
    return not differences and not failures


def fitting_stack(requires: Sequence[str]) -> Stack:
    """Return the stack with the newest verl whose environment contradicts no requirement; raises `OverlayError`."""
    wrong = []
    for stack in sorted(STACKS, key=_version, reverse=True):
        contradicted = list(_contradicted(requires, stack.environment()))
        if not contradicted:
            return stack
        wrong.append(f"{stack.verl}: {', '.join(contradicted)}")
    what = f"no stack has what the port requires: {'; '.join(wrong)}"
    raise OverlayError(Problem(where="lab/verl_stacks.py", what=what, fix="add a stack with a transformers that fits"))


def _version(stack: Stack) -> Version:
    return Version(load_metadata(find_overlay(ROOT / "overlays", stack.verl)).version)


def _contradicted(requires: Sequence[str], environment: Torch) -> Iterator[str]:
    """Yield the requirements that what is installed contradicts; what is not there is for things that are not tried."""
    installed = {canonicalize_name(one.name): one.version for one in distributions(path=[str(environment.packages)])}
    for text in requires:
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        version = installed.get(canonicalize_name(wanted.name))
        if version and not wanted.specifier.contains(version, prereleases=True):
            yield f"{text} (there is {version})"


def differences_of_upstreams(stack: Stack, folder: Path) -> list[str]:
    """Return verl's own tests that end otherwise over a port; raises `OverlayError` if none passes over upstream."""
    laboratory = Laboratory(folder=folder, python=None, clusters=False)
    verdict = laboratory.tried(stack.verl, folder)
    _say(f"{verdict.passed} of verl's own tests pass, {verdict.imported} changed modules are imported")
    if not verdict.passed:
        what = "none of verl's own tests passes without the port, so that they show nothing"
        fix = f"try one with {stack.environment().python} in {folder / UPSTREAM}"
        raise OverlayError(Problem(where=stack.verl, what=what, fix=fix))
    return [f"verl's own: {line}" for line in verdict.differences]


def _failures_of_ours(stack: Stack, wheels: list[Path], folder: Path) -> list[str]:
    installations = Installations(folder)
    patched, upstream = install_beside(stack, wheels, folder / UPSTREAM, installations, folder / "installed")
    endings = case_endings(stack.processes, patched, upstream, folder, *ALONE)
    _say(f"{list(endings.values()).count('passed')} of {len(endings)} cases of ours pass")
    older = stack.upstream(installations, stack.environment())
    failures = []
    for case, ending in endings.items():
        if not ending.startswith("failed"):
            continue
        said = _last_line(folder / "actor.log") if "actor.pt" in ending else ending
        if module := retired_module(said, older, folder / UPSTREAM):
            _say(f"left out: {case}: upstream has no {module} any more")
        else:
            failures.append(f"ours: {case}: {ending}")
    return failures


def retired_module(said: str, older: Path, newer: Path) -> str:
    """Return the module of upstream's that an import did not find because upstream removed it; empty if none is named.

    Args:
        said: what the import said.
        older: the packages of the stack's verl, not patched, which the cases were written for.
        newer: those of the port's verl, not patched.
    """
    named = re.search(r"cannot import name '(?P<name>\w+)' from '(?P<package>[\w.]+)'", said)
    missing = re.search(r"No module named '(?P<module>[\w.]+)'", said)
    if named:
        module = f"{named['package']}.{named['name']}"
    elif missing:
        module = missing["module"]
    else:
        return ""
    return module if _has(older, module) and not _has(newer, module) else ""


def _has(packages: Path, module: str) -> bool:
    path = packages.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def _last_line(log: Path) -> str:
    return log.read_text("utf-8").rstrip().rpartition("\n")[2]


def _say(line: str) -> None:
    Console(highlight=False, soft_wrap=True).print(line, markup=False)
