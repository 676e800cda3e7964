"""`run`: a recipe → training, or with --dry-run the exact command, its environment and a verdict on the machine."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

from npu_recipes.catalogue import Recipe, load, pin_of_version
from npu_recipes.commands.parser import Command, add_json
from npu_recipes.commands.recipes import add_pin
from npu_recipes.console import Console
from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import at_home
from npu_recipes.launch.curve import MetricCurve
from npu_recipes.launch.environment import AUTO, Wishes
from npu_recipes.launch.machine import ask_doctor, shadows
from npu_recipes.launch.plan import Places, Plan, chosen_pin, installed_verl, make_plan, model_of
from npu_recipes.launch.run_folder import RunFolder, begin
from npu_recipes.preparation.data_sets import prepare

_DESCRIPTION = """\
Run a recipe with the installed verl. Overrides of Hydra may follow its name and
win over its settings: key=value, +key=value, ~key.

A run writes metrics.jsonl, log.txt, curve.svg and checkpoints into one folder.
Run it again with that folder to continue from the last checkpoint.

Write --jemalloc=FILE and --deterministic=SEED with `=`. Without a value, they
come last.

examples:
  npu-recipes run grpo-qwen3-8b --dry-run             prints the command and runs nothing
  npu-recipes run smoke-grpo                          any CPU, four minutes
  npu-recipes run smoke-grpo trainer.total_training_steps=60   continues from step 40
  npu-recipes run grpo-qwen3-8b --model /models/Qwen3-8B --data ~/data/gsm8k
  npu-recipes run dapo-qwen2.5-32b --deterministic=7 --jemalloc
"""
# argparse takes the word after an option whose value may be left out as that value, even the name of a recipe.
_BEHIND = "write --{0}={1}, or --{0} as the last word"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `run`."""

    name: str  # a recipe's
    overrides: list[str]  # Hydra's
    pin: str  # the verl whose settings are used; empty for the installed one
    model: str  # folder or name of the model; empty for the recipe's own
    data: Path | None  # folder with the data; None for the recipe's own below the output
    output: Path | None  # folder of the run; None for one below `runs`
    jemalloc: str | None  # see `Wishes`, as for the next two; None for none
    expandable_segments: bool  # whether the memory of training is virtual
    deterministic: int | None  # a seed
    dry_run: bool  # whether only to show
    json: bool  # whether to show it as JSON


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a recipe; `npu-recipes list` prints all")
    parser.add_argument("overrides", metavar="OVERRIDE", nargs="*", help="of Hydra, such as trainer.total_epochs=1")
    parser.add_argument("--dry-run", action="store_true", help="print command, environment and machine; run nothing")
    parser.add_argument("--model", default="", help="folder of the model, or its name on the hub")
    parser.add_argument("--data", type=at_home, help="folder with train.parquet and test.parquet: `npu-recipes data`")
    parser.add_argument("--output", type=at_home, metavar="FOLDER", help="folder of the run (default: runs/NAME)")
    group = parser.add_argument_group("options for the run's environment")
    text = "use expandable segments for training, not for an engine that generates; sets EXPANDABLE_SEGMENTS"
    group.add_argument("--expandable-segments", action="store_true", help=text)
    text = "preload jemalloc: FILE, or the one that is found"
    group.add_argument("--jemalloc", nargs="?", const=AUTO, type=_library, metavar="=FILE", help=text)
    text = "give the same result in every run (slower)"
    group.add_argument("--deterministic", nargs="?", const=0, type=_seed, metavar="=SEED", help=text)
    add_pin(parser)
    add_json(parser)


def _library(text: str) -> str:
    # What looks like an override may be a file all the same.
    override = "=" in text and not at_home(text).is_file()
    if override or not ("/" in text or ".so" in text or text == AUTO):
        raise argparse.ArgumentTypeError(f"`{text}` is no file of a library: {_BEHIND.format('jemalloc', 'FILE')}")
    return text


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"`{text}` is no seed: {_BEHIND.format('deterministic', 'SEED')}")
    return int(text)


