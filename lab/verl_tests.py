"""verl's own tests for CPU: upstream's packages and the patched ones → how many pass, and which end otherwise."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from environments import Installations, torch_environment
from upstream_tests import Side, Suite, compare, passed
from verl_stacks import stack_of

# What verl's tests need beside what verl needs.
REQUIREMENTS = ("pytest-asyncio", "pytest-timeout")
# As verl's own CI runs them.
OPTIONS = ("-o", "python_files=*_on_cpu.py", "-o", "asyncio_mode=auto", "tests")
VARIABLES = {"TORCH_COMPILE_DISABLE": "1"}
# Folders of the trees: the packages, the same patched, and all else of upstream's repository.
UPSTREAM, PATCHED, BESIDE = "upstream", "patched", "beside"
# They wait for a clock or for a sandbox, and reach nothing that overlays change; or they start another Python, for
# half of the time of all others, to print a configuration that others compare with what it was.
LONG = ("tests/experimental/reward*", "tests/utils/reward_score")
PRINTING = "tests/utils/test_config_on_cpu.py::TestPrintCfgCommand"
# They start clusters of Ray, for most of the time of all tests together, and of what overlays change they reach what
# starts a worker.
CLUSTERS = ("tests/single_controller", "tests/trainer/ppo/v1")
_SECONDS = 60
# Run after all others, since it imports what those leave alone.
_IMPORTS = "tests/zz_every_changed_module_on_cpu.py"
_IMPORTING = """\
import importlib
import pytest

@pytest.mark.parametrize("name", {})
def test_imports(name):
    importlib.import_module(name)
"""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What upstream's tests say.

    Args:
        passed: how many of them pass over upstream.
        imported: how many of the changed modules can be imported there, which is tried beside them.
        differences: a line for each test, or import, that ends otherwise over the patched tree.
    """

    passed: int
    imported: int
    differences: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """Where upstream's tests are run.

    Args:
        folder: for what is installed.
        python: an interpreter with what they need, instead of those of the stacks; None for these.
        clusters: whether those that start clusters are run as well.
    """

    folder: Path
    python: Path | None
    clusters: bool

    def check(self, stacks: Sequence[str]) -> None:
        """Make the environments of these stacks, where they are not there; raises `Unavailable`."""
        for stack in stacks:
            self._environment(stack)

    def tried(self, stack: str, trees: Path) -> Verdict:
        """Return what upstream's tests say of a patched tree.

        Args:
            stack: the verl of the stack in whose environment they are run.
            trees: a folder with `UPSTREAM`, `PATCHED` and `BESIDE`.
        """
        python, extra = self._environment(stack)
        imports = trees / BESIDE / _IMPORTS
        imports.parent.mkdir(parents=True, exist_ok=True)
        imports.write_text(_IMPORTING.format(sorted(changed_modules(trees))), "utf-8")
        ignored = [f"--ignore-glob={path}" for path in (*LONG, *(() if self.clusters else CLUSTERS))]
        suite = Suite(
            checkout=trees / BESIDE,
            arguments=(*ignored, f"--deselect={PRINTING}", *OPTIONS),
            variables=VARIABLES,
            seconds_per_test=_SECONDS,
        )
        before, after = (_side(python, extra, trees / name) for name in (UPSTREAM, PATCHED))
        outcomes, delta = compare(suite, before, after, trees / "runs", _is_gain)
        own = {test: ending for test, ending in outcomes.items() if _is_import(test)}
        return Verdict(
            passed=passed(outcomes) - passed(own), imported=passed(own), differences=tuple(delta.splitlines())
        )

    def _environment(self, stack: str) -> tuple[Path, list[Path]]:
        return (self.python, []) if self.python else _made(stack, self.folder)


def changed_modules(trees: Path) -> Iterator[str]:
    """Yield the names of the modules that both trees have and that differ."""
    for patched in (trees / PATCHED).rglob("*.py"):
        path = patched.relative_to(trees / PATCHED)
        upstream = trees / UPSTREAM / path
        if upstream.is_file() and not filecmp.cmp(patched, upstream, shallow=False):
            yield path.with_suffix("").as_posix().removesuffix("/__init__").replace("/", ".")


@cache
def _made(name: str, folder: Path) -> tuple[Path, list[Path]]:
    stack = stack_of(name)
    extra = Installations(folder).packages(torch_environment(), "of-upstreams-tests", REQUIREMENTS)
    return stack.environment().python, [extra]


def _is_import(test: str) -> bool:
    return Path(_IMPORTS).stem in test


def _is_gain(test: str, change: str) -> bool:
    """Return whether a module can be imported only where it is patched: what it needed there is not asked for now."""
    return _is_import(test) and change.endswith("-> passed")


def _side(python: Path, extra: Sequence[Path], packages: Path) -> Side:
    # They read configuration from the folder they are run in.
    links = {path.name: path for path in sorted(packages.iterdir())}
    return Side(python=python, links=links, packages=[packages, *extra])
