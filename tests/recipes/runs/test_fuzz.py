"""Fuzzing: whatever a file holds, it is read or refused, and what is read are numbers by ascending steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from npu_recipes.errors import RecipeError
from npu_recipes.runs import Run

from ..samples import read

PIECES = st.sampled_from(
    [
        *("step:1 - ", "step:", "step:99999999999999999999 - ", " - ", ":", "loss", "0.5", "nan", "np.float64(", ")"),
        *("{", "}", "[", "]", '"step"', '"_step"', '"data"', '"loss"', ": ", "1e999", "null", '"NaN"', "[" * 9),
        *("step", "Step", "value", "tag", ",", ";", "\t", '"', "a - loss", "a - loss__MIN", "Wall time", "\x00"),
        *(
            "{'",
            "'loss': ",
            "'0.5', ",
            "'epoch': 1.0}",
            "'step': 3, ",
            "'3/9'",
            "nan",
            "{'a': 1, 'loss': 2}\n",
            '"log_history": [',
        ),
        *(
            " iteration 3/ 9 | ",
            "lm loss: 1 | ",
            "|",
            " validation loss at iteration 3 | lm loss value: 1 | ",
            "[rank1]:",
        ),
        *("\n", "\n", "\n", "\r", "\r\n", "\x1b[0m", "(TaskRunner pid=1) ", " [repeated 2x across cluster]", "昇腾"),
    ]
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "run"


def read_or_refused(file: Path, content: bytes) -> Run | None:
    file.write_bytes(content)
    try:
        return read(file)
    except RecipeError:
        return None


@given(st.lists(PIECES, max_size=40).map("".join))
@example('{"step": 1, "data": {"a": 1}}\n{"step": 1e999, "data": {"a": 1}}\n{"_step": "x"}\n[]\n')
@example('step,a\n1,1\n"')
@example("".join(f"{{'loss': 1, 'epoch': {epoch}}}\n" for epoch in ("nan", "inf", "-1", "1e300", "2e300")))
@example("step,value,tag\n1,x,a\n1\n,1,b\n1,1,c")
def test_pieces_of_every_form(file: Path, text: str) -> None:
    run = read_or_refused(file, text.encode())
    metrics = run.metrics if run else {}
    for series in metrics.values():
        assert len(series.steps) == len(series.values) > 0
        assert np.all(np.diff(series.steps) > 0)


@given(st.binary(max_size=200))
def test_bytes(file: Path, content: bytes) -> None:
    read_or_refused(file, content)
