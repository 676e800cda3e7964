"""`python -m npu_recipes.checks` where nothing can be checked."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("verl@0.9.1", "grpo-qwen3-8b"), "error: hydra: cannot be imported: "),
        (("verl@0.9.1",), "error: verl@0.9.1: is no pin followed by recipes"),
        (("verl@0.9.1", "a=1"), "error: verl@0.9.1 a=1: is no pin followed by recipes"),
    ],
)
def test_what_cannot_be_checked_is_named(words: tuple[str, ...], said: str) -> None:
    # As where verl is not installed, whatever is here.
    program = (
        "import sys, runpy; sys.modules['hydra'] = None; runpy.run_module('npu_recipes.checks', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
