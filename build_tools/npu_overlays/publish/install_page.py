"""Install page: the stacks → docs/install.md in English and Chinese, with the commands that install each."""

from __future__ import annotations

import json
import re
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

from npu_doctor.knowledge import load
from npu_doctor.stacks import CPU_INDEX, Catalogue, Component, Stack, constraints_name
from npu_overlays.files import write_atomically
from npu_overlays.overlay.stack_requirements import (
    BASE,
    base_requirements,
    distribution,
    extras,
    extras_of_overlay,
    fitting_extras,
    requirement,
)

PAGES = {"en": "install.md", "zh": "install.zh-CN.md"}

_TEXTS: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_NAMES = {"cann": "CANN", "hdk": "HDK", "nnal": "NNAL"}
_ORDER = {"source": 0, "git": 1, "index": 2}  # engines before what is built against them


def render(catalogue: Catalogue, language: str) -> str:
    """Return the page in a language, ``en`` or ``zh``."""
    # Sphinx brings Jinja: only those who write these pages need it.
    import jinja2  # noqa: PLC0415

    template = Path(__file__).with_suffix(".md.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined)  # noqa: S701  # Markdown
    page = environment.from_string(template).render(
        language=language,
        texts=_TEXTS[language],
        names=_NAMES,
        index=CPU_INDEX,
        catalogue=catalogue,
        anchor=lambda name: name.lower().replace(".", ""),
        commands=partial(commands, language=language),
        extras=partial(_extras, language=language),
        avoided=partial(_avoided, language=language),
        removals=_removals,
        source=partial(source, language=language),
    )
    return page.rstrip() + "\n"


def source(text: str, language: str) -> str:
    """Return the sources of a statement in a language: addresses as they are, what says where to look translated."""
    return str(_TEXTS[language]["semicolon"]).join(_source(one, language) for one in text.split("; "))


def _source(text: str, language: str) -> str:
    for pattern, form in _TEXTS[language]["sources"]:
        if found := re.match(pattern, text):
            names = [name.replace(" and ", "、").replace(", ", "、") for name in found.groups()]
            return str(form.format(*names))
    return text


def _extras(stack: Stack, catalogue: Catalogue, language: str) -> str:
    """Return the sentences that name the extras of a stack's wheel; one that only repeats the base is left out."""
    texts, wheel = _TEXTS[language], f"{stack.overlays[-1].partition('@')[0]}-npu"
    own, fitting = extras(stack, catalogue), fitting_extras(stack, catalogue)
    names = [f"`[{name}]`" for name in fitting if name == BASE or own[name] != own[BASE]]
    if not names:
        return str(texts["no_extra"].format(wheel=wheel))
    said = texts["extras"].format(wheel=wheel, names=texts["comma"].join(names))
    others = extras_of_overlay(stack.overlays[-1], catalogue).keys() - fitting
    return f"{said}{texts['other_extras']}" if others else str(said)


def _avoided(stack: Stack, catalogue: Catalogue, language: str) -> str:
    """Return the sentence on extras of a stack's wheel whose components must be built; empty if there is none."""
    texts, fitting = _TEXTS[language], fitting_extras(stack, catalogue)
    built = {component.group for component in stack.components if component.install == "source"}
    names = [f"`[{name}]`" for name in fitting if name in built]
    return str(texts["avoided"].format(names=texts["comma"].join(names))) if names else ""


def commands(stack: Stack, catalogue: Catalogue, *, x86: bool = False, language: str = "en") -> list[str]:
    """Return the shell commands that install a consistent stack; for x86, torch comes from PyTorch's own index."""
    given = f"-c wheels/{constraints_name(stack.name)}" + (f" --extra-index-url {CPU_INDEX}" if x86 else "")
    project = stack.overlays[-1].partition("@")[0]
    built = [component for component in stack.components if component.group and component.group != BASE]
    lines = [
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh",
        f"python{stack.python} -m venv npu && source npu/bin/activate",
        # Engines need it, and nothing else does.
        *(["source /usr/local/Ascend/nnal/atb/set_env.sh"] if built else []),
        f"pip install {given} --find-links wheels {shlex.join(base_requirements(stack, catalogue, doctor=True))}",
    ]
    for component in sorted(built, key=lambda component: _ORDER[component.install]):
        if component.prepare:
            lines.append(f"# {component.prepare[language]}")
        lines += _install(component, given, catalogue)
    lines += _removals(stack, catalogue)
    return [*lines, f"python -I -m {project}_npu_summary --verify", f"python -I -m npu_doctor --stack {stack.name}"]


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
