"""A configuration gets another pin, however its author wrote the old one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tomllib

from npu_overlays.authoring.writer.settings_text import with_pin
from npu_overlays.overlay.project import Overlay
from npu_overlays.sources.pin import Archive, Pin

_OLD = Overlay(folder=Path(), suffix="npu", pin=Pin(project="lib", repository="https://git/lib", packages=("lib",)))
_ARCHIVE = Archive(distribution="lib", version="2.0", file="lib-2.0-py3-none-any.whl", sha256="f" * 64)
_BEHIND = 'packages = ["lib"]  # ships\n\n[[tool.overlay.edit]]\nfind = "upstream"\n'
_FORMS = {
    "header": '[tool.overlay.upstream]\nrepository = "https://git/lib"\ncommit = "c"\n\n[tool.overlay]\n',
    "inline": '[tool.overlay]\nupstream = { repository = "https://git/lib", commit = "c" }\n',
    "dotted": '[tool.overlay]\nupstream.repository = "https://git/lib"\nupstream.commit = "c"\n',
    "one dotted": '[tool.overlay]\nupstream.repository = "https://git/lib"\n',
    "dotted above": '[tool]\noverlay.upstream.repository = "https://git/lib"\noverlay.upstream.commit = "c"\noverlay.',
    "dotted and tables": (
        '[[tool.overlay.upstream.archive]]\nfile = "lib-1.0.zip"\n\n'
        '[tool.overlay]\nupstream.repository = "https://git/lib"\n'
    ),
}


@pytest.mark.parametrize("form", _FORMS)
def test_archive_is_added_to_the_pin(form: str) -> None:
    text = _FORMS[form] + (_BEHIND if form != "dotted above" else _BEHIND.partition("\n")[0])
    wanted = replace(_OLD, pin=replace(_OLD.pin, archives=(_ARCHIVE,)))
    found = tomllib.loads(with_pin(text, _OLD, wanted))
    before = tomllib.loads(text)["tool"]["overlay"]
    upstream = {"repository": "https://git/lib", "archive": [vars(_ARCHIVE)]}
    assert found == {"tool": {"overlay": {**before, "upstream": upstream}}}


def test_only_archives_as_tables_stay_tables() -> None:
    text = '[[tool.overlay.upstream.archive]]\nfile = "lib-1.0.zip"\n'
    wanted = replace(_OLD, pin=replace(_OLD.pin, archives=(_ARCHIVE,)))
    expected = "".join(f'{key} = "{value}"\n' for key, value in vars(_ARCHIVE).items())
    assert with_pin(text, _OLD, wanted) == f"[[tool.overlay.upstream.archive]]\n{expected}"


def test_packages_with_import_names_are_an_array() -> None:
    pin = replace(_OLD.pin, commit="d", packages=("python/lib",), imports=(("python/lib", "lib"),))
    found = with_pin(_FORMS["dotted"] + _BEHIND, _OLD, replace(_OLD, pin=pin))
    assert 'packages = [{path = "python/lib", import = "lib"}]  # ships\n' in found
