"""Layer settings: a pin's ``pyproject.toml`` or a layer's ``layer.toml`` → the file with changed substitutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tomlkit
from tomlkit.items import AoT

from npu_overlays.overlay.bounds import SINCE_UNTIL
from npu_overlays.overlay.project import LAYER_FILE, FileSettings, TextEdit


def with_new(name: str, content: str, edit: TextEdit) -> str:
    """Return a settings file with a substitution behind all others."""
    document = tomlkit.parse(content)
    table = _holder(name, document)
    listed = table.setdefault("edit", tomlkit.aot())
    entry = tomlkit.table() if isinstance(listed, AoT) else tomlkit.inline_table()
    entry["paths"] = list(edit.paths)
    entry["find"] = _text(edit.find)
    entry["replace"] = _text(edit.replace)
    if edit.count != 1:
        entry["count"] = edit.count
    entry["why"] = edit.why
    entry.update(_beside(edit))
    listed.append(entry)
    return _dumped(document)


def with_file(name: str, content: str, settings: FileSettings) -> str:
    """Return a settings file that says of an added file for which versions it is, and what it accepts."""
    document = tomlkit.parse(content)
    listed = _holder(name, document).setdefault("file", tomlkit.aot())
    entry = tomlkit.table() if isinstance(listed, AoT) else tomlkit.inline_table()
    entry.update({"path": settings.path, **_beside(settings)})
    listed.append(entry)
    return _dumped(document)


def _beside(said: TextEdit | FileSettings) -> dict[str, Any]:
    """Return the bounds and acceptances of a change as settings have them, without empty ones."""
    values: dict[str, Any] = {key: getattr(said.bounds, key) for key in SINCE_UNTIL}
    values["accept"] = list(map(str, said.accept))
    return {key: value for key, value in values.items() if value}


def with_change(  # noqa: PLR0913  # which substitution of which files, and what it is to look for and to put in
    name: str, content: str, edit: TextEdit, paths: Sequence[str], replacement: str | None, *, find: str = ""
) -> tuple[str, TextEdit | None]:
    """Return a settings file with a substitution changed for some of its paths.

    Args:
        name: of the file.
        content: of it.
        edit: the substitution.
        paths: some or all of its paths.
        replacement: what it is to put in there; None to leave those alone.
        find: what it is to look for there; empty to keep what it looks for.

    Returns:
        The text, and where other paths share the substitution, the one that is then to be put in for these.
    """
    document = tomlkit.parse(content)
    holder = _holder(name, document)
    listed = holder["edit"]
    for number, entry in enumerate(listed):
        if entry["find"] == edit.find and entry["replace"] == edit.replace and list(entry["paths"]) == list(edit.paths):
            if not set(edit.paths) <= set(paths):
                for path in paths:
                    del entry["paths"][list(entry["paths"]).index(path)]
                new = TextEdit(
                    paths=tuple(paths), find=find or edit.find, replace=replacement or "",
                    count=edit.count, why=edit.why, bounds=edit.bounds, accept=edit.accept,
                )  # fmt: skip
                return _dumped(document), None if replacement is None else new
            if replacement is None:
                del listed[number]
                if not listed:
                    del holder["edit"]
            else:
                entry["find"] = _text(find) if find else entry["find"]
                entry["replace"] = _text(replacement)
            return _dumped(document), None
    raise AssertionError(edit)  # pragma: no cover  # it was read from this file


def without_file(name: str, content: str, path: str) -> str:
    """Return a settings file that says nothing of an added file any more."""
    document = tomlkit.parse(content)
    holder = _holder(name, document)
    listed = holder["file"]
    for number in reversed([number for number, entry in enumerate(listed) if entry["path"] == path]):
        del listed[number]
    if not listed:
        del holder["file"]
    return _dumped(document)


def _holder(name: str, document: Any) -> Any:  # tomlkit's containers
    return document if name.rpartition("/")[2] == LAYER_FILE else document["tool"]["overlay"]


def _text(value: str) -> Any:  # tomlkit's string
    if "\n" not in value:
        return tomlkit.string(value)
    item = tomlkit.string(value, multiline=True)
    # The line end behind the opening quotes is not part of the text; it puts all lines of it below each other.
    return item if value.startswith("\n") else tomlkit.value(item.as_string().replace('"""', '"""\n', 1))


def _dumped(document: Any) -> str:  # tomlkit's document
    return tomlkit.dumps(document)
