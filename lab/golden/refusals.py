"""Refusals: the tests of the tool → every distinct error they provoke, as its family, place, text and fix.

Loaded as a plugin of pytest (``-p golden.refusals --refusals FILE``), it notes the errors that tests expect, and what
commands print that fail. The tests it comes from are not noted: they may be renamed, joined and moved.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from environments import ROOT
from golden.run import Failed
from npu_overlays.errors import OverlayError

# What makes its errors in this process, or by the command; examples of properties may change with Hypothesis.
_TESTS = (
    "authoring",
    "changes",
    "checks",
    "commands",
    "contracts",
    "end_to_end",
    "language",
    "publish",
    "sources",
    "wheels",
)
_PLACES = (
    (re.compile(r"(?<![\w.])/[^\s:'\"`,)]*/(?:popen-gw\d+|pytest-\d+|test_\w+)/"), "/"),
    # Wherever the clone lies: what is installed for it lies in it.
    (re.compile(rf"(?:{re.escape(str(ROOT))}|/(?:tmp|root|home|work|usr|var))/[^\s:'\"`,)]*/"), "/"),
    (re.compile(r"/test_\w+\d/"), "/"),
    (re.compile(r"0x[0-9a-f]+|\b127\.0\.0\.1:\d+|\b[0-9a-f]{40,64}\b|\b\d+\.\d+ s\b|tmp\w{8}"), "…"),
    (re.compile(r"(?<=/merged/…-)[0-9a-f]{8}-[0-9a-f]{24}"), "…"),
)
# Beside errors a command prints notices, and each step that has taken a second.
_ERROR = re.compile(r"(?:npu-overlays[\w -]*: )?error: ")


def refusals(work: Path) -> dict[str, str]:
    """Run the tests and return every distinct refusal, each as a key; raises `Failed` where a test fails.

    Args:
        work: an empty folder.
    """
    command = [sys.executable, "-m", "pytest", "-p", "golden.refusals", "--refusals", str(work / "refusals")]
    command += ["--quiet", "--numprocesses", "auto", "--maxprocesses", "4", "-m", "not (slow or upstream or thorough)"]
    command += [f"tests/{name}" for name in _TESTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(done.stdout)
    lines = (line for file in (work / "refusals").iterdir() for line in file.read_text("utf-8").splitlines())
    return dict.fromkeys(sorted(set(lines)), "")


class Notes:
    """What one process of pytest notes.

    Args:
        file: where they are written at the end. A test that limits the size of files must not meet this one.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines: set[str] = set()

    def expected(self, error: BaseException | None) -> None:
        """Note an error that a test expects."""
        if isinstance(error, OverlayError):
            self._note(type(error).__name__, map(str, error.problems))

    def printed(self, code: int, text: str) -> None:
        """Note the errors that a command printed that failed."""
        if code:
            self._note(f"exit {code}", filter(_ERROR.match, re.split(r"\n(?=\S)", text)))

    def _note(self, family: str, problems: Iterable[str]) -> None:
        for problem in problems:
            line = " ".join(problem.split())
            for pattern, replacement in _PLACES:
                line = pattern.sub(replacement, line)
            self._lines.add(f"{family}: {line}")

    def pytest_sessionfinish(self) -> None:
        """Write one line a refusal, before the worker may be stopped; a name that is no UTF-8 has its bytes escaped."""
        text = "".join(f"{line}\n" for line in sorted(self._lines))
        self._file.write_text(text, encoding="utf-8", errors="backslashreplace")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Have an option for the folder of notes."""
    parser.addoption("--refusals", type=Path, required=True)


def pytest_configure(config: pytest.Config) -> None:
    """Note errors where tests meet them."""
    import language.overlays  # noqa: PLC0415  # conftest has its folder looked into from then on
    from support.environment import Environment  # noqa: PLC0415  # likewise

    folder: Path = config.getoption("--refusals")
    folder.mkdir(exist_ok=True)
    notes = Notes(folder / os.environ.get("PYTEST_XDIST_WORKER", "main"))
    config.pluginmanager.register(notes)
    leave, run, listed = pytest.RaisesExc.__exit__, Environment.cli, language.overlays.mistakes

    def noting_leave(
        self: pytest.RaisesExc[Any],
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        notes.expected(error)
        return leave(self, kind, error, traceback)

    def noting_run(self: Environment, *arguments: Any, **options: Any) -> Any:
        done = run(self, *arguments, **options)
        notes.printed(done.code, done.err)
        return done

    def noting_mistakes(error: OverlayError) -> list[str]:
        notes.expected(error)
        return listed(error)

    language.overlays.mistakes = noting_mistakes
    pytest.RaisesExc.__exit__ = noting_leave  # type: ignore[method-assign]  # pytest has no hook for what is expected
    Environment.cli = noting_run  # type: ignore[method-assign]  # the tests have one place that runs commands
