"""The entry point that verl imports in every process: it does nothing unless a run asks for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from npu_recipes.cpu.plugin import THREADS, VARIABLE, threads, wanted

IMPORT = "import npu_recipes.cpu.plugin, sys; print([name for name in sys.modules if name.split('.')[0] == 'verl'])"


def imported(**variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "-c", IMPORT]
    return subprocess.run(command, env={**kept, **variables}, capture_output=True, text=True, check=False)


def test_an_installation_changes_nothing() -> None:
    done = imported()

    assert (done.returncode, done.stdout) == (0, "[]\n")


def test_it_is_asked_for_by_one_word() -> None:
    assert not wanted({})
    assert wanted({VARIABLE: "transformers"})
    with pytest.raises(ValueError, match="there is no such rollout"):
        wanted({VARIABLE: "vllm"})


def test_a_number_of_threads_that_is_none_is_refused_by_the_name_of_its_variable() -> None:
    assert [threads(one) for one in ({}, {THREADS: ""}, {THREADS: "4"})] == [1, 1, 4]
    for value in ("0", "-1", "1.5", "auto", "²"):
        with pytest.raises(ValueError, match=f"{THREADS}={value}: is no number of threads"):
            threads({THREADS: value})


@pytest.mark.parametrize("word", ["transformers", "vllm"])
def test_a_failure_is_not_silent_although_verl_says_nothing_of_it(word: str) -> None:
    """Here verl is not installed: whoever asks for the rollout gets to know."""
    done = imported(**{VARIABLE: word})

    assert done.returncode != 0
    assert "Traceback" in done.stderr
