"""Ulysses sequence parallelism: several ranks compute what one rank does; without a group nothing changes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.integrations import flash_attention, ulysses

SCRIPT = Path(__file__).with_name("ulysses_ranks.py")
LAB = Path(__file__).parents[4] / "lab"


@pytest.fixture(autouse=True)
def _unregistered() -> Iterator[None]:
    ulysses.register_ulysses_group(None)
    yield
    ulysses.register_ulysses_group(None)


# Four ranks exceed the two key-value heads, which are then repeated. Each imports transformers; that two ranks of verl
# share sequences is tried by its training, always.
@pytest.mark.thorough
@pytest.mark.parametrize("ranks", [4])
def test_ranks_together_compute_what_one_process_does(ranks: int) -> None:
    path = os.pathsep.join(filter(None, (str(LAB), os.environ.get("PYTHONPATH"))))
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(ranks)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert run.returncode == 0, run.stderr


def test_attention_without_a_group_gets_its_arguments_unchanged() -> None:
    states = torch.randn(1, 3, 2, 4)
    seen: list[Any] = []

    def attention(*args: Any, **options: Any) -> torch.Tensor:
        seen.append((args, options))
        return states

    positions = torch.arange(3)
    told = {"is_causal": True, "position_ids": positions, "dropout": 0.5}
    assert ulysses.ulysses_attention(attention, torch.nn.Module(), states, states, states, None, 3, **told) is states
    ((args, options),) = seen
    assert [argument is states for argument in args] == [True, True, True, False, False]
    assert args[3:] == (None, 3)
    assert options == told
    assert ulysses.ulysses_slice(states, 1) is states


def test_a_getter_without_a_group_changes_nothing() -> None:
    ulysses.register_ulysses_group(lambda: None)
    assert ulysses.ulysses_group() is None


def test_attention_replaced_by_a_framework_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []

    def attention(query: torch.Tensor, *args: Any, **_: Any) -> torch.Tensor:
        called.append(len(args))
        return query

    monkeypatch.setattr(flash_attention, "_flash_attention_forward", attention)
    module = torch.nn.Module()
    module.config = type("Config", (), {"_attn_implementation": "flash_attention_2"})()
    module.is_causal = True
    states = torch.randn(1, 2, 3, 4, dtype=torch.bfloat16)
    output, weights = flash_attention.flash_attention_forward(module, states, states, states, None)
    # Key, value, mask and query length come by position, as verl's own replacement takes them.
    assert called == [4]
    assert torch.equal(output, states.transpose(1, 2))
    assert weights is None
