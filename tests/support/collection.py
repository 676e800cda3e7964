"""Collection: every worker imports all tests, which takes a while; a terminal shows the seconds."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

_COLLECTED = pytest.StashKey[threading.Event]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Have no garbage looked for meanwhile, nor later among the tests: it took a quarter of the time."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


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
