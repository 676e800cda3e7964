"""Class orders: installed distribution → how many of its classes the model gives the order that Python gives them.

Every module is imported by another Python, which tells the ``__mro__`` of every class of it; the model reads the same
files. ``python -m class_orders sphinx`` prints the counts, and every class that differs.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npu_overlays.model import Model, Symbol, model_of_files
from npu_overlays.model.external_classes import external_line

_CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What came of a comparison.

    Args:
        counts: by how much of their bases is known (``whole``: to `object`; ``named``: those of other distributions by
            name; ``unknown``), how many classes there are.
        differing: those of the first two kinds that Python has in another order, each with both orders.
        failed: how many modules could not be imported.
    """

    counts: Mapping[str, int]
    differing: Mapping[str, tuple[Sequence[str], Sequence[str]]] = field(repr=False)
    failed: int


def compared(python: Path, package: str, *, stubs: bool = False) -> Compared:
    """Return what the classes of an installed package are to the model, and to Python.

    Args:
        python: the interpreter that has it.
        package: what is imported, as ``sphinx``.
        stubs: whether modules that are not installed are made up, so that those which need them can be imported.
    """
    command = [str(python), "-I", str(_CHILD), package, *(["--stubs"] if stubs else [])]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    # Packages print what they like when the process ends, too.
    told = json.loads(next(line for line in lines if line.startswith('{"classes":')))
    root = Path(told["root"])
    model = _model(root)
    counts: Counter[str] = Counter()
    differing = {}
    for symbol, order in _classes(model, told["classes"]):
        kind, ours, theirs = _orders(model, symbol, order, told["classes"])
        counts[kind] += 1
        if kind != "unknown" and ours != theirs:
            differing[model.classes.dotted(symbol)] = (ours, theirs)
    return Compared(counts=counts, differing=differing, failed=told["failed"])


def _model(root: Path) -> Model:
    """Return the model of a package, given its folder; an extension is a module of which nothing more is known."""
    files = {
        file.relative_to(root.parent).as_posix(): file.read_bytes() if file.suffix == ".py" else b""
        for file in sorted(root.rglob("*"))
        if file.suffix in (".py", ".so", ".pyd")
    }
    return model_of_files(files, [root.name])


def _classes(model: Model, told: Mapping[str, Sequence[str]]) -> Iterator[tuple[Symbol, Sequence[str]]]:
    """Yield the classes that Python tells of and a statement of a module makes, with their order."""
    for name, order in told.items():
        module, _, qualified = name.partition(":")
        symbol = Symbol(model.modules.paths.get(module, ""), qualified)
        if model.resolver.inheritance.is_class(symbol):
            yield symbol, order


def _orders(
    model: Model, symbol: Symbol, order: Sequence[str], told: Mapping[str, Sequence[str]]
) -> tuple[str, list[str], list[str]]:
    """Return how much of a class's bases is known, its order to the model, and to Python as far as that can be told."""
    mro = model.classes.mro(symbol)
    ours = [model.classes.dotted(one) for one in mro.order]
    theirs = [one.replace(":", ".") for one in order if one != "builtins:object"]
    foreign = [one for one in mro.order if isinstance(one, str)]
    if not mro.known:
        return "unknown", ours, theirs
    if all(external_line(one) is not None for one in foreign):
        return "whole", ours, theirs
    own = {one.replace(":", ".") for one in told}
    return "named", [one for one in ours if one in own], [one for one in theirs if one in own]
