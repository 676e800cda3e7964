"""`data`: a data set → train.parquet and test.parquet, as verl reads them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from npu_recipes.commands.parser import Command
from npu_recipes.console import Console
from npu_recipes.files import at_home
from npu_recipes.preparation.data_sets import DATA, prepare

_DESCRIPTION = """\
Prepare data as verl's trainers read it: train.parquet and test.parquet in
the folder of --output.

Without --source it downloads the data from the hub. With --source it reads two
files of yours, .jsonl, .json or .parquet, with the columns of the data set on
the Hugging Face Hub: one has the word train in its name, the other test.

examples:
  npu-recipes data gsm8k --source gsm8k/ --output ~/data/gsm8k
  npu-recipes data gsm8k --output ~/data/gsm8k
  npu-recipes data smoke-grpo                                  needs no hub
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The data set, where it is read (empty for the hub), and the folder to write (None for its own)."""

    name: str
    source: str
    output: Path | None


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(f"{name} ({one.title})" for name, one in DATA.items())
    parser.add_argument("name", metavar="NAME", help=f"one of: {names}")
    parser.add_argument("--source", default="", metavar="FOLDER", help="read the files in it instead of the hub")
    parser.add_argument("--output", type=at_home, metavar="FOLDER", help="the folder to write (default: data/NAME)")


def _run(options: Options, console: Console) -> int:
    console.step(f"reading {options.source or DATA[options.name].hub if options.name in DATA else options.name}")
    folder = options.output or Path("data") / options.name
    prepare(options.name, folder, source=options.source)
    for file in sorted(folder.glob("*.parquet")):
        console.line(str(file))
    return 0


COMMANDS = {
    "data": Command(
        name="data",
        summary="prepare data as verl reads it",
        description=_DESCRIPTION,
        arguments=_add_arguments,
        options=Options,
        run=_run,
    )
}
