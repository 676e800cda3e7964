"""Pin settings: a pin's ``pyproject.toml`` → the file with another pin, or with more entries; the rest is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tomli_w
import tomlkit
from tomlkit.items import AoT, Array, Table

from npu_overlays.overlay.project import Overlay
from npu_overlays.sources.pin import Pin


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
        imports, packages = dict(pin.imports), list[Any]()
        for path in pin.packages:
            name = imports.get(path, "").removesuffix(".py").replace("/", ".")
            packages.append({"path": path, "import": name} if path in imports else path)
        table["packages"] = _array(packages)
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