def _run(options: Options, console: Console) -> int:
    recipe = load(options.name)
    run = begin((options.output or Path("runs") / options.name).resolve())
    plan = _plan(options, recipe, run)
    if options.dry_run:
        return _show(options, plan, console)
    _require_verl(plan)
    console.step("finding out which verl is imported here")
    if problems := list(shadows(plan)):
        raise RecipeError(problems)
    if recipe.smoke and options.data is None:
        console.step("preparing the model and the data")
        prepare(recipe.data, plan.places.data, source="", only_missing=True)
    _require_places(plan)
    console.notice(f"{recipe.name} with verl {installed_verl()}: its output goes to {run.log}")
    console.step("training; it takes a minute or more to the first step")

    def report(curve: MetricCurve) -> None:
        console.notice(curve.summary())
        console.step("training")

    curve = run.train(plan, tell=report)
    if run.idle:
        console.notice("this start logged no step: where the run had reached its end, ask for more steps or epochs")
    console.line(f"{recipe.name} is trained", style="bold")
    console.line(f"  {curve.summary()}")
    for what, place in run.results().items():
        console.line(f"  {what:12}{place}")
    return 0


def _plan(options: Options, recipe: Recipe, run: RunFolder) -> Plan:
    data = (options.data or (run.folder / "data" if recipe.smoke else Path("data") / recipe.data)).resolve()
    own = str(data / "model") if recipe.smoke else recipe.layout.model
    model = model_of(options.model) if options.model else own
    places = Places(model=model, data=data, output=run.folder, metrics=run.metrics)
    wishes = Wishes(
        jemalloc=options.jemalloc or "",
        expandable=options.expandable_segments,
        deterministic=options.deterministic,
    )
    return make_plan(recipe, pin=chosen_pin(options.pin), places=places, given=options.overrides, wishes=wishes)


def _require_verl(plan: Plan) -> None:
    version = installed_verl()
    if version is None or (plan.recipe.smoke and "+npu" not in version):
        what = "is not installed" if version is None else f"is upstream's ({version}), which does not train on a CPU"
        fix = "install the wheel: pip install -c wheels/constraints-verl-0.9.1.txt --find-links wheels verl-npu"
        raise RecipeError(Problem(where="verl-npu", what=what, fix=fix))
    if pin_of_version(version) != plan.pin:
        what = f"is for verl {plan.pin.version}, and verl {version} is installed"
        fix = "install that one or leave --pin out; with --dry-run it shows the command"
        raise RecipeError(Problem(where=f"--pin {plan.pin.name}", what=what, fix=fix))


def _require_places(plan: Plan) -> None:
    """Refuse to start without the data or the model: verl itself notices only after it has started all workers."""
    data = f"prepare it with `npu-recipes data {plan.recipe.data} --output DIR`, and name that folder with --data"
    problems = []
    for place in plan.places.missing(plan.untouched.values()):
        fix = "name the model's folder with --model" if str(place) == plan.places.model else data
        problems.append(Problem(where=str(place), what="is not on this machine", fix=fix))
    if problems:
        raise RecipeError(problems)


def _show(options: Options, plan: Plan, console: Console) -> int:
    part = plan.recipe.pins[plan.pin.name]
    shown = {
        "recipe": plan.recipe.name,
        "pin": plan.pin.name,
        "stack": next(iter(part.stacks), ""),
        "note": part.note.en if part.note else "",
        "command": list(plan.command),
        "environment": list(map(asdict, plan.variables)),
    }
    console.step("asking npu-doctor about this machine")
    refused = list(map(str, shadows(plan)))
    verdict = ask_doctor(str(shown["stack"]), deterministic=options.deterministic is not None)
    if options.json:
        console.json({**shown, "shadowed": refused, "verdict": verdict.text, "doctor": verdict.report})
        return 0
    named = f"stack {shown['stack']}" if shown["stack"] else "no stack"
    console.line(f"# {shown['recipe']} for {shown['pin']}, {named}", style="bold")
    if shown["note"]:
        console.line(f"# {shown['note']}", style="yellow")
    for one in plan.variables:
        console.line(f"# {one.name}: {one.why}", style="dim")
    for line in plan.shell().split("\n"):
        console.line(line)
    console.line()
    for line in "\n".join(refused).splitlines():
        console.line(f"# not trained from here: {line}", style="yellow")
    console.line(f"# this machine: {verdict.text}", style="bold")
    return 0


COMMANDS = {
    "run": Command(
        name="run",
        summary="run a recipe with the installed verl",
        description=_DESCRIPTION,
        arguments=_add_arguments,
        options=Options,
        run=_run,
    )
}
