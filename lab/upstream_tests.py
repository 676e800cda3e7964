"""Upstream's own tests: files of its repository and installed packages in, how each of its tests ends out."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

# One that hangs ends like any other that fails; a run that does not end at all is an error.
SECONDS_PER_TEST, SECONDS_PER_RUN = 600, 3000
# A file that cannot be imported is one more outcome to compare, and no reason to leave out the others.
OPTIONS = ("-q", "--continue-on-collection-errors", "-p", "no:cacheprovider")
_OWN = ("PYTEST_", "COV_", "PYTHON", "HF_")


@dataclass(frozen=True, kw_only=True)
class Side:
    """An installation to run upstream's tests over.

    Args:
        python: interpreter of the environment to run them in.
        links: what the tests believe to be part of the repository, and where it is installed.
        packages: folders for PYTHONPATH.
    """

    python: Path
    links: Mapping[str, Path]
    packages: Sequence[Path]


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Tests of upstream's, to be run over one installation and another.

    Args:
        checkout: folder with the tests and whatever else of upstream's repository they read.
        arguments: pytest's: which tests, and further options; pytest-timeout must be installed.
        variables: environment variables they are run with.
        seconds_per_test: how long each may take.
    """

    checkout: Path
    arguments: Sequence[str]
    variables: Mapping[str, str] | None = None
    seconds_per_test: int = SECONDS_PER_TEST

    def outcomes(self, side: Side, folder: Path) -> dict[str, str]:
        """Return how each test ends: passed or skipped, or failure or error with the first word of what went wrong.

        They are run from a new folder as if it were upstream's repository; raises `RuntimeError` where pytest ends
        without a report, and `TimeoutExpired` where it does not end.
        """
        # Under names of its own, which some look for from where they lie, without another copy of the bytes.
        shutil.copytree(self.checkout, folder, copy_function=os.link)
        for name, installed in side.links.items():
            (folder / name).symlink_to(installed)
        self._run(side, folder)
        report = folder / "report.xml"
        if not report.is_file():
            raise RuntimeError((folder / "log").read_text("utf-8", "replace")[-10000:])
        # Some are named by where their home is.
        return {test.replace(str(folder), ""): ending for test, ending in read_outcomes(report).items()}

    def of(self, tests: Sequence[str]) -> Suite:
        """Return the files of this suite that hold these tests, named as outcomes name them."""
        files = sorted({file for test in tests if (file := _file(self.checkout, test))})
        options = [argument for argument in self.arguments if not (self.checkout / argument).exists()]
        return replace(self, arguments=(*options, *files)) if files else self

    def _run(self, side: Side, folder: Path) -> None:
        """Run pytest with nothing of this machine's user: neither home folder nor models already downloaded."""
        (folder / "home").mkdir()
        own = {
            "HF_HUB_OFFLINE": "1",
            "HOME": str(folder / "home"),
            "OMP_NUM_THREADS": "1",
            "PATH": os.pathsep.join((str(side.python.parent), os.environ["PATH"])),
            "PYTHONPATH": os.pathsep.join(map(str, side.packages)),
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        # A file and no pipe: what a killed test leaves running would keep a pipe open.
        options = (*OPTIONS, "--timeout", str(self.seconds_per_test), "--junitxml=report.xml")
        with (folder / "log").open("w") as log:
            subprocess.run(
                [str(side.python), "-m", "pytest", *options, *self.arguments],
                cwd=folder,
                env={**kept, **own, **(self.variables or {})},
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=SECONDS_PER_RUN,
                check=False,
            )


def compare(
    suite: Suite, before: Side, after: Side, folder: Path, excused: Callable[[str, str], bool] = lambda _, __: False
) -> tuple[dict[str, str], str]:
    """Return how each test ends before, and a line for each that ends otherwise after, twice in a row.

    `excused` is asked of a test and of how it ends before and after, and says where that is no difference.

    Some of upstream's wait for a clock or a port, and end otherwise now and then by themselves: where there are
    differences, the files that hold them are run again on both sides, and what differs each time counts.
    """
    sides = {"upstream": before, "patched": after}

    def outcomes(suite: Suite, attempt: str) -> list[dict[str, str]]:
        return [suite.outcomes(side, folder / f"{name}{attempt}") for name, side in sides.items()]

    first = outcomes(suite, "")
    delta = {test: change for test, change in differences(*first).items() if not excused(test, change)}
    if delta:
        again = differences(*outcomes(suite.of(list(delta)), "-again"))
        delta = {test: f"{change}; again {again[test]}" for test, change in delta.items() if test in again}
    return first[0], "\n".join(f"{test}: {change}" for test, change in delta.items())


def read_outcomes(report: Path) -> dict[str, str]:
    """Return how each test of a JUnit report ends; one that the report has twice, as of subtests, has two endings."""
    outcomes: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314  # pytest has just written it
        outcomes.setdefault(f"{case.get('classname')}.{case.get('name')}", []).append(_outcome(case))
    return {test: ", ".join(endings) for test, endings in outcomes.items()}


def read_skipped(report: Path) -> dict[str, str]:
    """Return why each test of a JUnit report was skipped, for those that were."""
    skipped = {}
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314  # pytest has just written it
        if (reason := case.find("skipped")) is not None:
            skipped[f"{case.get('classname')}.{case.get('name')}"] = reason.get("message", "")
    return skipped


def passed(outcomes: Mapping[str, str]) -> int:
    """Return how many tests passed."""
    return list(outcomes.values()).count("passed")


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Return every test that ends otherwise after than before, and how it ends on either side."""
    tests = sorted(before.keys() | after.keys())
    endings = {test: (before.get(test, "no such test"), after.get(test, "no such test")) for test in tests}
    return {test: f"{old} -> {new}" for test, (old, new) in endings.items() if old != new}


def _file(checkout: Path, test: str) -> str:
    """Return the file that holds a test named by JUnit, as tests.models.test_x_on_cpu.TestX.test_y, or nothing."""
    parts = test.partition("[")[0].split(".")
    paths = (Path(*parts[:count]).with_suffix(".py") for count in range(len(parts), 0, -1))
    return next((str(path) for path in paths if (checkout / path).is_file()), "")


def _outcome(case: ElementTree.Element) -> str:
    for child in case:
        if child.tag in ("failure", "error"):
            # Its first word is the kind of error; the rest can hold numbers that no two runs share.
            return f"{child.tag} {child.get('message', '').partition(' ')[0]}"
    return "passed" if case.find("skipped") is None else "skipped"
