"""Upstream's own tests of the touched models: on CPU the same outcomes with the patched wheels as without.

A release's own commit is not on main, which is all that many mirrors hold, and neither its sdist nor its wheel has
tests of models. So the tests of 4.56.1 are those of the commit at which its branch leaves main, those of 4.57.6 of
the one before main went on to version 5, and those of 5 of one shortly after that branched off. Since the same tests
run with and without the overlay, a neighbour's compare as well: what a release answers otherwise ends alike on both
sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from environments import Installations, Torch, Unavailable
from upstream_tests import Side, Suite, compare, passed

BEFORE_5 = ("llama", "qwen2", "qwen2_5_vl", "qwen2_vl", "qwen3", "qwen3_moe")
FROM_4_57 = (*BEFORE_5, "qwen3_next", "qwen3_vl", "qwen3_vl_moe")
# What transformers' tests import beside what transformers needs.
REQUIREMENTS = ("accelerate", "datasets<4", "parameterized", "psutil", "pytest-timeout")
# Those that compile take minutes each and never reach the device.
OPTIONS = ("-o", "log_cli=false", "-k", "not compile")


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Which of upstream's tests an overlay is tested by.

    Args:
        models: those whose tests are run.
        hub: the huggingface-hub that its transformers takes.
        commit: whose tests are run, where it is not the overlay's own.
    """

    models: tuple[str, ...]
    hub: str
    commit: str = ""


LATEST = Chosen(models=FROM_4_57, hub="huggingface-hub>=1.5,<2", commit="70179949f7899e0ca235210f7188c6c9e0add77b")
TESTS = {
    "transformers@8365f70": Chosen(models=BEFORE_5, hub="huggingface-hub<1"),
    "transformers@91393fe": Chosen(
        models=BEFORE_5, hub="huggingface-hub<1", commit="155fd926d25bcc556bb53550ad853fc7f4e24d73"
    ),
    "transformers@4.57.6": Chosen(
        models=FROM_4_57, hub="huggingface-hub<1", commit="1d1ac078933dc7eb902a4d49b9eb347e5242d1e6"
    ),
    "transformers@5.5.4": LATEST,
    "transformers@5.10.4": LATEST,
}


@pytest.mark.slow
@pytest.mark.upstream
@pytest.mark.index
@pytest.mark.parametrize(
    ("overlay", "model"), [(name, model) for name, tests in TESTS.items() for model in tests.models]
)
def test_upstreams_tests_end_as_they_do_without_the_overlay(
    overlay: str, model: str, installations: Installations, torch_python: Torch, tmp_path: Path
) -> None:
    tests = TESTS[overlay]
    paths = ("tests", "utils", "conftest.py", "pyproject.toml")
    try:
        upstream = installations.upstream(torch_python, overlay)
        installed = installations.install(torch_python, overlay)
        extra = installations.packages(torch_python, f"upstream-tests-{overlay}", (*REQUIREMENTS, tests.hub))
        checkout = installations.checkout(overlay, *paths, commit=tests.commit)
    except Unavailable as reason:
        pytest.skip(str(reason))
    suite = Suite(checkout=checkout, arguments=(*OPTIONS, f"tests/models/{model}/test_modeling_{model}.py"))

    # They look at the source they believe to run from.
    before, after = (
        Side(python=side.python, links={"src": side.packages}, packages=[extra]) for side in (upstream, installed)
    )
    outcomes, delta = compare(suite, before, after, tmp_path)

    assert passed(outcomes) > 50
    assert not delta, delta
