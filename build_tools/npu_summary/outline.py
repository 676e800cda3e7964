"""Outline: the changes of a file → the part that people see, and why each was made, field by field.

A file that was added or deleted is one line with its reason, then its classes and functions. Its imports, assignments
and members are in the diff. JSON and YAML list everything.
"""

from __future__ import annotations

from .plurals import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from .changes import Change, ClassChange, FileChange, Reason

    Field = Literal["why", "forwarded", "drop_when", "overlay"]
    Reasons = list[tuple[Field, str]]
    FormTarget = tuple[FileChange, Change]

# The kind of the line that stands for all imports of a class or module.
IMPORTS = "imports"
_ACTIONS = ("added", "wrapped", "edited", "replaced", "updated", "deleted")
PLAIN: tuple[Field, ...] = ("why", "forwarded", "drop_when")
_DEFINED = ("method", "class")
# By these a file comes or goes as a whole; another one is of a part of it.
_WHOLE = ("file", "patch", "deleted")


def outline(file: FileChange) -> FileChange:
    """Return a file with the changes that are shown of it."""
    if file["action"] not in ("added", "deleted"):
        return file
    functions = [change for change in file["module_changes"] if change["kind"] in _DEFINED]
    whole = next((change for change in file["module_changes"] if change["kind"] == "file"), None)
    if whole is None:
        reason = next((part for part in _parts(file) if part.get("operation") in _WHOLE), None)
        whole = _whole(file["action"], "file", _name(file), reason)
    classes: list[ClassChange] = [{**entry, "changes": []} for entry in file["class_changes"]]
    return {**file, "module_changes": [whole, *functions], "class_changes": classes}


def fold_imports(file: FileChange) -> FileChange:
    """Return a file with one entry instead of the imports of its module, and of each of its classes."""
    classes: list[ClassChange] = [{**entry, "changes": _folded(entry["changes"])} for entry in file["class_changes"]]
    return {**file, "module_changes": _folded(file["module_changes"]), "class_changes": classes}


def fold_forms(files: list[FileChange]) -> tuple[dict[str, list[FormTarget]], list[FileChange]]:
    """Return the changes of each form that has several, by its model, and the files with what is left of them.

    A file that has only imports left is omitted.
    """
    found: dict[str, list[FormTarget]] = {}
    for file in files:
        for change in file["module_changes"]:
            found.setdefault(change.get("form", ""), []).append((file, change))
        for entry in file["class_changes"]:
            for change in entry["changes"]:
                found.setdefault(change.get("form", ""), []).append((file, change))
    forms = {model: targets for model, targets in found.items() if model and len(targets) > 1}
    return forms, [rest for file in files if (rest := _without(file, forms)) is not None]


def _without(file: FileChange, forms: dict[str, list[FormTarget]]) -> FileChange | None:
    """Return a file less the changes of some forms; None where nothing but imports is left."""
    classes: list[ClassChange] = []
    for entry in file["class_changes"]:
        kept = [change for change in entry["changes"] if change.get("form", "") not in forms]
        if kept or not entry["changes"]:
            classes.append({**entry, "changes": kept})
    module = [change for change in file["module_changes"] if change.get("form", "") not in forms]
    is_same = len(module) == len(file["module_changes"]) and classes == file["class_changes"]
    if is_same or classes or any(change["kind"] != "import" for change in module):
        return {**file, "class_changes": classes, "module_changes": module}
    return None


def _folded(changes: list[Change]) -> list[Change]:
    others = [change for change in changes if change["kind"] != "import"]
    imports = len(changes) - len(others)
    if not imports:
        return changes
    return [*others, _whole("", IMPORTS, f"{plural(imports, 'import')} (--all lists them)")]


def totals(files: list[FileChange]) -> dict[str, dict[str, int]]:
    """Return how many changes are shown of each area, by action; imports are counted apart."""
    areas: dict[str, dict[str, int]] = {}
    for file in files:
        counts = areas.setdefault(area(file), {})
        for change in entries(file):
            action = IMPORTS if change["kind"] == "import" else manner(change) or change["action"]
            counts[action] = counts.get(action, 0) + 1
    return {name: counts for name, counts in sorted(areas.items()) if counts}


def area(file: FileChange) -> str:
    """Return the first two packages that a file lies in, as they are imported, or the name of a single module."""
    folders = file["installed"].split("/")[:-1]
    return ".".join(folders[:2]) or file["installed"].removesuffix(".py")


def source_folders(files: list[FileChange]) -> list[str]:
    """Return the folders of upstream's repository, such as `src`, from which files are installed without the folder."""
    found: set[str] = set()
    for file in files:
        folder = file["path"].removesuffix(file["installed"])
        if folder != file["path"]:
            found.add(folder.rstrip("/"))
    return sorted(found - {""})


