"""A run of tests that must end in time: what it begins with, and what it says of tests it did not come to.

``--minutes`` begins no test later than that; what is left is skipped with that reason and listed by name. ``--turn``
takes tests in an order of its own for each text, so that runs with other texts come to other tests.
"""

from __future__ import annotations

import hashlib
import time

import pytest

_TOO_LATE = "no time was left for it (--minutes)"
_BEGAN = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("minutes", "a run that must end in time")
    group.addoption("--minutes", type=float, help="begin no test later than that; the rest is skipped, and listed")
    group.addoption("--turn", default="", help="any text: tests are taken in an order that it decides")


def pytest_configure(config: pytest.Config) -> None:
    """Note when the run began."""
    config.stash[_BEGAN] = time.monotonic()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put tests into the order of the turn; every worker must come to the same one."""
    if turn := config.getoption("--turn"):
        items.sort(key=lambda item: hashlib.sha256(f"{turn} {item.nodeid}".encode()).digest())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test for which it is too late, before any of its fixtures is made."""
    minutes = item.config.getoption("--minutes")
    if minutes is not None and time.monotonic() - item.config.stash[_BEGAN] > minutes * 60:
        pytest.skip(_TOO_LATE)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List by name what was not begun: pytest folds skips of one reason into one line."""
    late = [report.nodeid for report in terminalreporter.stats.get("skipped", []) if _TOO_LATE in str(report.longrepr)]
    if late:
        terminalreporter.section(f"{len(late)} tests not begun")
        terminalreporter.write_line("\n".join(sorted(late)))
