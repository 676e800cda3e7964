"""Finding: the module at fault of two dumps, and what patched wheels changed in its class by their own summaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_recipes.dumps.dump_file import Manifest
from npu_recipes.dumps.match import Difference, Matched, Matching
from npu_recipes.errors import Problem, RecipeError
from npu_summary import installed
from npu_summary.changes import Changes, FileChange


@dataclass(frozen=True, kw_only=True)
class Changed:
    """One changed symbol.

    Args:
        distribution: the patched wheel, with its version.
        symbol: its name, with the file's before a function of the module.
        action: what was done to it.
        why: the reason, as the overlay gives it.
        own: whether it is one of the class or of one that it inherits from; else a function of the same file.
    """

    distribution: str
    symbol: str
    action: str
    why: str
    own: bool


class Summaries:
    """What patched wheels say of themselves.

    Args:
        wheels: wheels to ask; without any, what is installed beside this program.
    """

    def __init__(self, wheels: Sequence[Path] = ()) -> None:
        found = installed.places(map(str, wheels) if wheels else None)
        self._read, problems = installed.load(found)
        problems += [f"{wheel}: is no patched wheel" for wheel in wheels if not installed.places([str(wheel)])]
        if problems and wheels:
            raise RecipeError(
                [Problem(where="--wheel", what=one, fix="name a wheel that was built") for one in problems]
            )

    @property
    def known(self) -> dict[str, str]:
        """The distributions, with their versions."""
        return {one["distribution"]["name"]: one["distribution"]["version"] for one in self._read}

    def covers(self, classes: Iterable[str]) -> bool:
        """Return whether one of the wheels is of the package that the first of the classes is from."""
        package = package_of(classes)
        return any(one["upstream"]["project"].replace("-", "_") == package for one in self._read)

    def changes(self, classes: Sequence[str]) -> list[Changed]:
        """Return what was changed of a class, of those it inherits from, and of the functions beside them.

        Args:
            classes: ``package.module:Class``, the class itself first.
        """
        found = (one for name in classes for changes in self._read for one in _of_class(changes, name))
        return sorted(dict.fromkeys(found), key=lambda one: not one.own)


def package_of(classes: Iterable[str]) -> str:
    """Return the package that the first of some classes is from, each ``package.module:Class``."""
    return next(iter(classes), "").partition(":")[0].partition(".")[0]


def _of_class(changes: Changes, name: str) -> Iterator[Changed]:
    module, _, kind = name.partition(":")
    places = {f"{module.replace('.', '/')}{end}" for end in (".py", "/__init__.py")}
    for file in changes["files"]:
        if file["installed"] in places:
            yield from _of_file(changes, file, kind)


def _of_file(changes: Changes, file: FileChange, kind: str) -> Iterator[Changed]:
    distribution = f"{changes['distribution']['name']} {changes['distribution']['version']}"
    if file["action"] == "added":
        yield Changed(distribution=distribution, symbol=file["installed"], action="added", why="", own=True)
    for one in file["class_changes"]:
        for change in one["changes"] if one["name"] == kind else ():
            symbol, why = f"{kind}.{change['name']}", " ".join(change["why"].split())
            yield Changed(distribution=distribution, symbol=symbol, action=change["action"], why=why, own=True)
    for change in file["module_changes"]:
        if change["kind"] == "method":
            symbol, why = f"{file['installed']}: {change['name']}", " ".join(change["why"].split())
            yield Changed(distribution=distribution, symbol=symbol, action=change["action"], why=why, own=False)


@dataclass(frozen=True, kw_only=True)
class First:
    """The first module that diverges.

    Args:
        matched: its passage.
        kind: its class.
        suspect: the module whose code is to be looked at: the nearest around it where it was given something else on
            each side, since that computes what it gives its parts, else itself.
        suspect_kinds: that module's class and those it inherits from.
        before: the last module before it that agrees; empty where there is none.
        covered: whether a summary of a patched wheel of that package was found.
        changed: what the wheels changed of it.
    """

    matched: Matched
    kind: str
    suspect: str
    suspect_kinds: tuple[str, ...]
    before: str
    covered: bool
    changed: tuple[Changed, ...]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """All that two dumps say together.

    Args:
        matching: every module.
        first: the first that diverges; None where all agree.
        notes: what has to be known besides.
        wheels: the patched distributions that were asked, with their versions.
    """

    matching: Matching
    first: First | None
    notes: tuple[str, ...]
    wheels: dict[str, str]


def find(matching: Matching, reference: Manifest, run: Manifest, summaries: Summaries) -> Finding:
    """Find the module at fault.

    Raises:
        RecipeError: not all forwards are there on both sides, the model itself was given something else on each, or
            no module gave a tensor.
    """
    if missing := list(_missing(reference, run)):
        raise RecipeError(missing)
    if given := matching.given:
        raise RecipeError(_fed_otherwise(given))
    if matching.unknown:
        what = "has no input of the same name on both sides: whether both were given the same batch cannot be told"
        raise RecipeError(Problem(where="the model", what=what, fix="record both with the same version of npu-recipes"))
    if not any(one.compared for one in matching.matched):
        what = "no module of it gave a tensor, so that there is nothing to compare"
        raise RecipeError(
            Problem(where="the model", what=what, fix="record one that returns tensors, or lists of them")
        )
    first = next((place for place, one in enumerate(matching.matched) if not one.agrees), None)
    return Finding(
        matching=matching,
        first=None if first is None else _first(matching, first, run, summaries),
        notes=(*_notes(reference, run, summaries), *_one_sided(matching)),
        wheels=summaries.known,
    )


def _missing(reference: Manifest, run: Manifest) -> Iterator[Problem]:
    """Yield what of the forwards of the model itself is not there: nothing tells whether those agree."""
    if not reference.begun == run.begun > 0:
        what = f"hold {reference.begun} forwards of the model (the reference) and {run.begun} (the run)"
        yield Problem(where="the dumps", what=what, fix="record as many of both, with the same --calls and --skip")
    for side, manifest in (("the reference", reference), ("the run", run)):
        for call in manifest.unended:
            what = f"the model was not through with its forward {call}: it failed, and its program says why"
            yield Problem(where=side, what=what, fix="record one that ends")


def _fed_otherwise(given: Matched) -> list[Problem]:
    fix = "give both the same batch: the same data, seed, padding and micro-batch size"
    differing = [one for one in given.inputs if one.kind not in {"within", "missing"}]
    return [
        Problem(where=f"input {one.name} of the model", what=f"is not the same on both sides: {why(one)}", fix=fix)
        for one in differing
    ]


def why(one: Difference) -> str:
    """Return in words how two tensors differ."""
    if one.kind in {"shape", "missing"}:
        return one.said
    error = "no finite error" if one.error is None else f"error {one.error:.3g}"
    return f"{error}, tolerance {one.tolerance:.3g} ({one.said})"


def _first(matching: Matching, place: int, run: Manifest, summaries: Summaries) -> First:
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


def _parent(module: str, run: Manifest) -> str:
    """Return the nearest recorded module around one; a list of modules does not run, and is none."""
    while module:
        module = module.rpartition(".")[0]
        if module in run.classes:
            return module
    return ""


def _notes(reference: Manifest, run: Manifest, summaries: Summaries) -> list[str]:
    notes = []
    for side, manifest in (("reference", reference), ("run", run)):
        said = ", ".join(f"{name} {version}" for name, version in manifest.made_by.items())
        notes.append(f"{side}: {said}, {len(manifest.passages)} passages of {len(manifest.classes)} modules")
    for name, version in run.made_by.items():
        if (asked := summaries.known.get(name)) and asked != version:
            notes.append(f"the run had {name} {version}, and what changed is told of {asked}: --wheel names another")
    return notes


def _one_sided(matching: Matching) -> list[str]:
    """Return what is said of inputs that one side alone gave its model: whatever reads them may part by that."""
    given = (name for one in matching.matched if not one.passage.module for name in one.unpaired)
    return [f"input of the model: {name}; give it to both, or to neither" for name in dict.fromkeys(given)]
