"""The child process of an audit: what to import → what was replaced, both as JSON."""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import sys
from types import ModuleType

from npu_doctor.audit import definitions
from npu_doctor.audit.compare import Makers, NamespaceComparison
from npu_doctor.audit.layers import Homes
from npu_summary import installed, outline, verify
from npu_summary.verify import distributions, subjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from npu_doctor.audit.compare import Mismatch
    from npu_summary.changes import FileChange
    from npu_summary.installed import Place
    from npu_summary.verify.distributions import Dist
    from npu_summary.verify.subjects import Subject


def main(asked: dict[str, Any]) -> dict[str, Any]:
    """Import what is asked for and compare every module of ours that is then loaded.

    Args:
        asked: ``imports``, ``script``, ``arguments``, ``names``.

    Returns:
        What `report.Audit.of` reads.
    """
    places, _ = installed.select(installed.places(), asked["names"])
    found = distributions.scan(installed.own_path())
    ours = [subjects.load(place, found) for place in places]
    problems = [] if ours else [installed.NOTHING]
    if not asked["script"]:  # which has a path of its own
        problems += [f"{one.what}: {one.cause}" for one in verify.elsewhere(asked["names"]) if one.level != "note"]
    failures = list(_script_failures(asked["script"], asked["arguments"])) if asked["script"] else []
    listed = asked["imports"] or ([] if asked["script"] else sorted(_changed_modules(ours)))
    for name in listed:
        if failed := _import_failure(name, explicit=bool(asked["imports"])):
            failures.append(failed)
    required = _requirers(places, found)
    for failure in failures:
        failure["required"] = required.get(installed.normal_name(failure["absent"]), "")
    homes = Homes.now(asked["script"])
    audited = list(_loaded_modules(ours))
    replacements = []
    for subject, path, module in audited:
        try:
            replacements += [
                _replacement(one, subject, path, module, ours) for one in _compare(subject, path, module, homes)
            ]
        except Exception as error:  # an attribute may run any code when it is looked at
            told = {"module": module.__name__, "error": _first_line(error), "absent": "", "explicit": True}
            failures.append({**told, "required": ""})
    return {
        "modules": len(audited),
        "asked": len(listed),
        "replacements": replacements,
        "failures": failures,
        "problems": problems,
    }


def _requirers(places: Iterable[Place], found: Iterable[Dist]) -> dict[str, str]:
    """Return, for each distribution that ours require without an extra, which of ours requires it."""
    ours = {installed.normal_name(place.distribution) for place in places}
    required: dict[str, str] = {}
    for dist in found:
        if dist.key not in ours:
            continue
        for text in dist.requires:
            wanted, _, condition = text.partition(";")
            name = re.match(r"[A-Za-z0-9._-]+", wanted)
            # Another condition than an extra does not matter: an import has just failed for want of it.
            if name and "extra" not in condition:
                required.setdefault(installed.normal_name(name[0]), dist.name)
    return required


def _script_failures(file: str, arguments: list[str]) -> Iterator[dict[str, Any]]:
    sys.argv = [file, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))  # noqa: PTH100, PTH120  # as Python itself does
    try:
        runpy.run_path(file, run_name="__main__")
    except SystemExit as error:
        if error.code not in {None, 0}:
            yield {"module": file, "error": f"it left with exit code {error.code}", "absent": "", "explicit": True}
    except BaseException as error:  # noqa: BLE001, RUF100  # the user's program may raise anything
        yield {"module": file, "error": _first_line(error), "absent": "", "explicit": True}


def _changed_modules(ours: Iterable[Subject]) -> set[str]:
    """Return the modules that the summaries say were changed."""
    found: set[str] = set()
    for subject in ours:
        files = subject.changes["files"] if subject.changes else []
        for one in files:
            if one["action"] != "deleted" and one["installed"].endswith(".py"):
                found.add(one["installed"].removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    return found


def _import_failure(name: str, *, explicit: bool) -> dict[str, Any] | None:
    """Import a module; returns why it cannot be, and which package that nobody installed it needs."""
    try:
        importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001, RUF100  # modules also raise SystemExit and worse
        first = _root(error)
        absent = (first.name or "").partition(".")[0] if isinstance(first, ModuleNotFoundError) else ""
        return {"module": name, "error": _first_line(error), "absent": absent, "explicit": explicit}
    return None


def _root(error: BaseException) -> BaseException:
    """Return the first error of a chain: the one that explains the others."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _first_line(error: BaseException) -> str:
    root = _root(error)
    return f"{type(root).__name__}: {root}".splitlines()[0]


def _loaded_modules(ours: Iterable[Subject]) -> Iterator[tuple[Subject, str, ModuleType]]:
    """Yield every loaded module whose file is one that was built."""
    seen: set[int] = set()
    roots = [(os.path.realpath(subject.store.root) + os.sep, subject) for subject in ours]
    for module in list(sys.modules.values()):
        file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
        if not isinstance(file, str) or id(module) in seen:
            continue
        seen.add(id(module))
        real = os.path.realpath(file)
        for root, subject in roots:
            path = real.removeprefix(root).replace(os.sep, "/")
            if path in subject.files and not path.startswith(subject.place.package):
                yield subject, path, module


def _compare(subject: Subject, path: str, module: ModuleType, homes: Homes) -> list[Mismatch]:
    is_package = path.endswith("/__init__.py")
    scope = definitions.read(subject.store.read(path), module=module.__name__, is_package=is_package)
    return list(NamespaceComparison(makers=Makers(module=module, scope=scope, homes=homes)).mismatches())


def _replacement(
    one: Mismatch, subject: Subject, path: str, module: ModuleType, ours: Iterable[Subject]
) -> dict[str, Any]:
    files = subject.changes["files"] if subject.changes else []
    changed = next((file for file in files if file["installed"] == path), None)
    return {
        "module": module.__name__,
        "symbol": one.symbol,
        "how": one.how,
        "by": {"module": one.by.module, "file": one.by.file, "line": one.by.line, "name": one.by.name},
        "own": any(one.by.package in other.tops for other in ours),
        "ours": _operation(changed, one.symbol) if changed else None,
    }


def _operation(file: FileChange, symbol: str) -> dict[str, str] | None:
    """Return the change of ours that a symbol, or the class around it, belongs to; of several definitions all."""
    if changes := outline.changes_of(file, symbol):
        operations = dict.fromkeys(one["operation"] for one in changes)
        reasons = dict.fromkeys(one["why"] for one in changes)
        return {"operation": ", ".join(operations), "why": " ".join(reasons)}
    for entry in file["class_changes"]:
        if entry["action"] == "added" and symbol.split(".", maxsplit=1)[0] == entry["name"].split(".")[0]:
            return {"operation": entry.get("operation", "added"), "why": entry.get("why", "")}
    return None


if __name__ == "__main__":
    asked_for, place = sys.argv[1:3]
    outcome = json.dumps(main(json.loads(asked_for)))
    with open(place, "w", encoding="utf-8") as answer:  # noqa: PTH123  # pathlib is not needed otherwise
        answer.write(outcome)
        answer.flush()
    os._exit(0)  # threads and exit handlers of what was imported must not hold up the answer
