"""Settings text: a pin's ``pyproject.toml`` or a layer's ``layer.toml`` → the file with other settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import tomli_w
import tomlkit
from tomlkit.items import AoT, Array, Table

from npu_overlays.overlay.bounds import SINCE_UNTIL
from npu_overlays.overlay.project import LAYER_FILE, FileSettings, Overlay, TextEdit
from npu_overlays.sources.pin import Pin


def edit_entry(edit: TextEdit) -> dict[str, Any]:
    """Return a substitution as the values of its table."""
    values: dict[str, Any] = {"paths": list(edit.paths), "find": edit.find, "replace": edit.replace}
    if edit.count != 1:
        values["count"] = edit.count
    return {**values, "why": edit.why, **_bounds_and_acceptances(edit)}


def _bounds_and_acceptances(stated: TextEdit | FileSettings) -> dict[str, Any]:
    values = {one: getattr(stated.bounds, one) for one in SINCE_UNTIL} | {"accept": list(map(str, stated.accept))}
    return {name: value for name, value in values.items() if value}


def with_new(name: str, content: str, edit: TextEdit) -> str:
    """Return a settings file with a substitution behind all others."""
    texts = {"find": _text(edit.find), "replace": _text(edit.replace)}
    return _with_table(name, content, "edit", edit_entry(edit) | texts)


def with_file(name: str, content: str, settings: FileSettings) -> str:
    """Return a settings file with the bounds and acceptances of an added file."""
    return _with_table(name, content, "file", {"path": settings.path, **_bounds_and_acceptances(settings)})


def _with_table(name: str, content: str, key: str, values: dict[str, Any]) -> str:
    """Return a settings file with a new table in a list."""
    document = tomlkit.parse(content)
    listed = _holder(name, document).setdefault(key, tomlkit.aot())
    entry = tomlkit.table() if isinstance(listed, AoT) else tomlkit.inline_table()
    entry.update(values)
    listed.append(entry)
    return tomlkit.dumps(document)


def with_changes(name: str, text: str, changes: Iterable[tuple[TextEdit, str, str, str | None]]) -> str:
    """Return a settings file with substitutions changed in their places, for some of their paths or for all.

    `changes` are a substitution, one of its paths, and what it is to look for and to put in there; None to leave that
    path out.
    """
    together: dict[tuple[TextEdit, str, str | None], tuple[str, ...]] = {}
    for edit, path, find, put_in in changes:
        key = (edit, "" if find == edit.find else find, put_in)
        together[key] = (*together.get(key, ()), path)
    # What is left of a substitution that is split.
    remaining: dict[TextEdit, TextEdit] = {}
    for (edit, find, put_in), paths in together.items():
        now = remaining.get(edit, edit)
        text = _with_change(name, text, now, paths, put_in, find=find)
        remaining[edit] = replace(now, paths=tuple(path for path in now.paths if path not in paths))
    return text


def _with_change(  # noqa: PLR0913  # the substitution, its files, its find and its replacement
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


def with_pin(text: str, old: Overlay, wanted: Overlay) -> str:
    """Return an overlay's configuration with the new pin, and with what it ships where that is not the same."""
    document = tomlkit.parse(text)
    table: Any = document["tool"]["overlay"]  # tomlkit's containers
    pin, upstream = wanted.pin, table["upstream"]
    own = {"commit": pin.commit, "tag": pin.tag, "archive": _archives(pin, upstream)}
    for key, value in own.items():
        if value:
            upstream[key] = value
        elif key in upstream:
            del upstream[key]
    table.pop("revision", None)
    # Tomlkit puts new keys into the gaps of deleted and dotted ones; parsed anew, they come last.
    document = tomlkit.parse(tomlkit.dumps(document))
    table = document["tool"]["overlay"]
    if pin.packages != old.pin.packages:
        named = {path: pin.import_name(path) for path in pin.packages}
        table["packages"] = _array({"path": path, "import": name} if name else path for path, name in named.items())
    if wanted.license_files != old.license_files:
        table["license-files"] = list(wanted.license_files)
    return tomlkit.dumps(document)


def _archives(pin: Pin, upstream: Any) -> Any:  # tomlkit's containers
    """Return a pin's archives as tables below the header of ``upstream``, or as an array where it has no header.

    Tomlkit names tables below dotted keys, ``upstream.repository = …``, as if these stood at the top of the file.
    """
    archives = list(map(vars, pin.archives))
    has_header = isinstance(upstream, Table) and (upstream.display_name or isinstance(upstream.get("archive"), AoT))
    return archives if has_header else _array(archives)


def _array(entries: Iterable[Any]) -> Array:
    """Return entries as an array, with its tables inline."""
    array = tomlkit.array()
    for entry in entries:
        if isinstance(entry, Mapping):
            inline = tomlkit.inline_table()
            inline.update(entry)
            array.append(inline)
        else:
            array.append(entry)
    return array


def with_reasons(text: str, reasons: Mapping[str, str]) -> str:
    """Return a configuration in which drops have other reasons, by their names."""
    document = tomlkit.parse(text)
    table: Any = document["tool"]["overlay"]  # tomlkit's containers
    for entry in table.get("drop", []):
        if entry["name"] in reasons and entry["why"] != reasons[entry["name"]]:
            entry["why"] = _text(reasons[entry["name"]])
    return tomlkit.dumps(document)


def with_entries(text: str, key: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """Return a configuration with tables added to a list, in the form in which that list is written."""
    if not entries:
        return text
    document = tomlkit.parse(text)
    table: Any = document["tool"]["overlay"]  # tomlkit's containers
    if key in table and not isinstance(table[key], AoT):
        table[key].extend(_array(entries))
        return tomlkit.dumps(document)
    # One table after the other: short ones would be written inline, below a header that is there already.
    tables = [f"{text.rstrip()}\n"]
    for entry in entries:
        tables.append(f"[[tool.overlay.{key}]]\n{tomli_w.dumps(entry, multiline_strings=True)}")
    return "\n".join(tables)
