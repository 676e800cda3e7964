"""verl's own tests for CPU, `tests/**/*_on_cpu.py`: the same outcomes with both patched wheels as without, or mended.

Those that need models of the hub, a sandbox's server or pyext, which no Python from 3.11 on can install, end the same
way twice without having tested anything; all others run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from environments import Installations, Unavailable, torch_environment
from upstream_tests import Side, Suite, compare, passed
from verl_stacks import STACKS, Stack
from verl_tests import OPTIONS, REQUIREMENTS, VARIABLES

# What an overlay mends on CPU, and nothing else: verl@bec9ef7 unpads there with flash_attn, which is for CUDA alone.
WITHOUT_FLASH_ATTN = "failure ModuleNotFoundError: -> passed"
MENDED = {
    "verl@bec9ef7": {
        f"tests.utils.test_padding_on_cpu.test_{name}"
        for name in (
            "no_padding_2_padding_varying_lengths",
            "padding_conversion_with_log_probs",
            "padding_conversion_without_log_probs",
            "padding_roundtrip",
        )
    }
}


@pytest.mark.slow
@pytest.mark.upstream
@pytest.mark.index
@pytest.mark.parametrize("stack", [pytest.param(stack, id=stack.verl, marks=stack.marks) for stack in STACKS])
def test_verls_tests_have_the_outcomes_of_upstream(stack: Stack, shared: Path, tmp_path: Path) -> None:
    installations = Installations(shared / "npu")
    try:
        environment = stack.environment()
        upstream, installed = stack.upstream(installations, environment), stack.installed(installations, environment)
        extra = installations.packages(torch_environment(), "verl-upstream-tests", REQUIREMENTS)
        checkout = installations.checkout(stack.verl, "tests", "scripts")
    except Unavailable as reason:
        pytest.skip(str(reason))
    suite = Suite(checkout=checkout, arguments=OPTIONS, variables=VARIABLES)

    # They read verl's configuration from the working directory.
    before, after = (
        Side(python=environment.python, links={"verl": side / "verl"}, packages=[side, extra])
        for side in (upstream, installed)
    )
    expected, mended = MENDED.get(stack.verl, set()), set()

    def excused(test: str, change: str) -> bool:
        if test not in expected or change != WITHOUT_FLASH_ATTN:
            return False
        mended.add(test)
        return True

    outcomes, delta = compare(suite, before, after, tmp_path, excused)

    assert passed(outcomes) > 150
    assert not delta, delta
    assert mended == expected
