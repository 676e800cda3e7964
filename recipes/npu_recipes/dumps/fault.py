"""Fault: two dumps → the module at fault, and what the summaries of patched wheels say was changed in its class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_recipes.dumps.dump_file import DumpManifest
from npu_recipes.dumps.match import Difference, Matched, Matching
from npu_recipes.errors import Problem, RecipeError
from npu_summary import installed
from npu_summary.changes import Change, Changes, FileChange


@dataclass(frozen=True, kw_only=True)
class Changed:
    """One changed symbol."""

    distribution: str  # the patched wheel, with its version
    symbol: str  # its name, with the file's before a function of the module
    action: str  # what was done to it
    why: str  # the reason, as the overlay gives it
    own: bool  # whether it is one of the class or of one that it inherits from; else a function of the same file


class Summaries:
    """The summaries of patched wheels.

    Args:
        wheels: wheels to ask; without any, what is installed beside this program.
    """

    def __init__(self, wheels: Sequence[Path] = ()) -> None:
        found = installed.places(map(str, wheels) if wheels else None)
        self._read, problems = installed.load(found)
        problems += [f"{wheel}: is no patched wheel" for wheel in wheels if not installed.places([str(wheel)])]
        if problems and wheels:
            fix = "name a wheel that was built"
            raise RecipeError(Problem(where="--wheel", what=one, fix=fix) for one in problems)

    @property
    def known(self) -> dict[str, str]:
        """The distributions, with their versions."""
        return {one["distribution"]["name"]: one["distribution"]["version"] for one in self._read}

    def covers(self, classes: Iterable[str]) -> bool:
        """Return whether one of the wheels is of the package that the first of the classes is from."""
        package = package_of(classes)
        return any(one["upstream"]["project"].replace("-", "_") == package for one in self._read)

    def changes(self, classes: Sequence[str]) -> list[Changed]:
        """Return what was changed in classes, ``package.module:Class``, and in the functions beside them."""
        found: dict[Changed, None] = {}
        for name in classes:
            for changes in self._read:
                found |= dict.fromkeys(_of_class(changes, name))
        return sorted(found, key=lambda one: not one.own)


def package_of(classes: Iterable[str]) -> str:
    """Return the package that the first of some classes is from, each ``package.module:Class``."""
    return next(iter(classes), "").partition(":")[0].partition(".")[0]


def _of_class(changes: Changes, name: str) -> Iterator[Changed]:
    """Yield what one wheel changed in a class, ``package.module:Class``, and in functions of its module."""
    module, _, kind = name.partition(":")
    places = {f"{module.replace('.', '/')}{end}" for end in (".py", "/__init__.py")}
    distribution = f"{changes['distribution']['name']} {changes['distribution']['version']}"
    for file in changes["files"]:
        if file["installed"] not in places:
            continue
        if file["action"] == "added":
            yield Changed(distribution=distribution, symbol=file["installed"], action="added", why="", own=True)
        for symbol, change, own in _of_file(file, kind):
            why = " ".join(change["why"].split())
            yield Changed(distribution=distribution, symbol=symbol, action=change["action"], why=why, own=own)


def _of_file(file: FileChange, kind: str) -> Iterator[tuple[str, Change, bool]]:
    """Yield the changed symbols of a file, with True for those of the class."""
    for one in file["class_changes"]:
        if one["name"] == kind:
            for change in one["changes"]:
                yield f"{kind}.{change['name']}", change, True
    for change in file["module_changes"]:
        if change["kind"] == "method":
            yield f"{file['installed']}: {change['name']}", change, False


@dataclass(frozen=True, kw_only=True)
class First:
    """The first module that diverges."""

    matched: Matched  # its passage
    kind: str  # its class
    # The module whose code is to be looked at: the nearest around it where it was given something else on each side,
    # since that computes what it gives its parts, else itself.
    suspect: str
    suspect_kinds: tuple[str, ...]  # that module's class and those it inherits from
    before: str  # the last module before it that agrees; empty where there is none
    covered: bool  # whether a summary of a patched wheel of that package was found
    changed: tuple[Changed, ...]  # what the wheels changed of it


@dataclass(frozen=True, kw_only=True)
class FoundFault:
    """The result of comparing two dumps."""

    matching: Matching  # every module
    first: First | None  # the first that diverges; None where all agree
    notes: tuple[str, ...]  # what has to be known besides
    wheels: dict[str, str]  # the patched distributions that were asked, with their versions


def find(matching: Matching, reference: DumpManifest, run: DumpManifest, summaries: Summaries) -> FoundFault:
    """Find the module at fault.

    Raises:
        RecipeError: not all forwards are there on both sides, the model itself was given something else on each, or
            no module gave a tensor.
    """
    if missing := list(_missing(reference, run)):
        raise RecipeError(missing)
    _refuse_other_inputs(matching)
    if not any(one.compared for one in matching.matched):
        what = "no module of it gave a tensor, so that there is nothing to compare"
        fix = "record one that returns tensors, or lists of them"
        raise RecipeError(Problem(where="the model", what=what, fix=fix))
    first = next((place for place, one in enumerate(matching.matched) if not one.agrees), None)
    return FoundFault(
        matching=matching,
        first=None if first is None else _first(matching, first, run, summaries),
        notes=tuple(_notes(matching, reference, run, summaries)),
        wheels=summaries.known,
    )


def _missing(reference: DumpManifest, run: DumpManifest) -> Iterator[Problem]:
    """Yield which forwards of the model itself are not there or failed: nothing shows whether those agree."""
    if not reference.begun == run.begun > 0:
        what = f"hold {reference.begun} forwards of the model (the reference) and {run.begun} (the run)"
        yield Problem(where="the dumps", what=what, fix="record as many of both, with the same --calls and --skip")
    for side, manifest in (("the reference", reference), ("the run", run)):
        for call in manifest.unended:
            what = f"the model was not through with its forward {call}: it failed, and its program says why"
            yield Problem(where=side, what=what, fix="record one that ends")


def _refuse_other_inputs(matching: Matching) -> None:
    """Raise `RecipeError` if the model was given something else on each side, or that cannot be told."""
    given = next((one for one in matching.matched if not one.passage.module and one.fed_alike is False), None)
    problems = []
    if given:
        fix = "give both the same batch: the same data, seed, padding and micro-batch size"
        for one in given.inputs:
            if one.kind not in {"within", "missing"}:
                what = f"is not the same on both sides: {why(one)}"
                problems.append(Problem(where=f"input {one.name} of the model", what=what, fix=fix))
    # A forward whose model names no input on both sides: a module that wraps a model has none.
    told = {one.passage.call for one in matching.matched if not one.passage.module and one.told}
    if not problems and any(one.passage.call not in told for one in matching.matched):
        what = "has no input of the same name on both sides: whether both were given the same batch cannot be told"
        fix = "record both with the same version of npu-recipes"
        problems.append(Problem(where="the model", what=what, fix=fix))
    if problems:
        raise RecipeError(problems)


def why(one: Difference) -> str:
    """Return in words how two tensors differ."""
    if one.kind in {"shape", "missing"}:
        return one.said
    error = "no finite error" if one.error is None else f"error {one.error:.3g}"
    return f"{error}, tolerance {one.tolerance:.3g} ({one.said})"


def _first(matching: Matching, place: int, run: DumpManifest, summaries: Summaries) -> First:
    matched = matching.matched[place]
    module = matched.passage.module
    suspect = _parent(module, run) if matched.fed_alike is False else module
    kinds = run.classes.get(suspect, ())
    return First(
        matched=matched,
        kind=next(iter(run.classes.get(module, ())), ""),
        suspect=suspect,
        suspect_kinds=kinds,
        before=matching.matched[place - 1].passage.module if place else "",
        covered=summaries.covers(kinds),
        changed=tuple(summaries.changes(kinds)),
    )


def _parent(module: str, run: DumpManifest) -> str:
    """Return the nearest recorded module around one; a list of modules does not run, and is none."""
    while module:
        module = module.rpartition(".")[0]
        if module in run.classes:
            return module
    return ""


def _notes(matching: Matching, reference: DumpManifest, run: DumpManifest, summaries: Summaries) -> Iterator[str]:
    for side, manifest in (("reference", reference), ("run", run)):
        versions = ", ".join(f"{name} {version}" for name, version in manifest.made_by.items())
        yield f"{side}: {versions}, {len(manifest.passages)} passages of {len(manifest.classes)} modules"
    for name, version in run.made_by.items():
        if (asked := summaries.known.get(name)) and asked != version:
            yield f"the run had {name} {version}, and the changes shown are those of {asked}: --wheel names another"
    # A module that reads an input which only one side gave its model may diverge because of it.
    unpaired: dict[str, None] = {}
    for one in matching.matched:
        if not one.passage.module:
            unpaired |= dict.fromkeys(one.unpaired)
    for name in unpaired:
        yield f"input of the model: {name}; give it to both, or to neither"
