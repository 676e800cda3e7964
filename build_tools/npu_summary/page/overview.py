"""Overview: one distribution → what of it was changed and why, in numbers, before the changes themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .. import outline
from ..changes import Change, Changes
from ..plurals import plural
from .markup import breakable, escape, prose, tag

_TOP = 8  # of reasons and of files


def overview(number: int, changes: Changes) -> str:
    """Return a table of areas and actions, the most frequent reasons, and the files with the most changes.

    Args:
        number: of the distribution on the page, with which the names of its sections begin.
        changes: of the distribution.
    """
    files = changes["files"]
    reasons: Counter[str] = Counter()
    layers: Counter[str] = Counter()
    for change in _without_imports(changes):
        reasons[" ".join(change["why"].split())] += 1
        layers[change["overlay"]] += 1
    reasons.pop("", None)
    layers.pop("", None)
    touched: list[tuple[str, int]] = []
    for n, file in enumerate(files, 1):
        touched.append((tag("a", breakable(file["path"]), href=f"#{number}-{n}"), outline.count(file)))
    most = sorted(touched, key=lambda one: -one[1])[:_TOP]
    found, _ = outline.fold_forms(files)
    forms = [(_model(model), len(targets)) for model, targets in sorted(found.items())]
    forms.sort(key=lambda one: -one[1])
    parts = [
        _part("Where", _table(outline.totals(files))),
        _part("Why", _ranking([(prose(why), n) for why, n in reasons.most_common(_TOP)])),
        _part("Most changed files", _ranking(most)),
        _part("Changed by form", _ranking(forms)),
        _part("Layers", _ranking([(escape(name), n) for name, n in layers.most_common()]) if len(layers) > 1 else ""),
    ]
    return tag("section", "".join(parts), class_="overview")


def _without_imports(changes: Changes) -> Iterator[Change]:
    for file in changes["files"]:
        for change in outline.entries(file):
            if change["kind"] != "import":
                yield change


def _model(model: str) -> str:
    """Return a form's model, without the path that says the same as its name."""
    path, _, symbol = model.rpartition(":")
    return f"{escape(symbol)} of {escape(path.rpartition('/')[2])}"


def _part(title: str, content: str) -> str:
    return tag("div", tag("h3", title) + content) if content else ""


def _table(areas: dict[str, dict[str, int]]) -> str:
    """Return a table with a row for each area and a column for each action; nothing where there are no changes."""
    if not areas:
        return ""
    columns = outline.columns(areas)
    head = tag("th", "") + "".join(tag("th", escape(column), scope="col") for column in columns)
    rows = ""
    for area, counts in areas.items():
        cells = "".join(tag("td", str(counts.get(column, ""))) for column in columns)
        rows += tag("tr", tag("th", breakable(area), scope="row") + cells)
    return tag("table", tag("thead", tag("tr", head)) + tag("tbody", rows), class_="totals")


def _ranking(listed: list[tuple[str, int]]) -> str:
    """Return a list of things, as markup, each with the number of its changes."""
    items = "".join(tag("li", f"{thing} {tag('small', plural(n, 'change'))}") for thing, n in listed)
    return tag("ol", items) if items else ""
