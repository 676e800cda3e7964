"""Bench: ratios that say whether patched wheels are cheap to build, to ask and to run; prints goals and verdicts.

Absolute times depend on the machine, so each figure is a ratio of medians taken
in one run, contenders in turn. Each is printed as soon as it is measured. Leaves
with 0 whatever the verdicts, with 1 where something could not be measured: that
and why is printed last.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import median

import build_cost
import index_cost
import matrices
import merge_cost
import models
import summary_cost
from figures import Figure, as_json
from measurements import Contender, function, interleaved, peak, seconds

from environments import reason
from npu_overlays.commands.console import Console
from npu_overlays.commands.invocation import collect_seldom
from npu_overlays.errors import OverlayError

OVERLAYS = Path(__file__).resolve().parent.parent / "overlays"
MERGE_SIZES = (10, 100, 1000)
Told = Callable[[str], None]
Part = Callable[[], Iterator[Figure]]


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="counted runs of each contender (default: 5)")
    parser.add_argument("--only", choices=parts(Path(), 0, print), action="append", help="leave the others out")
    parser.add_argument("--json", action="store_true", help="print JSON for a machine to read")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="npu-overlays-bench-") as folder, Console(json_output=False) as console:
        listed = parts(Path(folder), options.repeats, console.step)
        chosen = {name: listed[name] for name in listed if name in (options.only or listed)}
        figures, missing = measure(chosen, (lambda _: None) if options.json else console.line)
        if options.json:
            console.json(as_json(figures))
        for name, why in missing.items():
            console.notice(f"{name}: not measured: {why}")
    return int(bool(missing))


def measure(chosen: Mapping[str, Part], line: Told) -> tuple[list[Figure], dict[str, str]]:
    """Return the figures of all parts, and by part why there are none, or no more.

    Args:
        chosen: the parts, by name.
        line: prints a figure once it is measured.
    """
    figures, missing = [], {}
    for name, part in chosen.items():
        try:
            for figure in part():
                line(str(figure))
                figures.append(figure)
        except Exception as error:  # whatever it is, the others are measured
            missing[name] = str(error) if isinstance(error, OverlayError) else reason(error)
    return figures, missing


def parts(work: Path, repeats: int, told: Told) -> dict[str, Part]:
    """Return what is measured by its name, in order.

    What this process holds is the least that the processes it starts seem to have held, so building comes first.
    """
    pythons = cache(partial(models.environments, work, told))
    return {
        "build": lambda: build_figures(work, repeats, told),
        "build-all": lambda: all_figures(work, repeats, told),
        "summary": lambda: summary_figures(work, max(repeats, 20), told),
        "merge": lambda: merge_figures(repeats, told),
        "index": lambda: index_cost.measure(work, repeats, told),
        "matrix": lambda: matrices.measure(work, repeats, told),
        "models": lambda: model_figures(pythons(), max(repeats, 30), told),
        "audit": lambda: audit_figures(pythons(), repeats, told),
    }


def build_figures(work: Path, repeats: int, told: Told) -> Iterator[Figure]:
    """Yield what building costs."""
    overlay, git = build_cost.choose(OVERLAYS, told)
    tree = build_cost.upstream_tree(overlay, work, git=git)
    samples = build_cost.measure(overlay, tree, work, repeats, told)
    ours = seconds(samples[build_cost.PATCHED])
    for what, other, goal in (
        ("build, against upstream's own", build_cost.UPSTREAM, 1.0),
        ("build on one core, against deflating the same bytes", build_cost.DEFLATE, 1.3),
    ):
        theirs = seconds(samples[other])
        detail = f"{overlay.name}: {ours:.2f} s / {theirs:.2f} s"
        yield Figure(what=what, value=ours / theirs, unit="×", goal=goal, detail=detail)
    merged = seconds(samples[build_cost.MERGED])
    what, detail = "build that merges anew, against deflating the same bytes", f"{overlay.name}: {merged:.2f} s"
    yield Figure(what=what, value=merged / seconds(samples[build_cost.DEFLATE]), unit="×", goal=1.8, detail=detail)
    again = seconds(samples[build_cost.UNCHANGED])
    detail = f"{again:.2f} s / {ours:.2f} s"
    yield Figure(what="unchanged rebuild, against a build", value=again / ours, unit="×", goal=0.25, detail=detail)
    most = peak(samples[build_cost.MERGED]) / 1e6
    yield Figure(what="peak memory of a build", value=most, unit="MB", goal=300, detail="the process and its children")


def all_figures(work: Path, repeats: int, told: Told) -> Iterator[Figure]:
    """Yield what building all overlays costs, two at once."""
    overlays = build_cost.at_hand(OVERLAYS, told)
    took = {name: seconds(taken) for name, taken in build_cost.measure_all(overlays, work, repeats, told).items()}
    number, theirs = len(overlays), took[build_cost.ALL_DEFLATED]
    for how, name, goal in (("", build_cost.ALL, 0.8), (", merged anew", build_cost.ALL_MERGED, 1.8)):
        what = f"builds of {number} overlays on two cores{how}, against deflating the same bytes on one"
        detail = f"{took[name]:.2f} s / {theirs:.2f} s"
        yield Figure(what=what, value=took[name] / theirs, unit="×", goal=goal, detail=detail)
    again, written = took[build_cost.ALL_UNCHANGED], took[build_cost.ALL_WRITTEN]
    what = f"unchanged rebuilds of {number} overlays, against builds"
    detail = f"{again:.2f} s / {took[build_cost.ALL]:.2f} s; copying the wheels: {written:.2f} s"
    yield Figure(what=what, value=again / took[build_cost.ALL], unit="×", goal=0.25, detail=detail)


def summary_figures(work: Path, repeats: int, told: Told) -> Iterator[Figure]:
    """Yield what asking and checking installed wheels costs, against starting Python and hashing what is installed."""
    overlays = summary_cost.pair(OVERLAYS)
    took = {name: seconds(taken) for name, taken in summary_cost.measure(overlays, work, repeats, told).items()}
    names = " and ".join(one.distribution for one in overlays)
    for name, other, goal in (
        (summary_cost.SUMMARY, summary_cost.BARE, 4.0),
        (summary_cost.VERIFY, summary_cost.HASHING, 1.3),
        (summary_cost.VERIFY_ALONE, summary_cost.HASHING, 1.5),
        (summary_cost.DOCTOR, summary_cost.HASHING, 2.5),
    ):
        detail = f"{took[name] * 1000:.0f} ms / {took[other] * 1000:.0f} ms, of {names}"
        yield Figure(
            what=f"{name}, against {other}", value=took[name] / took[other], unit="×", goal=goal, detail=detail
        )
    detail = "every file hashed, bytecode looked at"
    yield Figure(what=f"--verify of {names}", value=took[summary_cost.VERIFY], unit="s", goal=1.0, detail=detail)


def audit_figures(pythons: models.Environments, repeats: int, told: Told) -> Iterator[Figure]:
    """Yield what an audit costs, against importing the same modules."""
    modules, samples = summary_cost.measure_audit(pythons.patched, repeats, told)
    ours, theirs = seconds(samples[summary_cost.AUDIT]), seconds(samples[summary_cost.IMPORTING])
    detail = f"{ours:.2f} s / {theirs:.2f} s, {modules} modules and what they import"
    what = f"{summary_cost.AUDIT}, against {summary_cost.IMPORTING}"
    yield Figure(what=what, value=ours / theirs, unit="×", goal=1.5, detail=detail)


def merge_figures(repeats: int, told: Told) -> Iterator[Figure]:
    """Yield the cost of one operation among few and many; linear where it stays the same."""
    collect_seldom()  # as the command does
    for label, generate in (("many modules", merge_cost.spread), ("one module", merge_cost.packed)):
        contenders = {
            f"{size} operations, {label}": Contender(run=function(modules.merge), before=modules.write)
            for size in MERGE_SIZES
            for modules in [merge_cost.GeneratedModules(generate, size)]
        }
        samples = interleaved(contenders, repeats, told=told).values()
        cost = {size: seconds(taken) / size * 1000 for size, taken in zip(MERGE_SIZES, samples, strict=True)}
        few, some, many = MERGE_SIZES
        detail = ", ".join(f"{size}: {cost[size]:.2f} ms" for size in (few, some, many))
        growth = cost[many] / cost[some]
        what = f"cost of one operation, {many} against {some} ({label})"
        yield Figure(what=what, value=growth, unit="×", goal=1.2, detail=detail)


def _span(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def model_figures(pythons: models.Environments, rounds: int, told: Told) -> Iterator[Figure]:
    """Yield what patched models cost, against upstream's code."""
    for family in models.ON_CPU:
        steps = models.steps(pythons, family, rounds, told)
        yield _on_cpu(f"training step on CPU, {family}", steps, "sets")
    yield _on_cpu("CPU time of importing a model", models.imports(pythons, rounds, told), "times")
    costs = {cost.family: cost for cost in models.costs(pythons, told)}
    for family, cost in costs.items():
        ours, theirs = cost.operators
        what, detail = f"operators per layer on NPU, {family}", f"{ours:g} / {theirs:g}, forward and backward"
        yield Figure(what=what, value=ours / theirs, unit="×", goal=1.0, detail=detail)
    # The tiny Qwen3-MoE has one layer with experts and one without, and is Qwen3 otherwise.
    moe, dense = costs["qwen3_moe"].waits, costs["qwen3"].waits
    ours, theirs = moe[0] - dense[0], moe[1] - dense[1]
    detail = f"{ours} / {theirs}, forward and backward, on the emulated NPU"
    yield Figure(what="host waits per layer with experts", value=ours, unit="waits", goal=0, detail=detail)


def _on_cpu(what: str, steps: models.StepTimes, sets: str) -> Figure:
    ours, theirs = steps.seconds
    beside = f"{len(steps.ratios)} {sets} {_span(steps.ratios)}, upstream beside itself {_span(steps.noise)}"
    detail = f"{ours * 1000:.1f} ms / {theirs * 1000:.1f} ms; {beside}"
    return Figure(what=what, value=median(steps.ratios), unit="×", goal=1.02, detail=detail)


if __name__ == "__main__":
    sys.exit(main())
