"""Upstream's own tests: files of its repository and installed packages in, how each of its tests ends out."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

# One that hangs ends like any other that fails; a run that does not end at all is an error.
SECONDS_PER_TEST, SECONDS_PER_RUN = 600, 3000
# A file that cannot be imported is one more outcome to compare, and no reason to leave out the others.
OPTIONS = ("-q", "--continue-on-collection-errors", "-p", "no:cacheprovider", "--timeout", str(SECONDS_PER_TEST))
_OWN = ("PYTEST_", "COV_", "PYTHON", "HF_")


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Tests of upstream's, to be run over one installation and another.

    Args:
        checkout: folder with the tests and whatever else of upstream's repository they read.
        arguments: pytest's: which tests, and further options; pytest-timeout must be installed.
        variables: environment variables they are run with.
    """

    checkout: Path
    arguments: Sequence[str]
    variables: Mapping[str, str] | None = None

    def outcomes(
        self, python: Path, folder: Path, *, links: Mapping[str, Path], packages: Sequence[Path]
    ) -> dict[str, str]:
        """Return how each test ends: passed or skipped, or failure or error with the first word of what went wrong.

        Args:
            python: interpreter of the environment to run them in.
            folder: a new folder, from which they are run as if it were upstream's repository.
            links: what the tests believe to be part of the repository, and where it is installed.
            packages: folders for PYTHONPATH.
        """
        # Under names of its own, which some look for from where they lie, without another copy of the bytes.
        shutil.copytree(self.checkout, folder, copy_function=os.link)
        for name, installed in links.items():
            (folder / name).symlink_to(installed)
        self._run(python, folder, packages)
        report = folder / "report.xml"
        assert report.is_file(), (folder / "log").read_text("utf-8", "replace")[-10000:]
        return read_outcomes(report)

    def _run(self, python: Path, folder: Path, packages: Sequence[Path]) -> None:
        """Run pytest with nothing of this machine's user: neither home folder nor models already downloaded."""
        (folder / "home").mkdir()
        own = {
            "HF_HUB_OFFLINE": "1",
            "HOME": str(folder / "home"),
            "OMP_NUM_THREADS": "1",
            "PATH": os.pathsep.join((str(python.parent), os.environ["PATH"])),
            "PYTHONPATH": os.pathsep.join(map(str, packages)),
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        # A file and no pipe: what a killed test leaves running would keep a pipe open.
        with (folder / "log").open("w") as log:
            subprocess.run(
                [str(python), "-m", "pytest", *OPTIONS, "--junitxml=report.xml", *self.arguments],
                cwd=folder,
                env={**kept, **own, **(self.variables or {})},
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=SECONDS_PER_RUN,
                check=False,
            )


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


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return a line for every test that ends otherwise after than before, or an empty text."""
    tests = sorted(before.keys() | after.keys())
    endings = {test: (before.get(test, "no such test"), after.get(test, "no such test")) for test in tests}
    return "\n".join(f"{test}: {old} -> {new}" for test, (old, new) in endings.items() if old != new)


def _outcome(case: ElementTree.Element) -> str:
    for child in case:
        if child.tag in ("failure", "error"):
            # Its first word is the kind of error; the rest can hold numbers that no two runs share.
            return f"{child.tag} {child.get('message', '').partition(' ')[0]}"
    return "passed" if case.find("skipped") is None else "skipped"
