"""The text summary: checked changes in, text out, in the layout users know and grep for."""

from __future__ import annotations

from . import changes as model
from . import outline, provenance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .changes import Change, Changes, ClassChange, FileChange, Ledger

# The counts of `=` and the missing space before the last of them are what users' scripts look for.
_TOP = "=" * 32 + " {}Patch Summary " + "=" * 34
_BOTTOM = "=" * 29 + " {}Patch Summary End" + "=" * 34
_GAP = " " * 9
_ITEM = " " * 10


def render(distributions: Iterable[Changes], *, why: bool = False) -> str:
    """Render the summary.

    Args:
        distributions: what ``changes.parse`` returned, in the order to show.
        why: add the reasons below each change.

    Returns:
        The text, ending in a newline.
    """
    listed = list(distributions)
    # One heading for all: that of the first that has a purpose to name.
    purpose = next(filter(None, (printable(changes.get("purpose", model.USUAL)) for changes in listed)), "")
    named = f"{purpose} " if purpose else ""
    lines = [_TOP.format(named), ""]
    for changes in listed:
        lines += _distribution(changes, why=why)
    return "\n".join([*lines, _BOTTOM.format(named), ""])


def printable(value: str) -> str:
    """Return the value with control and other unprintable characters escaped, so that one name stays on one line."""
    if value.isprintable():
        return value
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in value)


def _distribution(changes: Changes, *, why: bool) -> Iterator[str]:
    repo = printable(changes["upstream"]["project"])
    yield from ("=" * 16 + f" {repo} Patch Summary " + "=" * 16, "")
    yield from (*_made_of(changes), "")
    for number, file in enumerate(map(outline.outline, model.with_layers(changes["files"])), 1):
        yield f"Patch File{number}: {_dotted(file['path'])}"
        yield from _file(file, why=why)
        yield ""
    if changes["not_applied"]:
        yield from _not_applied(changes, why=why)
        yield ""
    yield from ("=" * 12 + f" {repo} Patch Summary End " + "=" * 14, "")


def _made_of(changes: Changes) -> Iterator[str]:
    """Yield what was changed, and what changed it."""
    distribution, overlay = changes["distribution"], changes["overlay"]
    yield printable(f"Upstream: {provenance.made_of(changes)}")
    name = f"{distribution['name']} {distribution['version']}"
    yield printable(f"Wheel: {name}, overlay {overlay['name']} revision {overlay['revision']}")


def _file(file: FileChange, *, why: bool) -> Iterator[str]:
    inner = model.module_changes(file)
    whole = next((change for change in inner if change["kind"] == "file"), None)
    if inner:
        yield "   Module Changes:"
        yield from _items(inner, why=why, whole=whole)
    module = _dotted(file["path"].removesuffix(".py"))
    for number, entry in enumerate(file["class_changes"], 1):
        yield f"  ({number}) Patch class: {module}.{printable(entry['name'])}"
        yield from _class(entry, why=why, whole=whole)


def _class(entry: ClassChange, *, why: bool, whole: Change | None) -> Iterator[str]:
    inner = model.class_changes(entry)
    if why and inner is entry["changes"]:
        yield from _reasons(entry, " " * 7, whole)
    if inner:
        yield "       Class Changes:"
        yield from _items(inner, why=why, whole=whole)


def _items(changes: list[Change], *, why: bool, whole: Change | None) -> Iterator[str]:
    for change in changes:
        yield _item(model.shown_action(change), change["kind"], change["name"], outline.manner(change))
        if why:
            yield from _reasons(change, " " * 14, whole)


def _not_applied(changes: Changes, *, why: bool) -> Iterator[str]:
    yield "Not Applied: this upstream source lacks these files"
    path = None
    for operation in changes["not_applied"]:
        if operation["path"] != path:
            path = operation["path"]
            yield f"   {_dotted(path)}"
        yield _item("not_applied", operation["operation"], operation["symbol"] or path.rpartition("/")[2])
        if why:
            yield from _reasons({"why": operation.get("why", "")}, " " * 14)


def _reasons(entry: Ledger, indent: str, whole: Change | None = None) -> Iterator[str]:
    """Yield the reasons of a change, but for those that its whole file came or went for, which stand there."""
    told = model.all_reasons(whole) if whole and entry is not whole else []
    for field, value in model.all_reasons(entry):
        if (field, value) in told:
            continue
        yield f"{indent}{field.replace('_', ' ')}: {printable(value)}"


def _item(*columns: str) -> str:
    """Return one line: action, kind and name, and where a replaced symbol was wrapped or edited, that behind them."""
    return f"{_ITEM}- {_GAP.join(printable(column) for column in columns if column)}"


def _dotted(path: str) -> str:
    return printable(path).replace("/", ".")
