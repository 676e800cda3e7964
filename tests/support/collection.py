"""Collection: every worker imports all tests, which takes a while; a terminal shows the seconds.

Each worker begins with another folder. In a fresh clone it compiles the tests there for all, and finds the others
compiled.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

_COLLECTED = pytest.StashKey[threading.Event]()


def pytest_configure(config: pytest.Config) -> None:
    """Turn the folders of the one that a worker is to collect, by its number."""
    worker = getattr(config, "workerinput", None)
    if worker is None or len(config.args) != 1 or not Path(config.args[0]).is_dir():
        return
    found = [one for one in sorted(Path(config.args[0]).iterdir()) if _is_collected(one)]
    begin = len(found) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    config.args[:] = [str(one) for one in (*found[begin:], *found[:begin])]


def _is_collected(path: Path) -> bool:
    return path.match("test_*.py") or (path.is_dir() and not path.name.startswith(("_", ".")))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every worker the same order, before anything else sorts by it."""
    items.sort(key=lambda item: item.path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Count from here, where somebody looks."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.isatty:
        config.stash[_COLLECTED] = collected = threading.Event()
        threading.Thread(target=_count, args=(reporter, collected), daemon=True).start()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:  # xdist carries no types
    """Stop with the first worker: the others are about to end, too."""
    _stop(node.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop in a run that was broken off."""
    _stop(session.config)


def _count(reporter: pytest.TerminalReporter, collected: threading.Event) -> None:
    began = time.monotonic()
    while not collected.wait(1):
        reporter.rewrite(f"collecting the tests: {time.monotonic() - began:.0f} s", bold=True, erase=True)


def _stop(config: pytest.Config) -> None:
    if (collected := config.stash.get(_COLLECTED, None)) is not None:
        collected.set()
