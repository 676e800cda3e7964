"""Families of transformers: `make families` tests all of them, these tests the most used ones and a tenth."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from environments import Installations, Unavailable
from parity.family_pages import FULL_ALLOWED, HALF_ALLOWED, measure, mistakes, pages
from parity.figures import Family, Half
from support.parity import read_families

ROOT = Path(__file__).resolve().parents[3]
DEFAULT = "transformers@5.10.4"
PAGES = ["families.md", "families.zh-CN.md"]
MOST_USED = ("deepseek_v3", "gemma3_text", "llama", "mistral", "qwen2", "qwen2_5_vl", "qwen3", "qwen3_moe")
FAMILY = Family(
    name="llama",
    is_equal=True,
    full=4e-7,
    output=Half(error=0.005, upstream=0.005),
    gradients=Half(error=0.006, upstream=0.005),
    fused=("RMSNorm", "rotary"),
    launches=(200, 100),
    is_packed=True,
)


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def _tenth(names: list[str], turn: str) -> list[str]:
    return names[int(hashlib.sha256(turn.encode()).hexdigest(), 16) % 10 :: 10]


@pytest.mark.slow
@pytest.mark.index
def test_families_match_upstream_and_the_page(
    installations: Installations, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    expected = read_families(_page("families.md"))
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    tenth = _tenth(sorted(expected), pytestconfig.getoption("--turn") or head.stdout)
    chosen = sorted({*MOST_USED, *tenth})
    try:
        found = measure(DEFAULT, installations, tmp_path, chosen)
    except Unavailable as reason:
        pytest.skip(str(reason))
    assert [one.name for one in found] == chosen
    assert list(mistakes(found)) == []
    assert {one.name: one.fused for one in found} == {name: expected[name] for name in chosen}


def test_each_turn_runs_a_tenth_of_the_families() -> None:
    names = [str(number) for number in range(181)]
    tenths = [_tenth(names, str(turn)) for turn in range(100)]
    assert {len(tenth) for tenth in tenths} == {18, 19}
    assert {name for tenth in tenths for name in tenth} == {*names}


def test_both_pages_have_the_same_families() -> None:
    english, chinese = (read_families(_page(name)) for name in PAGES)
    assert english == chinese
    assert {*MOST_USED} <= english.keys()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_of_each_family_what_was_measured(name: str) -> None:
    plain = replace(FAMILY, name="bert", fused=(), launches=(9, 9), is_equal_on_npu=True)
    text = pages([FAMILY, plain, Family(name="blip", error="TypeError: no `images`")], DEFAULT)[name]
    kinds = "RMSNorm, rotary" if name == "families.md" else "RMSNorm、rotary"
    assert f"| `llama` | {kinds} | 200 → 100 | 4.0e-07 | 6.0e-03 (1.20) |" in text.splitlines()
    assert read_families(text) == {"llama": ("RMSNorm", "rotary"), "bert": ()}
    assert "- `blip`: `TypeError: no 'images'`" in text.splitlines()
    assert "exit code -11" not in text


@pytest.mark.parametrize("name", PAGES)
def test_a_page_explains_a_crash_of_the_emulation_that_it_lists(name: str) -> None:
    text = pages([FAMILY, Family(name="llama4", error="on the emulated NPU: exit code -11")], DEFAULT)[name]
    assert text.count("`exit code -11`") == 1
    assert text.index("`exit code -11`") > text.index("- `llama4`: `on the emulated NPU: exit code -11`")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"problem": "exit code -11"}, "llama: exit code -11"),
        ({"is_equal": False}, "llama: differs from upstream on the CPU"),
        ({"fused": ()}, "llama: differs from upstream on the emulated NPU, and nothing is fused"),
        ({"full": 1.1 * FULL_ALLOWED}, "llama: differs by 1.1e-05 in fp32"),
        ({"output": Half(error=1.1 * HALF_ALLOWED, upstream=1)}, "llama: in bf16 2.20 times as far"),
    ],
    ids=["failed", "cpu", "nothing fused", "fp32", "bf16"],
)
def test_a_family_that_differs_from_upstream_is_named(changed: dict[str, object], said: str) -> None:
    assert list(mistakes([Family(name="blip", error="TypeError: no images")])) == []
    exact = replace(FAMILY, name="exact", gradients=FAMILY.output)
    (mistake,) = mistakes([replace(FAMILY, **changed), exact, exact])  # type: ignore[arg-type]
    assert mistake.startswith(said)


def test_in_bf16_half_of_the_families_are_as_accurate_as_upstream() -> None:
    (mistake,) = mistakes([FAMILY, FAMILY, replace(FAMILY, gradients=FAMILY.output)])
    assert mistake.startswith("in bf16 half of the families are 1.20 times as far")
