"""Layout: changes → the text summary that users know and grep for."""

from __future__ import annotations

from . import outline, provenance
from .plurals import plural
from .stream import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .changes import Change, Changes, ClassChange, FileChange
    from .outline import Field, FormTarget

# The counts of `=` and the missing space before the last of them are what users' scripts look for.
_TOP = "=" * 32 + " {}Patch Summary " + "=" * 34
_BOTTOM = "=" * 29 + " {}Patch Summary End" + "=" * 34
_GAP = " " * 9
_ITEM = " " * 10
_BELOW = " " * 14
_WIDTH = 98  # of the lines that list where the definitions of a form are


def render(distributions: Iterable[Changes], *, why: bool = False, every: bool = False) -> str:
    """Render the summary of distributions.

    Args:
        distributions: in the order to show.
        why: whether to add the reasons below each change.
        every: whether to list imports one by one; else each class or module has one line with their number.
    """
    listed = list(distributions)
    purpose = printable(provenance.purpose(listed))
    named = f"{purpose} " if purpose else ""
    lines = [_TOP.format(named), ""]
    for changes in listed:
        lines += _distribution(changes, why=why, every=every)
    return "\n".join([*lines, _BOTTOM.format(named), ""])


def _distribution(changes: Changes, *, why: bool, every: bool) -> Iterator[str]:
    repo = printable(changes["upstream"]["project"])
    yield from ("=" * 16 + f" {repo} Patch Summary " + "=" * 16, "")
    yield printable(f"Upstream: {provenance.made_of(changes)}")
    yield printable(f"Wheel: {provenance.name(changes)}, {provenance.overlay(changes)}")
    if folders := outline.source_folders(changes["files"]):
        yield printable(f"Names: begin with upstream's folder {' or '.join(folders)}, which an import leaves out")
    yield from _totals(changes["files"])
    yield ""
    fields = outline.fields(changes["files"]) if why else ()
    files = changes["files"]
    if not every:
        forms, files = outline.fold_forms(files)
        for number, (model, targets) in enumerate(sorted(forms.items()), 1):
            yield f"Patch Form{number}: {_module(model.replace('.py:', '.'))}"
            yield from _form(targets, fields)
            yield ""
    for number, file in enumerate(files, 1):
        yield f"Patch File{number}: {_module(file['path'])}"
        shown = outline.outline(file)
        yield from _file(shown if every else outline.fold_imports(shown), fields)
        yield ""
    if changes["not_applied"]:
        yield from _not_applied(changes, why=why)
        yield ""
    if changes.get("assigned"):
        yield "Assigned At Run Time: by upstream's own code, in other packages"
        for one in changes["assigned"]:
            yield f"   when {_line(one['when'])}"
            for name in one["what"]:
                yield _item("assigned", name.replace(":", "."))
            yield f"{_BELOW}why: {_line(one['why'])}"
        yield ""
    yield from ("=" * 12 + f" {repo} Patch Summary End " + "=" * 14, "")


def _totals(files: list[FileChange]) -> Iterator[str]:
    """Yield how many changes there are, and a table of areas and actions; nothing of a wheel without changes."""
    areas = outline.totals(files)
    if not areas:
        return
    total: dict[str, int] = {}
    for counts in areas.values():
        for action, n in counts.items():
            total[action] = total.get(action, 0) + n
    yield f"Changes: {sum(total.values())} in {plural(len(files), 'file')}"
    columns = outline.columns(areas)
    width = max(map(len, [*areas, "total"]))
    yield "   " + " " * width + "".join(f"{column:>10}" for column in columns)
    rows = {**areas, "total": total} if len(areas) > 1 else areas
    for area, counts in rows.items():
        cells = "".join(f"{counts.get(column, '-'):>10}" for column in columns)
        yield f"   {printable(area):<{width}}{cells}"


def _form(targets: list[FormTarget], fields: tuple[Field, ...]) -> Iterator[str]:
    """Yield how many definitions of a form were changed, how and where."""
    files = {file["path"] for file, _ in targets}
    yield f"   {len(targets)} definitions of this form in {plural(len(files), 'file')} (--all lists them), in"
    line = "     "
    for folder in sorted({path.rpartition("/")[0].rpartition("/")[2] or path for path in files}):
        if len(line) + len(folder) > _WIDTH:
            yield line
            line = "     "
        line += f" {printable(folder)}"
    yield line
    _, change = targets[0]
    yield from _items([change], fields, None)


def _file(file: FileChange, fields: tuple[Field, ...]) -> Iterator[str]:
    inner = outline.module_changes(file)
    whole = next((change for change in inner if change["kind"] == "file"), None)
    if inner:
        yield "   Module Changes:"
        yield from _items(inner, fields, whole)
    module = _module(file["path"].removesuffix(".py"))
    for number, entry in enumerate(file["class_changes"], 1):
        yield f"  ({number}) Patch class: {module}.{printable(entry['name'])}"
        inner = outline.class_changes(entry)
        if inner is entry["changes"]:
            yield from _reasons(entry, fields, whole, " " * 7)
        if inner:
            yield "       Class Changes:"
            yield from _items(inner, fields, whole)


def _items(changes: list[Change], fields: tuple[Field, ...], whole: Change | None) -> Iterator[str]:
    for change in changes:
        if change["kind"] == outline.IMPORTS:
            yield f"{_ITEM}- {printable(change['name'])}"
            continue
        more = outline.manner(change) or change.get("affects", "")
        yield _item(change["action"], change["kind"], outline.symbol(change), more)
        yield from _reasons(change, fields, whole, _BELOW)


def _not_applied(changes: Changes, *, why: bool) -> Iterator[str]:
    yield "Not Applied: this upstream source lacks these files"
    path = None
    for operation in changes["not_applied"]:
        if operation["path"] != path:
            path = operation["path"]
            yield f"   {_module(path)}"
        yield _item("not_applied", operation["operation"], operation["symbol"] or path.rpartition("/")[2])
        if why and (text := _line(operation["why"])):
            yield f"{_BELOW}why: {text}"


def _reasons(
    entry: Change | ClassChange, fields: tuple[Field, ...], whole: Change | None, indent: str
) -> Iterator[str]:
    """Yield the reasons of a change, but for those that its whole file came or went for, which stand there."""
    above = outline.reasons(whole, fields) if whole and entry is not whole else []
    for field, text in outline.reasons(entry, fields):
        if (field, text) not in above:
            yield f"{indent}{'layer' if field == 'overlay' else field.replace('_', ' ')}: {printable(text)}"


def _item(*columns: str) -> str:
    """Return one line: action, kind and name, and how a symbol was replaced, or what an added one overrides."""
    return f"{_ITEM}- {_GAP.join(map(printable, filter(None, columns)))}"


def _line(text: str) -> str:
    return printable(" ".join(text.split()))


def _module(path: str) -> str:
    return printable(path).replace("/", ".")
