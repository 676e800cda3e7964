"""The install page: the doctor's data in, Markdown in English or Chinese out, or whether it is up to date."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from npu_doctor.knowledge import load
from npu_doctor.stacks import CPU_INDEX, Catalogue, Component, Stack
from npu_overlays.installs import stacks as installs
from npu_overlays.reproducible import write_atomically

PAGES = {"en": "install.md", "zh": "install.zh-CN.md"}

_TEXTS: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_NAMES = {"cann": "CANN", "hdk": "HDK", "nnal": "NNAL"}


def render(catalogue: Catalogue, language: str) -> str:
    """Return the page in a language, ``en`` or ``zh``."""
    texts = _TEXTS[language]
    lines = [f"# {texts['title']}", "", f"<!-- {texts['generated']} -->", "", texts["other"], ""]
    lines += [texts["intro"], "", texts["before"], "", note("x86", language), ""]
    lines += [texts["chip"], "", texts["upgrade"], "", f"## {texts['consistent']}", ""]
    for stack in catalogue.stacks:
        if not stack.record:
            lines += _consistent(stack, catalogue, language)
    lines += [f"## {texts['records']}", ""]
    for stack in catalogue.stacks:
        if stack.record:
            lines += _record(stack, catalogue, language)
    return "\n".join(lines).rstrip() + "\n"


def note(key: str, language: str) -> str:
    """Return a paragraph of the page, by its name in the file of its texts."""
    return str(_TEXTS[language][key]).format(index=CPU_INDEX)


def _consistent(stack: Stack, catalogue: Catalogue, language: str) -> Iterator[str]:
    texts = _TEXTS[language]
    yield from _heading(stack, language)
    of = texts["of"].format(name=stack.variant_of, anchor=_anchor(stack.variant_of))
    yield from (of, "")
    yield from _table(stack, language)
    names = ", ".join(f"`[{name}]`" for name in installs.extras(stack, catalogue))
    yield from (texts["extras"].format(names=names), "")
    if stack.absent:
        yield from (texts["absent"].format(names=", ".join(stack.absent)), "")
    yield from _contradictions(stack, language, "remaining")
    yield from ("```bash", *installs.commands(stack, catalogue), "```", "")


def _record(stack: Stack, catalogue: Catalogue, language: str) -> Iterator[str]:
    yield from _heading(stack, language)
    variants = [one.name for one in catalogue.stacks if one.variant_of == stack.name]
    links = ", ".join(f"[{name}](#{_anchor(name)})" for name in variants)
    yield from (_TEXTS[language]["take"].format(names=links), "")
    yield from _table(stack, language)
    yield from _contradictions(stack, language, "contradictions")


def _heading(stack: Stack, language: str) -> Iterator[str]:
    yield from (f"### {stack.name}", "", f"{stack.title[language]}.", "")


def _anchor(name: str) -> str:
    return name.lower().replace(".", "")


def _table(stack: Stack, language: str) -> Iterator[str]:
    texts = _TEXTS[language]
    yield f"| {' | '.join(texts['columns'])} |"
    yield "|---|---|---|---|"
    yield f"| {texts['python']} | {stack.python} | | |"
    for component in stack.components:
        name, note = _NAMES.get(component.name, component.name), component.note.get(language, "")
        yield f"| {name} | {_version(component)} | {_how(component, language)} | {note} |"
    for overlay in stack.overlays:
        yield f"| {overlay.partition('@')[0]}-npu | {overlay} | {_how_text('overlay', language)} | |"
    yield ""


def _version(component: Component) -> str:
    revision = f"`{component.commit[:10] or component.tag}`" if component.commit or component.tag else ""
    version = component.version or (f"`{component.allow}`" if component.allow else "")
    return " ".join(filter(None, [version, revision])) or "-"


def _how(component: Component, language: str) -> str:
    text = _how_text(component.install, language)
    return (
        f"[{text}]({component.repository})" if component.repository and component.install in ("git", "source") else text
    )


def _how_text(install: str, language: str) -> str:
    return str(_TEXTS[language]["how"][install])


def _contradictions(stack: Stack, language: str, title: str) -> Iterator[str]:
    if not stack.contradictions:
        return
    texts = _TEXTS[language]
    stop = "。" if language == "zh" else "."
    yield from (texts[title], "")
    for one in stack.contradictions:
        names = ", ".join(one.components)
        instead = f"{texts['instead']}: {one.instead[language]}{stop}"
        yield f"- **{names}**: {one.says[language]} {instead} {texts['source']}: {one.source}"
    yield ""


def outdated(folder: Path) -> list[Path]:
    """Return the pages in a folder that are not what the data says."""
    catalogue = load()
    pages = {folder / name: render(catalogue, language) for language, name in PAGES.items()}
    return [file for file, text in pages.items() if not file.is_file() or file.read_text(encoding="utf-8") != text]


def main(arguments: list[str]) -> int:
    """Write the pages into ``docs``, or with ``--check`` say which are not up to date."""
    folder = Path("docs")
    stale = outdated(folder)
    if "--check" in arguments:
        for file in stale:
            sys.stderr.write(f"{file}: not up to date; run: python -m npu_overlays.installs.page\n")
        return 1 if stale else 0
    catalogue = load()
    for language, name in PAGES.items():
        write_atomically(folder / name, render(catalogue, language).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
