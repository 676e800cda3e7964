"""Upstream's own tests of the touched models: on CPU the same outcomes with the patched wheels as without.

A release's own commit is not on main, which is all that many mirrors hold, and neither its sdist nor its wheel has
tests of models. So the tests of 4.56.1 are those of the commit at which its branch leaves main, and those of 4.57.6
those of the last one before main asked for huggingface-hub 1. Since the same tests run with and without the overlay, a
neighbour's compare as well: what a release answers otherwise ends alike on both sides. The releases of 5 have none
here: the tests that mirrors hold import what these releases do not have any more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from environments import Installations, Torch, Unavailable
from upstream_tests import Side, Suite, compare, passed

# A process takes a quarter of a minute to import them all and begin: several models share one.
BEFORE_5 = ("llama qwen2 qwen3", "qwen2_5_vl qwen2_vl qwen3_moe")
FROM_4_57 = (*BEFORE_5, "qwen3_next qwen3_vl qwen3_vl_moe")
# Packages that transformers' tests import and transformers does not need.
REQUIREMENTS = ("accelerate", "datasets<4", "huggingface-hub<1", "parameterized", "psutil", "pytest-timeout")
# Those that compile take minutes each and never reach the device.
OPTIONS = ("-o", "log_cli=false", "-k", "not compile")


# Of each overlay, the models whose tests are run, and the commit they are taken from where it is not the overlay's own.
TESTS = {
    "transformers@8365f70": (BEFORE_5, ""),
    "transformers@91393fe": (BEFORE_5, "155fd926d25bcc556bb53550ad853fc7f4e24d73"),
    "transformers@4.57.6": (FROM_4_57, "750dd2a401b803ba5542ed15251c7c743b2fd85b"),
}


@pytest.mark.slow
@pytest.mark.upstream
@pytest.mark.index
@pytest.mark.parametrize(
    ("overlay", "models"), [(name, models) for name, (sets, _) in TESTS.items() for models in sets]
)
def test_upstreams_tests_have_the_outcomes_of_upstream(
    overlay: str, models: str, installations: Installations, torch_python: Torch, tmp_path: Path
) -> None:
    paths = ("tests", "utils", "conftest.py", "pyproject.toml")
    try:
        upstream = installations.upstream(torch_python, overlay)
        installed = installations.install(torch_python, overlay)
        extra = installations.packages(torch_python, "upstream-tests", REQUIREMENTS)
        checkout = installations.checkout(overlay, *paths, commit=TESTS[overlay][1])
    except Unavailable as reason:
        pytest.skip(str(reason))
    files = [f"tests/models/{model}/test_modeling_{model}.py" for model in models.split()]
    suite = Suite(checkout=checkout, arguments=(*OPTIONS, *files))

    # They read the source tree from which they expect to run.
    before, after = (
        Side(python=side.python, links={"src": side.packages}, packages=[extra]) for side in (upstream, installed)
    )
    outcomes, delta = compare(suite, before, after, tmp_path)

    for model in models.split():
        assert passed({test: end for test, end in outcomes.items() if f".test_modeling_{model}." in test}) > 50
    assert not delta, delta
