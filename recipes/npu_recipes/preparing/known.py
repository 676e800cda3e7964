"""Known: the data that can be prepared, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.preparing import dapo_math, gsm8k, smoke


@dataclass(frozen=True, kw_only=True)
class Data:
    """Data to train on.

    Args:
        title: what it is, in a line.
        hub: its name on the hub; empty for what is made here.
        write: writes it into a folder, from a folder of the user's, or from the hub where that is empty.
    """

    title: str
    hub: str
    write: Callable[[Path, str], None]


DATA = {
    "smoke-sft": Data(title="sums, and a tiny model", hub="", write=lambda folder, _: smoke.prepare_sums(folder)),
    "smoke-grpo": Data(
        title="prompts that want digits, and a tiny model",
        hub="",
        write=lambda folder, _: smoke.prepare_digits(folder),
    ),
    "gsm8k": Data(title="GSM8K for reinforcement learning", hub=gsm8k.HUB, write=gsm8k.prepare_judged),
    "gsm8k-sft": Data(title="GSM8K for fine-tuning", hub=gsm8k.HUB, write=gsm8k.prepare_conversations),
    "dapo-math": Data(title="DAPO-Math-17k, and AIME 2024", hub=dapo_math.HUB, write=dapo_math.prepare),
}


def prepare(name: str, folder: Path, *, source: str, only_missing: bool = False) -> None:
    """Write data into a folder: ``train.parquet`` and ``test.parquet``, and for smoke recipes a model.

    Args:
        name: of `DATA`.
        folder: where to.
        source: a folder to read instead of the hub.
        only_missing: whether to leave what is there.

    Raises:
        RecipeError: there is no such data, or it cannot be read or written.
    """
    if name not in DATA:
        nearest = get_close_matches(name, DATA, n=1)
        fix = f"did you mean {nearest[0]}?" if nearest else f"name one of {', '.join(DATA)}"
        raise RecipeError(Problem(where=name, what="there is no such data", fix=fix))
    if only_missing and all((folder / f"{split}.parquet").exists() for split in ("train", "test")):
        return
    DATA[name].write(folder, source)
