"""Upstream's own tests of the touched models: on CPU the same outcomes with the patched wheels as without.

For the release 4.56.1 they are those of the commit at which its branch leaves main: the release's own commit is not on
main, which is all that many mirrors hold, and its sdist has no tests of models. In the files that both hold they differ
in one helper for videos. Since the same tests run with and without the overlay, a neighbour's compare as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from environments import Installations, Torch, Unavailable
from upstream_tests import Side, Suite, compare, passed

# Overlays, and the commit whose tests are run where it is not the overlay's own.
OVERLAYS = {"transformers@8365f70": "", "transformers@91393fe": "155fd926d25bcc556bb53550ad853fc7f4e24d73"}
MODELS = ["llama", "qwen2", "qwen2_5_vl", "qwen2_vl", "qwen3", "qwen3_moe"]
# What transformers' tests import beside what transformers needs.
REQUIREMENTS = ("accelerate", "datasets<4", "huggingface-hub<1", "parameterized", "psutil", "pytest-timeout")
# Those that compile take minutes each and never reach the device.
OPTIONS = ("-o", "log_cli=false", "-k", "not compile")


@pytest.mark.slow
@pytest.mark.upstream
@pytest.mark.index
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_upstreams_tests_end_as_they_do_without_the_overlay(
    overlay: str, model: str, installations: Installations, torch_python: Torch, tmp_path: Path
) -> None:
    paths = ("tests", "utils", "conftest.py", "pyproject.toml")
    try:
        upstream = installations.upstream(torch_python, overlay)
        installed = installations.install(torch_python, overlay)
        extra = installations.packages(torch_python, "upstream-tests", REQUIREMENTS)
        checkout = installations.checkout(overlay, *paths, commit=OVERLAYS[overlay])
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
