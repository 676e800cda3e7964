"""Changed: a patched wheel → its page: what it is made of, and file by file what was changed, why, and the diff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from npu_overlays.site.difference import is_text
from npu_overlays.site.installing import stack_link
from npu_overlays.site.languages import Language
from npu_overlays.site.markdown import block, link, table, words
from npu_overlays.site.shipped import Patched, Shelf
from npu_summary import outline, provenance
from npu_summary.changes import Change, FileChange
from npu_summary.page.diff import sizes
from npu_summary.page.markup import code, escape, tag

SUMMARIES = "summaries"
_FOLDER = "changes"
_OUTRIGHT = ("added", "deleted")


def changed_pages(shelf: Shelf, language: Language, index: Mapping[str, str]) -> dict[str, str]:
    """Return the pages of all patched wheels, and the one that lists them, by their names.

    Args:
        shelf: the wheels.
        language: of the pages.
        index: where a wheel can be had, by its file name, below the top of the site.
    """
    pages = {f"{_FOLDER}/{one.slug}": _page(one, shelf, language, index) for one in shelf.wheels}
    return {f"{_FOLDER}/index": _list(shelf, language), **pages}


def changed_link(wheel: Patched, depth: int) -> str:
    """Return a link to the page of a wheel, from a page of the same language that lies so many folders deep."""
    return link(wheel.title, f"{'../' * depth}{_FOLDER}/{wheel.slug}.html")


def _list(shelf: Shelf, language: Language) -> str:
    rows = (
        (
            changed_link(one, 1),
            escape(provenance.upstream(one.changes)),
            str(one.count),
            str(len(one.changes["files"])),
            _stacks(one, shelf),
        )
        for one in shelf.wheels
    )
    shown = table(language.texts["wheel_columns"], rows) if shelf.wheels else words(language.say("no_wheels"))
    tree = "\n".join(f"{one.title} <{one.slug}>" for one in shelf.wheels)
    text = f"# {language.say('changes')}\n\n{language.say('changes_intro')}\n\n{block(shown)}"
    return text + (f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{tree}\n```\n" if tree else "")


def _stacks(wheel: Patched, shelf: Shelf) -> str:
    return ", ".join(stack_link(stack, 1) for stack in shelf.stacks_of(wheel))


def _page(wheel: Patched, shelf: Shelf, language: Language, index: Mapping[str, str]) -> str:
    facts = "".join(tag("dt", escape(name)) + tag("dd", value) for name, value in _facts(wheel, shelf, language, index))
    root = language.root(1)
    buttons = tag(
        "p",
        link(language.say("summary"), f"{root}{SUMMARIES}/{wheel.slug}.html", "button")
        + link(language.say("raw"), f"{root}{SUMMARIES}/{wheel.slug}.diff", "button"),
        class_="buttons",
    )
    left_out = len(wheel.changes["not_applied"])
    note = tag("p", escape(language.say("not_applied", count=left_out))) if left_out else ""
    files = "\n".join(_file(wheel, file, language) for file in wheel.changes["files"])
    return f"# {words(wheel.title)}\n\n{block(tag('dl', facts, class_='facts') + note + buttons)}\n{files}"


def _facts(wheel: Patched, shelf: Shelf, language: Language, index: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    changes = wheel.changes
    overlay = changes["overlay"]
    yield language.say("upstream"), escape(provenance.made_of(changes))
    revision = "development" if provenance.in_development(changes) else "revision"
    yield language.say("overlay"), escape(language.say(revision, **overlay))
    counted = language.say("counted", changes=wheel.count, files=len(changes["files"]))
    yield language.say("counted_title"), escape(counted)
    if stacks := _stacks(wheel, shelf):
        yield language.say("stacks"), stacks
    if wheel.file.name in index:
        yield language.say("wheel"), link(wheel.file.name, language.root(1) + index[wheel.file.name])


def _file(wheel: Patched, file: FileChange, language: Language) -> str:
    entries = list(outline.entries(file))
    fields = outline.fields(wheel.changes["files"])
    alike = groupby(entries, key=lambda one: outline.by_field(one, fields))
    groups = "".join(_group(dict(texts), list(changes), language) for texts, changes in alike)
    badge = _badge(file["action"]) if file["action"] in _OUTRIGHT else ""
    content = tag("div", badge + groups, class_="reasons") + _diff(wheel, file["path"], language)
    return f"## {words(file['path'])}\n\n{block(content)}"


def _group(texts: Mapping[outline.Field, str], changes: list[Change], language: Language) -> str:
    """Return changes that were made for the same reason, and that reason once."""
    names = (
        tag(
            "li",
            f"{_badge(outline.manner(one) or one['action'])} {escape(one['kind'])} {code(one['name'])}{_side(one)}",
        )
        for one in changes
    )
    said = (
        tag("p", escape(language.say("layer" if field == "overlay" else field) + text), class_=field)
        for field, text in texts.items()
    )
    return tag("div", tag("ul", "".join(names)) + "".join(said), class_="group")


def _side(change: Change) -> str:
    affects = change.get("affects", "")
    return " " + tag("small", escape(affects)) if affects else ""


def _badge(action: str) -> str:
    return tag("b", escape(action), class_=f"badge {action}")


def _diff(wheel: Patched, path: str, language: Language) -> str:
    hunks = wheel.hunks[path]
    gone, come = sizes(hunks)
    summary = tag("summary", f"{escape(language.say('diff'))} <del>−{gone}</del> <ins>+{come}</ins>")
    if not is_text(hunks):
        content = tag("p", escape(language.say("no_text")))
    else:
        # The generator would search through it, and copy it for each language.
        content = _place(path) if wheel.diffs[path] else tag("p", escape(language.say("empty")))
    return tag("details", summary + tag("div", content, class_="highlight"), class_="difference")


def with_diffs(page: str, wheel: Patched) -> str:
    """Return the page of a wheel as it was generated, with the diffs in their places."""
    for path, diff in wheel.diffs.items():
        page = page.replace(_place(path), diff)
    return page


def _place(path: str) -> str:
    return f"<!-- the diff of {escape(path)} -->"
