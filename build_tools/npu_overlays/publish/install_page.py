"""Install page: the stacks → docs/install.md in English and Chinese, with the commands that install each."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from npu_doctor.knowledge import load
from npu_doctor.stacks import CPU_INDEX, Catalogue, Component, Stack, constraints_name
from npu_overlays.reproducible import write_atomically
from npu_overlays.stack_requirements import BASE, DOCTOR, distribution, extras, requirement

PAGES = {"en": "install.md", "zh": "install.zh-CN.md"}

_TEXTS: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_NAMES = {"cann": "CANN", "hdk": "HDK", "nnal": "NNAL"}
_ORDER = {"source": 0, "git": 1, "index": 2}  # engines before what is built against them


def render(catalogue: Catalogue, language: str) -> str:
    """Return the page in a language, ``en`` or ``zh``."""
    texts = _TEXTS[language]
    lines = [f"# {texts['title']}", "", f"<!-- {texts['generated']} -->", "", texts["other"], ""]
    lines += [texts["intro"], "", texts["before"], "", texts["x86"].format(index=CPU_INDEX), ""]
    lines += [texts["chip"], "", texts["upgrade"], "", f"## {texts['consistent']}", ""]
    for stack in catalogue.stacks:
        if not stack.record:
            lines += _consistent(stack, catalogue, language)
    lines += [f"## {texts['records']}", ""]
    for stack in catalogue.stacks:
        if stack.record:
            lines += _record(stack, catalogue, language)
    return "\n".join(lines).rstrip() + "\n"


def _consistent(stack: Stack, catalogue: Catalogue, language: str) -> Iterator[str]:
    texts = _TEXTS[language]
    yield from _heading(stack, language)
    yield from (texts["of"].format(name=stack.variant_of, anchor=_anchor(stack.variant_of)), "")
    yield from _table(stack, language)
    names = ", ".join(f"`[{name}]`" for name in extras(stack, catalogue))
    yield from (texts["extras"].format(names=names), "")
    if stack.absent:
        yield from (texts["absent"].format(names=", ".join(stack.absent)), "")
    yield from _contradictions(stack, language, "remaining")
    yield from ("```bash", *commands(stack, catalogue), "```", "")


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


def commands(stack: Stack, catalogue: Catalogue, *, x86: bool = False) -> list[str]:
    """Return the shell commands that install a consistent stack, in their order.

    Args:
        stack: the stack.
        catalogue: the names the index knows the components by.
        x86: whether for x86, where torch comes from PyTorch's own index.
    """
    given = f"-c {constraints_name(stack.name)}" + (f" --extra-index-url {CPU_INDEX}" if x86 else "")
    lines = [
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh",
        f"python{stack.python} -m venv npu && source npu/bin/activate",
        "source /usr/local/Ascend/nnal/atb/set_env.sh",
        f"pip install {given} --find-links wheels 'verl-npu[{BASE},{DOCTOR}]'",
    ]
    built = [component for component in stack.components if component.group and component.group != BASE]
    for component in sorted(built, key=lambda component: _ORDER[component.install]):
        lines += _install(component, given, catalogue)
    lines += _removals(stack, catalogue)
    return [*lines, "python -I -m verl_npu_summary --verify", f"python -I -m npu_doctor --stack {stack.name}"]


def _install(component: Component, given: str, catalogue: Catalogue) -> list[str]:
    env = "".join(f"{key}={value} " for key, value in component.env.items())
    options = f"{component.options} " if component.options else ""
    if component.install == "index":
        return [f"{env}pip install {given} {options}'{requirement(component, catalogue)}'", *component.commands]
    if component.commands:
        return list(component.commands)
    revision = component.commit or component.tag
    target = f"{distribution(component, catalogue)} @ git+{component.repository}{f'@{revision}' if revision else ''}"
    return [f"{env}pip install {given} {options}'{target}'"]


def _removals(stack: Stack, catalogue: Catalogue) -> list[str]:
    """Return the commands that remove what must not be there; triton takes files of triton-ascend with it."""
    lines = [f"pip uninstall -y {' '.join(stack.absent)}"] if stack.absent else []
    ours = stack.component("triton_ascend")
    if "triton" in stack.absent and ours is not None:
        for line in _install(ours, "--no-deps", catalogue):
            if line.startswith("pip install "):
                lines.append(line.replace("pip install ", "pip install --force-reinstall ", 1))
    return lines


def outdated(folder: Path) -> list[Path]:
    """Return the pages in a folder that differ from the data."""
    catalogue, found = load(), []
    for language, name in PAGES.items():
        file = folder / name
        if not file.is_file() or file.read_text(encoding="utf-8") != render(catalogue, language):
            found.append(file)
    return found


def main(arguments: list[str]) -> int:
    """Write the pages into ``docs``, or with ``--check`` print those that are not up to date."""
    folder = Path("docs")
    stale = outdated(folder)
    if "--check" in arguments:
        for file in stale:
            sys.stderr.write(f"{file}: not up to date; run: python -m npu_overlays.publish.install_page\n")
        return 1 if stale else 0
    catalogue = load()
    for language, name in PAGES.items():
        write_atomically(folder / name, render(catalogue, language).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