def columns(areas: dict[str, dict[str, int]]) -> list[str]:
    """Return the actions that occur in any area: those we know in their order, then others, imports last."""
    found: set[str] = set()
    for counts in areas.values():
        found |= counts.keys()
    return [*filter(found.__contains__, _ACTIONS), *sorted(found.difference(_ACTIONS, [IMPORTS])), *({IMPORTS} & found)]


def module_changes(file: FileChange) -> list[Change]:
    """Return the module changes of a file, that of the whole file among them.

    A deleted file, and an added one in which nothing could be listed (data files), get one; otherwise they would look
    merely touched.
    """
    listed = file["module_changes"]
    is_empty = file["action"] == "added" and not listed and not file["class_changes"]
    if (file["action"] == "deleted" or is_empty) and all(change["kind"] != "file" for change in listed):
        return [_whole(file["action"], "file", _name(file)), *listed]
    return listed


def class_changes(entry: ClassChange) -> list[Change]:
    """Return the changes inside a class; a deleted class is one itself; an added one shows as its name alone."""
    if entry["action"] == "deleted" and not entry["changes"]:
        return [_whole("deleted", "class", entry["name"], entry)]
    return entry["changes"]


def entries(file: FileChange) -> Iterator[Change]:
    """Yield each change of a file that is shown, with added and deleted classes and the changes inside classes."""
    shown = outline(file)
    yield from module_changes(shown)
    for entry in shown["class_changes"]:
        if entry["action"] != "updated" or not entry["changes"]:
            yield _whole(entry["action"], "class", entry["name"], entry, entry.get("line"))
        for change in entry["changes"]:
            yield {**change, "name": f"{entry['name']}.{change['name']}"}


def count(file: FileChange) -> int:
    """Return how many changes are shown of a file."""
    return len(list(entries(file)))


def changes_of(file: FileChange, name: str) -> list[Change]:
    """Return the changes of a name of a module, ``Class.method`` or not: several where it has several definitions."""
    owner, _, last = name.rpartition(".")
    members: list[Change] = []
    for entry in file["class_changes"]:
        if entry["name"] == owner:
            members += [change for change in entry["changes"] if change["name"] == last]
    return members or [one for one in file["module_changes"] if one["name"] == name]


def symbol(change: Change | ClassChange, name: str = "") -> str:
    """Return the name of what changed, or that given, with which of its definitions it is, as overlays write it."""
    where = change.get("where", "")
    return f"{name or change['name']}[{where}]" if where else name or change["name"]


def manner(change: Change) -> str:
    """Return ``wrapped`` or ``edited`` where upstream's text still has a part in a replaced symbol, else nothing."""
    kept = change["action"] == "replaced" and change["operation"] in ("wrapped", "edited")
    return change["operation"] if kept else ""


def fields(files: list[FileChange]) -> tuple[Field, ...]:
    """Return which fields to show: with the layer, where more than one made the changes."""
    layers: set[str] = set()
    for file in files:
        for change in _parts(file):
            layers.update(part["overlay"] for part in (change, *change.get("also", ())) if "overlay" in part)
    return (*PLAIN, "overlay") if len(layers) > 1 else PLAIN


def reasons(change: Change | ClassChange, wanted: tuple[Field, ...]) -> Reasons:
    """Return the reasons of a change and of what else had a part in it, in a fixed order, as one line of text each."""
    found: Reasons = []
    parts: list[Reason | Change | ClassChange] = [change, *change.get("also", ())]
    for part in parts:
        for field in wanted:
            if text := " ".join(part.get(field, "").split()):
                found.append((field, text))
    return found


def by_field(change: Change | ClassChange, wanted: tuple[Field, ...]) -> Reasons:
    """Return the same, every field once: where several things had a part in a change, their texts are joined."""
    found: dict[Field, str] = {}
    for field, text in reasons(change, wanted):
        found[field] = f"{found[field]}; {text}" if field in found else text
    return list(found.items())


def _parts(file: FileChange) -> Iterator[Change | ClassChange]:
    """Yield everything in a changed file that can have a reason."""
    yield from file["module_changes"]
    for entry in file["class_changes"]:
        yield entry
        yield from entry["changes"]


def _whole(
    action: str, kind: str, name: str, part: Change | ClassChange | None = None, line: int | None = None
) -> Change:
    """Return the change of a class or file as a whole, for the reasons of this part of it."""
    part = part or {"action": "", "name": "", "changes": []}
    return {
        "action": action,
        "kind": kind,
        "name": name,
        "line": line,
        "operation": "",
        "why": part.get("why", ""),
        "forwarded": part.get("forwarded", ""),
        "drop_when": part.get("drop_when", ""),
        "overlay": part.get("overlay", ""),
        "also": part.get("also", []),
    }


def _name(file: FileChange) -> str:
    return file["path"].rpartition("/")[2]
