"""Upstream's own tests of the touched models: on CPU the same outcomes with the patched wheels as without."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from npu.environment import Torch, Unavailable, Wheelhouse

OVERLAY = "transformers@8365f70"
MODELS = ["llama", "qwen2", "qwen2_5_vl", "qwen2_vl", "qwen3", "qwen3_moe"]
# What transformers' tests import beside what transformers needs.
REQUIREMENTS = ("accelerate", "datasets<4", "huggingface-hub<1", "parameterized", "psutil", "pytest-timeout")


@pytest.mark.slow
@pytest.mark.upstream
@pytest.mark.index
@pytest.mark.parametrize("model", MODELS)
def test_upstreams_tests_end_as_they_do_without_the_overlay(
    model: str, wheelhouse: Wheelhouse, torch_python: Torch, tmp_path: Path
) -> None:
    try:
        upstream = wheelhouse.upstream(torch_python, OVERLAY)
        installed = wheelhouse.install(torch_python, OVERLAY)
        extra = wheelhouse.packages(torch_python, "upstream-tests", REQUIREMENTS)
        checkout = wheelhouse.checkout(OVERLAY, "tests", "utils", "conftest.py", "pyproject.toml")
    except Unavailable as reason:
        pytest.skip(str(reason))
    before = _outcomes(upstream, extra, checkout, model, tmp_path / "upstream")
    after = _outcomes(installed, extra, checkout, model, tmp_path / "patched")
    assert Counter(before.values())["passed"] > 50
    tests = before.keys() | after.keys()
    assert {test: (before.get(test), after.get(test)) for test in tests if before.get(test) != after.get(test)} == {}


def _outcomes(environment: Torch, extra: Path, checkout: Path, model: str, folder: Path) -> dict[str, str]:
    """Return how each of a model's tests ends: passed, skipped, failure or error."""
    folder.mkdir()
    for item in checkout.iterdir():
        (folder / item.name).symlink_to(item)
    # Its tests look at the source they believe to run from.
    (folder / "src").symlink_to(environment.packages)
    report = folder / "report.xml"
    file = f"tests/models/{model}/test_modeling_{model}.py"
    # Those that compile take minutes each and never reach the device.
    options = ("-q", "-p", "no:cacheprovider", "-o", "log_cli=false", "--timeout", "300", "-k", "not compile")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "PYTHON"))}
    done = subprocess.run(
        [str(environment.python), "-m", "pytest", *options, f"--junitxml={report}", file],
        cwd=folder,
        env={**kept, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(extra)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.is_file(), done.stdout[-5000:] + done.stderr[-5000:]
    cases = ElementTree.parse(report).iter("testcase")  # noqa: S314  # pytest has just written it
    return {f"{case.get('classname')}.{case.get('name')}": _outcome(case) for case in cases}


def _outcome(case: ElementTree.Element) -> str:
    tags = [child.tag for child in case if child.tag in ("skipped", "failure", "error")]
    return tags[0] if tags else "passed"
