"""Fixtures for all test folders: what is made once a run is shared by every pytest worker."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

from environments.once import once
from support import collection, minutes
from support.environment import Environment
from support.patched import Patched, make_patched
from support.pythons import some_uv
from support.table import rows
from support.venvs import Venv, make_venv
from support.wheelhouse import make_site, make_wheelhouse, why_not

# Tests of several rooms compare by it; whichever comes first is to show what differs where a pair fails.
pytest.register_assert_rewrite("language.pairs")

# No test fails by luck: every run tries the same examples, however slow the machine is. To look for others:
# pytest --hypothesis-profile=default
hypothesis.settings.register_profile(
    "settled", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("settled")


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Have the options of `support.minutes`, and the progress of `support.collection`."""
    pluginmanager.register(collection)
    pluginmanager.register(minutes)


def pytest_xdist_auto_num_workers() -> int:
    """Have two workers more than there are cores: tests of Ray, of indexes and of patience mostly wait.

    With one more, two cores idled for 27 % of the run.
    """
    return (os.cpu_count() or 1) + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker is left with it when the others have nothing to do.

    Workers take one test at a time (see the Makefile): each that is through takes the longest of what is left.
    """
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    mark = item.get_closest_marker("slow")
    return 2 if mark is None else int("first" not in mark.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the install matrix, where asked to be verbose."""
    if terminalreporter.verbosity > 0:
        # What a fixture notes at its end is in the report of the teardown, which pytest files under no name.
        for line in rows(terminalreporter.stats.get("", [])):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder all workers of this run share; make things in it with `support.once.once`."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = root / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def patched(shared: Path) -> Patched:
    """Return tiny patched wheels, with all that was made on the way to them."""
    return make_patched(shared)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """Return a clean environment in the test's own folder."""
    return Environment(folder=tmp_path)


@pytest.fixture(scope="session")
def wheelhouse(shared: Path) -> Path:
    """Return a folder with the build tool's wheel and all it needs; skips where the index cannot be reached."""
    folder = once(shared, "wheelhouse", make_wheelhouse)
    if reason := why_not(folder):
        pytest.skip(f"the package index cannot be reached: {reason}")
    return folder


@pytest.fixture(scope="session")
def tool_site(shared: Path, wheelhouse: Path) -> Path:
    """Return a folder with the build tool installed, for any Python to find by ``PYTHONPATH``."""
    environment = Environment(folder=shared, index=wheelhouse)
    return once(shared, "site", lambda folder: make_site(folder, wheelhouse, environment))


@pytest.fixture(params=["pip", "uv"])
def venv(request: pytest.FixtureRequest, tmp_path: Path) -> Venv:
    """Return a virtual environment served by pip, then one served by uv where there is uv."""
    uv = some_uv() if request.param == "uv" else None
    return make_venv(tmp_path / "venv", Environment(folder=tmp_path), uv=uv)
