"""Layer settings: a pin's ``pyproject.toml`` or a layer's ``layer.toml`` → the file with changed substitutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import tomlkit
from tomlkit.items import AoT

from npu_overlays.overlay.bounds import SINCE_UNTIL
from npu_overlays.overlay.project import LAYER_FILE, FileSettings, TextEdit


def with_new(name: str, content: str, edit: TextEdit) -> str:
    """Return a settings file with a substitution behind all others."""
    values = {"paths": list(edit.paths), "find": _text(edit.find), "replace": _text(edit.replace)}
    values |= {"count": edit.count} if edit.count != 1 else {}
    return _with_table(name, content, "edit", {**values, "why": edit.why}, edit)


def with_file(name: str, content: str, settings: FileSettings) -> str:
    """Return a settings file that says of an added file for which versions it is, and what it accepts."""
    return _with_table(name, content, "file", {"path": settings.path}, settings)


def _with_table(name: str, content: str, key: str, values: dict[str, Any], said: TextEdit | FileSettings) -> str:
    """Return a settings file with a table more, which says bounds and acceptances where there are any."""
    document = tomlkit.parse(content)
    listed = _holder(name, document).setdefault(key, tomlkit.aot())
    entry = tomlkit.table() if isinstance(listed, AoT) else tomlkit.inline_table()
    beside = {one: getattr(said.bounds, one) for one in SINCE_UNTIL} | {"accept": list(map(str, said.accept))}
    entry.update(values)
    entry.update({one: value for one, value in beside.items() if value})
    listed.append(entry)
    return tomlkit.dumps(document)


def with_change(  # noqa: PLR0913  # which substitution of which files, and what it is to look for and to put in
    name: str, content: str, edit: TextEdit, paths: Sequence[str], replacement: str | None, *, find: str = ""
) -> str:
    """Return a settings file with a substitution changed for some of its paths, which get one of their own then.

    Args:
        name: of the file.
        content: of it.
        edit: the substitution.
        paths: some or all of its paths.
        replacement: what it is to put in there; None to leave those alone.
        find: what it is to look for there; empty to keep what it looks for.
    """
    document = tomlkit.parse(content)
    holder = _holder(name, document)
    listed = holder["edit"]
    number, entry = next((number, one) for number, one in enumerate(listed) if _says(one, edit))
    if not set(edit.paths) <= set(paths):
        for path in paths:
            del entry["paths"][list(entry["paths"]).index(path)]
        if replacement is not None:
            own = replace(edit, paths=tuple(paths), find=find or edit.find, replace=replacement)
            return with_new(name, tomlkit.dumps(document), own)
    elif replacement is not None:
        entry["find"] = _text(find) if find else entry["find"]
        entry["replace"] = _text(replacement)
    else:
        del listed[number]
        if not listed:
            del holder["edit"]
    return tomlkit.dumps(document)


def _says(entry: Any, edit: TextEdit) -> bool:  # tomlkit's table
    return (entry["find"], entry["replace"], list(entry["paths"])) == (edit.find, edit.replace, list(edit.paths))


def without_file(name: str, content: str, path: str) -> str:
    """Return a settings file that says nothing of an added file any more."""
    document = tomlkit.parse(content)
    holder = _holder(name, document)
    listed = holder["file"]
    for number in reversed([number for number, entry in enumerate(listed) if entry["path"] == path]):
        del listed[number]
    if not listed:
        del holder["file"]
    return tomlkit.dumps(document)


def _holder(name: str, document: Any) -> Any:  # tomlkit's containers
    return document if name.rpartition("/")[2] == LAYER_FILE else document["tool"]["overlay"]


def _text(value: str) -> Any:  # tomlkit's string
    if "\n" not in value:
        return tomlkit.string(value)
    item = tomlkit.string(value, multiline=True)
    # The line end behind the opening quotes is not part of the text; it puts all lines of it below each other.
    return item if value.startswith("\n") else tomlkit.value(item.as_string().replace('"""', '"""\n', 1))
