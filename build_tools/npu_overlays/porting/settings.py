"""Settings: a pin's configuration → the same for another pin, and with what that leaves out and says itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w
import tomlkit
from tomlkit.items import AoT

from npu_overlays.overlay.bounds import SINCE_UNTIL
from npu_overlays.overlay.project import CONFIG_FILE, Overlay, TextEdit
from npu_overlays.overlay.tables import load_toml
from npu_overlays.reproducible import write_atomically


def add_settings(file: Path, drops: Mapping[str, str], edits: Sequence[tuple[str, TextEdit]]) -> None:
    """Add to a pin's configuration what it drops, by name with why, and substitutions of its own, by path."""
    known = {one["name"] for one in load_toml(file)["tool"]["overlay"].get("drop", [])}
    dropped = [{"name": name, "why": why} for name, why in drops.items() if name not in known]
    stated = [_edit(path, edit) for path, edit in edits]
    text = file.read_text("utf-8")
    for key, entries in (("drop", dropped), ("edit", stated)):
        text = _with_entries(text, key, entries)
    if dropped or stated:
        write_atomically(file, text.encode())


def _with_entries(text: str, key: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """Return a configuration with tables behind those of a list, however that is written."""
    if not entries:
        return text
    document = tomlkit.parse(text)
    table: Any = document["tool"]["overlay"]  # tomlkit's containers
    if key in table and not isinstance(table[key], AoT):
        for entry in entries:
            inline = tomlkit.inline_table()
            inline.update(entry)
            table[key].append(inline)
        return tomlkit.dumps(document)
    # One table after the other: short ones would be written inline, below a header that is there already.
    tables = (f"[[tool.overlay.{key}]]\n{tomli_w.dumps(entry, multiline_strings=True)}" for entry in entries)
    return "\n".join([f"{text.rstrip()}\n", *tables])


def _edit(path: str, edit: TextEdit) -> dict[str, Any]:
    values: dict[str, Any] = {"paths": [path], "find": edit.find, "replace": edit.replace, "why": edit.why}
    if edit.count != 1:
        values["count"] = edit.count
    if edit.accept:
        values["accept"] = [str(one) for one in edit.accept]
    return values | {key: bound for key in SINCE_UNTIL if (bound := getattr(edit.bounds, key))}


def configuration(old: Overlay, wanted: Overlay) -> str:
    """Return the old overlay's configuration with what is wanted now; all else in it stays as it is written."""
    document = tomlkit.parse((old.folder / CONFIG_FILE).read_text("utf-8"))
    table: Any = document["tool"]["overlay"]  # tomlkit's containers
    upstream = table["upstream"]
    pin = wanted.pin
    own = {"commit": pin.commit, "tag": pin.tag, "archive": [vars(one) for one in pin.archives]}
    for key, value in own.items():
        if value:
            upstream[key] = value
        elif key in upstream:
            del upstream[key]
    table.pop("revision", None)
    return _shipping(tomlkit.dumps(document), old, wanted)


def _shipping(text: str, old: Overlay, wanted: Overlay) -> str:
    """Return a configuration that says what is shipped, where that is less than the old overlay and its layers say."""
    document = tomlkit.parse(text)
    table: Any = document["tool"]["overlay"]  # tomlkit's containers
    imports = dict(wanted.pin.imports)
    if wanted.pin.packages != old.pin.packages:
        table["packages"] = [
            {"path": path, "import": imports[path].removesuffix(".py").replace("/", ".")} if path in imports else path
            for path in wanted.pin.packages
        ]
    if wanted.license_files != old.license_files:
        table["license-files"] = list(wanted.license_files)
    return tomlkit.dumps(document)
