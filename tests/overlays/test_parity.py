"""The pages of `make parity` say what was measured, of every pin and every family that an overlay changes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from npu_overlays.contracts.lockfile import upstream_version
from npu_overlays.contracts.runtime_coverage import load_coverage
from npu_overlays.overlay.overlay_folders import readable
from npu_schemas import stack_versions
from parity.figures import Half, Operators, Parity, PinFigures
from parity.page import pages
from parity.report import Incomplete, parities
from support.parity import read_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["parity.md", "parity.zh-CN.md"]
CASES = ROOT / "tests/overlays/transformers/cases/test_models.py"
FIRED = CASES.with_name("test_fired.py")


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_are_those_that_their_figures_make(name: str) -> None:
    text = _page(name)
    torch = re.search(r"torch (\d[\d.]+\d)", text)
    assert torch
    assert pages(read_page(text), torch=torch[1])[name] == text


def test_both_pages_have_the_same_figures() -> None:
    english, chinese = (read_page(_page(name)) for name in PAGES)
    assert english == chinese


def test_every_pin_and_every_family_that_it_changes_are_on_the_page() -> None:
    overlays = readable(ROOT / "overlays", "transformers")
    pins = {pin.overlay: pin for pin in read_page(_page("parity.md"))}
    assert {name: pin.version for name, pin in pins.items()} == {one.name: upstream_version(one) for one in overlays}
    for overlay in overlays:
        assert pins[overlay.name].torch_npu == stack_versions(overlay.name)[-1]
        changed = {
            found[1] for name in load_coverage(overlay.folder).called if (found := re.search(r"models/(\w+)/", name))
        }
        models = pins[overlay.name].parity.keys()
        # Run for their forms alone: `make families` has figures of every family.
        assert changed - _run_for_forms() == {model.removesuffix("_text").removesuffix("_vision") for model in models}
        assert models == pins[overlay.name].operators.keys()


def _run_for_forms() -> set[str]:
    """Return the folders of the families that cases/test_fired.py runs for their forms."""
    constant = FIRED.read_text("utf-8").partition("FORMS = (")[2].partition("\n)")[0]
    families = {one.removesuffix("_text").replace("-", "_") for one in re.findall(r'"([\w-]+)"', constant)}
    return families | {one.removesuffix("_decoder") for one in families}  # which older releases have in one folder


def test_no_figure_is_beyond_what_the_tests_allow() -> None:
    text = CASES.read_text("utf-8")
    full, ratio = re.search(r"error < ([\de-]+),", text), re.search(r"ours < ([\d.]+) \* upstreams", text)
    assert full
    assert ratio
    for page in map(_page, PAGES):
        assert full[1] in page
        assert ratio[1] in page
        measured = [one for pin in read_page(page) for one in pin.parity.values()]
        assert all(0 < one.full < float(full[1]) for one in measured)
        assert all(half.ratio < float(ratio[1]) for one in measured for half in one.halves.values())


HALVES = {
    "bfloat16": Half(error=0.01, upstream=0.008),
    "float16": Half(error=0.001, upstream=0.001),
    "autocast": Half(error=0.02, upstream=0.02),
}
LATER = PinFigures(
    overlay="transformers@2",
    version="2.0",
    torch_npu="2.10.0.post4",
    parity={
        "llama": Parity(cases=6, full=1.25e-7, halves=HALVES),
        "new_vision": Parity(cases=2, full=3e-6, halves={"bfloat16": HALVES["bfloat16"]}),
    },
    operators={
        "llama": Operators(upstream=159.5, ours=85, fused=11, waits=(7, 1)),
        "new_vision": Operators(upstream=100, ours=90, fused=4, waits=(8, 8)),
    },
)
FIRST = PinFigures(
    overlay="transformers@1",
    version="1.0",
    torch_npu="2.5.1",
    parity={"llama": Parity(cases=6, full=1e-7, halves=HALVES)},
    operators={"llama": Operators(upstream=160, ours=86.5, fused=11, waits=(1, 1))},
)


@pytest.mark.parametrize("name", PAGES)
def test_each_figure_stands_in_its_row_and_column(name: str) -> None:
    lines = pages([FIRST, LATER], torch="9.9")[name].splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert rows == [
        "| `llama` | 1.0e-07 | 1.2e-07 |",
        "| `new_vision` |  | 3.0e-06 |",
        "| `llama` | 1.0e-02 (1.25) | 1.0e-02 (1.25) |",
        "| `new_vision` |  | 1.0e-02 (1.25) |",
        "| `llama` | 1.0e-03 (1.00) | 1.0e-03 (1.00) |",
        "| `llama` | 2.0e-02 (1.00) | 2.0e-02 (1.00) |",
        "| `llama` | 160 → 86.5 (11) | 159.5 → 85 (11) |",
        "| `new_vision` |  | 100 → 90 (4) |",
        "| `llama` | 1 → 1 | 7 → 1 |",
    ]
    assert any(line.startswith("| 2.0 | `transformers@2` | 2.10.0.post4 | 2 | 8 | ") for line in lines)


def _report(folder: Path, cases: Mapping[str, str], module: str = "cases.test_models") -> Path:
    file = folder / "report.xml"
    listed = "".join(
        f'<testcase classname="{module}" name="{name}">{inside}</testcase>' for name, inside in cases.items()
    )
    file.write_text(f"<testsuites><testsuite>{listed}</testsuite></testsuites>", "utf-8")
    return file


def _properties(**values: float) -> str:
    listed = "".join(f'<property name="{name.replace("_", " ")}" value="{value}"/>' for name, value in values.items())
    return f"<properties>{listed}</properties>"


MEASURED = {
    "test_on_cpu_outputs_and_gradients_are_upstreams_bit_for_bit[qwen3_moe-float32-silu-b1-plain-s1]": "",
    "test_on_cpu_outputs_and_gradients_are_upstreams_bit_for_bit[qwen3_moe-float16-silu-b2-plain-s4]": "",
    "test_on_npu_fp32_results_are_the_cpus[qwen3_moe-float32-silu-b1-plain-s1]": _properties(error=2e-7),
    "test_on_npu_fp32_results_are_the_cpus[qwen3_moe-float32-gelu-b2-plain-s5]": _properties(error=3e-7),
    "test_on_npu_half_precision_results_are_as_accurate_as_the_cpus[qwen3_moe-float16-silu-b2-plain-s4]": _properties(
        output_error=0.2, output_error_of_upstream=0.1, gradients_error=0.9, gradients_error_of_upstream=0.6
    ),
}


def test_of_a_report_the_worst_of_each_kind_is_told(tmp_path: Path) -> None:
    worst = Half(error=0.2, upstream=0.1)
    expected = {"qwen3_moe": Parity(cases=2, full=3e-7, halves={"float16": worst})}
    refused = {"test_sinks[float32]": '<skipped type="pytest.xfail" message="this torch_npu has no sinks"/>'}
    assert parities(_report(tmp_path, {**MEASURED, **refused})) == expected


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (dict.fromkeys(MEASURED, "<failure/>"), "bit_for_bit.*: failure"),
        ({list(MEASURED)[1]: "<skipped/>"}, "float16.*: skipped"),
        ({list(MEASURED)[3]: ""}, "qwen3_moe: a case of it left no figure 'error'"),
        ({}, "there is no case"),
    ],
    ids=["failed", "skipped", "without a figure", "empty"],
)
def test_what_was_not_measured_is_no_figure(changed: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(Incomplete, match=said):
        parities(_report(tmp_path, {**MEASURED, **changed} if changed else {}))


def test_cases_of_other_files_are_none_of_models(tmp_path: Path) -> None:
    with pytest.raises(Incomplete, match="there is no case"):
        parities(_report(tmp_path, MEASURED, "cases.test_moe"))


def test_a_kind_of_case_that_is_gone_is_noticed(tmp_path: Path) -> None:
    left = {name: inside for name, inside in MEASURED.items() if "on_cpu" not in name}
    with pytest.raises(Incomplete, match="qwen3_moe: of it were seen on_npu_fp32"):
        parities(_report(tmp_path, left))


# The pins go wrong in the ways that there are, and nothing may be written.
RUN = """
import sys
from environments import Unavailable
from parity import __main__ as command
from parity.report import Incomplete

def measure(name, work, told):
    raise {raised}

command.measure = measure
command.ROOT = None  # nothing can be written
sys.argv[1:] = ["--overlay", "{overlay}"]
sys.exit(command.main())
"""


@pytest.mark.parametrize(
    ("overlay", "raised", "code", "said"),
    [
        ("transformers@4.0", "Unavailable('never reached')", 2, "transformers@4.0: no such overlay"),
        ("transformers@4.57.6", "Unavailable('git cannot reach it')", 2, "cannot be measured: git cannot reach it"),
        ("transformers@4.57.6", "Incomplete('test_it: failure')", 1, "transformers@4.57.6: test_it: failure"),
    ],
    ids=["unknown", "not had", "failed"],
)
def test_what_cannot_be_measured_is_said_and_nothing_is_written(
    overlay: str, raised: str, code: int, said: str
) -> None:
    path = os.pathsep.join((str(ROOT / "lab"), str(ROOT / "bench")))
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(raised=raised, overlay=overlay)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "fix: " in done.stderr
