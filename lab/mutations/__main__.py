"""Table of mutations → a verdict for each: one wrong change at a time, and the tests that are to catch it.

Files of the layers are changed in a copy of this repository; code that needs torch is changed where its wheel is
installed, beside torch, in a folder of this run's own. Leaves with 1 where a change is not caught, where one that is
said to be equivalent is, where one does not fit its file, and where the tests fail without any.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from environments import ROOT, Installations, torch_environment
from mutations.table import Mutation, Target, read_table
from npu_schemas import stack_versions

_COPIED = ("lab", "overlays", "pyproject.toml", "stacks", "tests")
_CAUGHT = 1  # pytest: tests failed
_CASES = "tests/overlays/transformers/cases"


@dataclass(frozen=True, kw_only=True)
class MutatedFile:
    """Where a target's file is, and how its tests are run.

    Args:
        file: the copy that is changed.
        folder: where pytest is run.
        command: pytest, with its tests.
        variables: environment variables beside those there are.
    """

    file: Path
    folder: Path
    command: tuple[str, ...]
    variables: dict[str, str]

    def run_with(self, text: str) -> int:
        """Return pytest's exit code with this text in the file's place; the file is as before afterwards."""
        before = self.file.read_text("utf-8")
        self.file.write_text(text, "utf-8")
        # A change of the same length within the same second would be taken for what is compiled already.
        shutil.rmtree(self.file.parent / "__pycache__", ignore_errors=True)
        try:
            done = subprocess.run(
                self.command, cwd=self.folder, env={**os.environ, **self.variables}, capture_output=True, check=False
            )
        finally:
            self.file.write_text(before, "utf-8")
        return done.returncode


def main() -> int:
    """Try every mutation of the table, or those of the files that are named; returns the exit code."""
    named = sys.argv[1:]
    targets = [target for target in read_table() if not named or any(name in target.file for name in named)]
    with tempfile.TemporaryDirectory() as scratch:
        verdicts = [verdict for target in targets for verdict in _verdicts(target, Path(scratch))]
    wrong = verdicts.count(False)
    _print(f"{len(verdicts)} mutations, {len(verdicts) - wrong} as they should be, {wrong} not")
    return int(bool(wrong) or not verdicts)


def _verdicts(target: Target, scratch: Path) -> Iterator[bool]:
    """Yield, for each mutation, whether it is as it should be, and print it."""
    bench = _installed(target, scratch) if target.overlay else _copied(target, scratch)
    text = bench.file.read_text("utf-8")
    if bench.run_with(text):
        _print(f"FAILS WITHOUT A CHANGE  {target.file}: {' '.join(target.tests)}")
        yield False
        return
    for mutation in target.mutations:
        outcome = _outcome(bench, text, mutation)
        right = outcome == ("survives" if mutation.equivalent else "caught")
        shown = f"{target.file}: `{mutation.find.strip()}` -> `{mutation.replace.strip()}`"
        reason = f" (equivalent: {mutation.equivalent})" if mutation.equivalent else ""
        _print(f"{outcome if right else outcome.upper():9} {shown}{reason}")
        yield right


def _outcome(bench: MutatedFile, text: str, mutation: Mutation) -> str:
    if text.count(mutation.find) != 1:
        return f"fits {text.count(mutation.find)} times"
    code = bench.run_with(text.replace(mutation.find, mutation.replace))
    return "survives" if code == 0 else "caught" if code == _CAUGHT else f"pytest left with {code}"


def _copied(target: Target, scratch: Path) -> MutatedFile:
    folder = scratch / "repository"
    if not folder.exists():
        folder.mkdir()
        for name in _COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)
    return MutatedFile(
        file=folder / target.file,
        folder=folder,
        command=(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *target.tests),
        variables={},
    )


def _installed(target: Target, scratch: Path) -> MutatedFile:
    torch = Installations(scratch / "npu").install(torch_environment(), target.overlay)
    cases = ROOT / _CASES
    tests = (str(cases / test) if test.endswith(".py") else test for test in target.tests)
    return MutatedFile(
        file=torch.packages / target.file,
        folder=ROOT,
        command=(str(torch.python), "-m", "pytest", "-q", "-x", "-c", str(cases / "pytest.ini"), *tests),
        variables={
            "PYTHONDONTWRITEBYTECODE": "1",
            "EMULATED_TORCH_NPU": target.torch_npu or stack_versions(target.overlay)[-1],
        },
    )


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
