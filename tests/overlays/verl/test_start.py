"""The start of training: the summary, determinism, and the settings of workers."""

from __future__ import annotations

import logging
import random
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest

from .layer import load

determinism = load("utils.npu.determinism")
start = load("utils.npu.start")
lazy = load("utils.npu.lazy")


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "EXPANDABLE_SEGMENTS", determinism.SEED, *determinism.SWITCHES):
        # Set first, so that what the code under test sets is undone as well.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(start, "_logged", [])


@pytest.fixture
def summary(monkeypatch: pytest.MonkeyPatch) -> str:
    module = ModuleType("verl_npu_summary")
    module.text = lambda: "=== NPU Patch Summary ==="  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "verl_npu_summary", module)
    return "=== NPU Patch Summary ==="


def config(seed: int | None = None) -> SimpleNamespace:
    return SimpleNamespace(trainer={"deterministic_seed": seed})


def test_the_summary_is_logged_once_and_nothing_is_printed(
    summary: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        start.start_training(config())

    assert [record.getMessage() for record in caplog.records] == [f"\n{summary}"]
    assert capsys.readouterr().out == ""


def test_the_summary_is_logged_with_the_root_logger_at_warning(
    summary: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "level", logging.WARNING)

    start.start_training(config())

    assert summary in caplog.text


def test_only_rank_0_logs_the_summary(
    summary: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")

    start.start_training(config())

    assert summary not in caplog.text


def test_a_source_checkout_without_a_summary_trains(caplog: pytest.LogCaptureFixture) -> None:
    start.start_training(config())

    assert caplog.records == []


def test_no_seed_changes_nothing() -> None:
    environ: dict[str, str] = {"HCCL_DETERMINISTIC": "false"}

    determinism.request(None, environ)

    assert environ == {"HCCL_DETERMINISTIC": "false"}
    assert determinism.environment(environ) == {}


def test_switches_override_the_exports_of_nnals_set_env_sh() -> None:
    environ = {"ATB_MATMUL_SHUFFLE_K_ENABLE": "1"}

    determinism.request(3, environ)

    assert environ["ATB_MATMUL_SHUFFLE_K_ENABLE"] == "0"
    assert environ["HCCL_DETERMINISTIC"] == "true"
    assert environ["LCCL_DETERMINISTIC"] == "1"
    assert environ["CLOSE_MATMUL_K_SHIFT"] == "1"
    assert environ["ATB_LLM_LCOC_ENABLE"] == "0"
    assert determinism.requested_seed(environ) == 3


def test_seed_0_is_a_seed() -> None:
    environ: dict[str, str] = {}

    determinism.request(0, environ)

    assert determinism.requested_seed(environ) == 0


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, int]]]:
    """What NumPy and torch are seeded with; Python's own generator is as before afterwards."""
    seeds: list[tuple[str, int]] = []
    numpy, torch = ModuleType("numpy"), ModuleType("torch")
    numpy.random = SimpleNamespace(seed=lambda seed: seeds.append(("numpy", seed)))  # type: ignore[attr-defined]
    torch.manual_seed = lambda seed: seeds.append(("torch", seed))  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms = lambda *_, **__: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numpy", numpy)
    monkeypatch.setitem(sys.modules, "torch", torch)
    state = random.getstate()
    yield seeds
    random.setstate(state)


def test_each_rank_has_its_own_seed(seeded: list[tuple[str, int]]) -> None:
    determinism.request(3)

    states = []
    for rank in range(2):
        assert determinism.seed_process(rank)
        states.append(random.getstate())

    random.seed(4)
    assert states[0] != states[1] == random.getstate()
    assert seeded == [("numpy", 3), ("torch", 3), ("numpy", 4), ("torch", 4)]


def test_nothing_is_seeded_without_a_request(seeded: list[tuple[str, int]]) -> None:
    assert not determinism.seed_process(1)
    assert seeded == []


def test_workers_get_the_drivers_settings_except_those_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPANDABLE_SEGMENTS", "True")
    determinism.request(3)

    given = start.worker_environment({"HCCL_DETERMINISTIC": "false"})

    assert given["EXPANDABLE_SEGMENTS"] == "True"
    assert given[determinism.SEED] == "3"
    assert "HCCL_DETERMINISTIC" not in given
    assert start.worker_environment()["HCCL_DETERMINISTIC"] == "true"


def test_workers_of_an_ordinary_run_get_no_settings() -> None:
    assert start.worker_environment() == {}


def test_a_lazy_module_is_imported_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    module = lazy.LazyModule("colorsys")

    assert "colorsys" not in sys.modules
    assert module.rgb_to_hsv(0, 0, 0) == (0.0, 0.0, 0)
    assert "colorsys" in sys.modules


def test_zero_is_a_seed_like_any_other() -> None:
    environ: dict[str, str] = {}

    determinism.request(0, environ)

    assert determinism.environment(environ) == environ
    assert environ[determinism.SEED] == "0"
