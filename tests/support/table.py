"""The table of the install matrix: what each test noted in, one row a scenario and one column an installer out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from support.installers import INSTALLERS

CELL = "cell"


def rows(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """Yield the lines of a Markdown table of all that was noted under `CELL`; none where nothing was."""
    table: dict[str, dict[str, str]] = {}
    for report in reports:
        for value in (value for name, value in report.user_properties if name == CELL):
            installer, _, told = str(value).partition(": ")
            table.setdefault(_scenario(report.nodeid, installer), {})[installer] = told
    if table:
        yield _row("scenario", INSTALLERS)
        yield _row("---", ["---"] * len(INSTALLERS))
    for scenario, cells in table.items():
        yield _row(scenario, [cells.get(installer, "") for installer in INSTALLERS])


def _scenario(nodeid: str, installer: str) -> str:
    name = nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")
    return name.replace(f"[{installer}-", " [").replace(f"[{installer}]", "")


def _row(first: str, others: Iterable[str]) -> str:
    return f"| {' | '.join([first, *others])} |"
