"""`dump`: a program that trains or infers → dumps of the forwards of its models."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from npu_recipes.commands.parser import Command
from npu_recipes.console import Console
from npu_recipes.dumps.request import Wanted, file_of, problems_of
from npu_recipes.errors import Problem, RecipeError

_DESCRIPTION = """\
Run a Python program and record the inputs and outputs of every module of its
model in the first forwards. The dump goes into FILE; those of further models
get -2, -3, … in their names.

Do this once on GPUs and once on NPUs, with the same weights and the same first
batch. Then give both files to `npu-recipes compare-dumps`. Turn torch.compile
off: a compiled model does not show its modules.

examples:
  npu-recipes dump --out gpu.npz -- forward.py --model Qwen/Qwen2.5-0.5B
  npu-recipes dump --out npu.npz --calls 2 -- -m my_package.forward
  torchrun --nproc_per_node=2 -m npu_recipes dump --out 'gpu-{rank}.npz' \\
    -- -m verl.trainer.sft_trainer …
  VERL_USE_EXTERNAL_MODULES=npu_recipes.dumps.everywhere \\
    NPU_RECIPES_DUMP='gpu-{rank}.npz' python -m verl.trainer.main_ppo …

In a program of your own:
  from npu_recipes.dumps.hooks import dump_forward
  with dump_forward(model, "npu.npz"):
      model(**batch)
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The file to write, what to record into it, and the program with its arguments."""

    out: str
    calls: int
    skip: int
    only: str
    elements: int
    program: list[str]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "the .npz to write; {rank} becomes RANK, or `pid` and the process id"
    parser.add_argument("--out", required=True, metavar="FILE", help=text)
    parser.add_argument("--calls", type=int, default=1, metavar="N", help="forwards of a model to record (default: 1)")
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="forwards to skip first (default: 0)")
    parser.add_argument("--only", default="", metavar="REGEX", help="record only modules whose path matches")
    text = "keep at most N elements of a tensor, evenly spread; 0 keeps all (default: 65536)"
    parser.add_argument("--elements", type=int, default=Wanted.elements, metavar="N", help=text)
    parser.add_argument("program", nargs="+", metavar="PROGRAM", help="after --: a script, or -m and a module")


def _checked(options: Options) -> tuple[Wanted, Path]:
    """Return what to record and the file for it; raises `RecipeError` with every mistake in the options."""
    wanted = Wanted(calls=options.calls, skip=options.skip, only=options.only, elements=options.elements)
    problems = list(problems_of(wanted, lambda name, value: f"--{name} {value}"))
    if options.program == ["-m"]:
        problems.append(Problem(where="-m", what="names no module", fix="-- -m package.module"))
    try:
        file = file_of(options.out, f"--out {options.out}", os.environ)
    except RecipeError as error:
        problems += error.problems
    if problems:
        raise RecipeError(problems)
    return wanted, file


def _run(options: Options, console: Console) -> int:
    wanted, file = _checked(options)
    try:
        from npu_recipes.dumps.watch import Watch  # noqa: PLC0415  # needs torch, as the program does
    except ImportError as error:
        what, fix = f"torch cannot be imported: {error}", "run it where the program runs"
        raise RecipeError(Problem(where="npu-recipes dump", what=what, fix=fix)) from error
    watch = Watch(file, wanted)
    try:
        code = _program(options.program)
    finally:
        files = watch.finish()
        for one in files:
            missed = f", the model by itself: no path of a module has `{wanted.only}`" if one in watch.missed else ""
            console.notice(f"recorded: {one}{missed}")
    if not (files or code):  # a program that failed has said why itself
        what, fix = "called no torch module that has parameters", "name the program that runs the model"
        if watch.models:
            what, fix = f"ran no model more than {wanted.skip} times: no forward was recorded", "skip fewer: --skip"
        raise RecipeError(Problem(where=" ".join(options.program), what=what, fix=fix))
    return code


def _program(program: list[str]) -> int:
    """Run a program in this process and return its exit code, as Python by itself would."""
    module = program[0] == "-m"
    name, *arguments = program[1:] if module else program
    sys.argv = [name, *arguments]
    sys.path.insert(0, "" if module else str(Path(name).resolve().parent))
    try:
        _require(name, module=module)
        if module:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(name, run_name="__main__")
    except SystemExit as left:
        if isinstance(left.code, str):
            sys.stderr.write(f"{left.code}\n")
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    except RecipeError:  # what is to be recorded cannot be
        raise
    except Exception:  # the program's own
        traceback.print_exc()
        return 1
    return 0


def _require(name: str, *, module: bool) -> None:
    """Raise `RecipeError` where there is no such program."""
    try:
        there = find_spec(name) if module else Path(name).exists()
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise  # something that its package needs
        there = None
    if not there:
        what = "there is no such module" if module else "there is no such file"
        fix = "name a script, or -m and a module that can be imported here"
        raise RecipeError(Problem(where=name, what=what, fix=fix))


COMMANDS = {
    "dump": Command(
        name="dump",
        summary="run a program and record what the modules of its model compute",
        description=_DESCRIPTION,
        arguments=_add_arguments,
        options=Options,
        run=_run,
    )
}
