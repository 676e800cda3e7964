"""Overlay files: the settings of a new overlay → the texts of its files."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from npu_overlays.authoring.init.alternatives import Alternatives, sentences
from npu_overlays.errors import OverlayError
from npu_overlays.merge.module_merge import merge
from npu_overlays.model.signatures import parameters
from npu_overlays.overlay.configuration import BUILD_SYSTEM
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.project import Overlay
from npu_overlays.sources.pin import Pin

_README = """\
# {name}

`{distribution}` is {upstream},
with changes that are made when its wheel is built{layers}.
{other}
A file below `tree/` has the path of the upstream file that it changes, and gives the reason of each change.
`npu-overlays show {folder}` lists the changes.

```bash
npu-overlays lock {folder}     # after every change: records the upstream code it depends on
npu-overlays check {folder}    # everything a build does except writing the wheel
npu-overlays build {folder}    # into wheels/
pip install --find-links wheels {distribution}
```
"""
_NOTHING = Alternatives()
_IGNORED = "wheels/\n__pycache__/\n.npu-overlays-*\n"


@dataclass(frozen=True, kw_only=True)
class InitialSettings:
    """What the configuration of a new overlay says."""

    pin: Pin  # without packages where the layers name these
    layers: tuple[str | Mapping[str, str], ...] | None = None  # as a configuration names them; None to leave them out
    suffix: str = ""  # empty where the layers have it
    label: str = ""  # tells overlays on one pin apart; empty for none
    license_files: tuple[str, ...] | None = None  # upstream's licence files; None where the layers name them
    not_built: tuple[str, ...] = ()  # what upstream compiles or installs elsewhere, and the wheel may lack
    offer: Alternatives = field(default_factory=Alternatives)  # the files of the release beside the pinned one


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files of an overlay into a folder."""
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")


def configuration(start: InitialSettings) -> str:
    """Return the text of a ``pyproject.toml``."""
    pin = start.pin
    lines = [BUILD_SYSTEM, "[tool.overlay]", f"project = {json.dumps(pin.project)}"]
    if start.suffix:
        lines.append(f"suffix = {json.dumps(start.suffix)}  # the wheel is called {pin.project}-{start.suffix}")
    lines += [f"label = {json.dumps(start.label)}  # part of the version"] if start.label else []
    if start.layers is not None:
        lines.append(f"layers = {_layers(start.layers)}  # what it is made of, lowest first; then what lies here")
    lines += [f"packages = {_packages(pin)}  # what of upstream is shipped"] if pin.packages else []
    lines += [f"license-files = {_list(start.license_files)}"] if start.license_files is not None else []
    lines += [f"not-built = {_list(start.not_built)}"] if start.not_built else []
    return "\n".join([*lines, "", *_upstream(pin)])


def comment(name: str, example: ExampleOperation) -> str:
    """Return a first change to write, in a comment: as a file of its own it would be a change."""
    lines = [
        f'A first change: what stands below, without its "# ", is tree/{example.path}. It wraps',
        f"`{example.symbol}`; change what it does, then run `npu-overlays lock {name}`.",
        "",
        *example.text.splitlines(),
    ]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def readme(overlay: Overlay, found: Alternatives = _NOTHING) -> str:
    """Return the text of a ``README.md``; `found` are the files of the release beside the pinned one, if known."""
    pin, folder = overlay.pin, overlay.folder.name
    upstream = f"commit {pin.commit} of {pin.repository}" if pin.commit else f"{pin.project} {pin.archives[0].version}"
    below = " and ".join(layer.name for layer in overlay.layers)
    layers = f", on top of the layer{'s' if len(overlay.layers) > 1 else ''} {below}" if below else ""
    names = {"name": overlay.name, "distribution": overlay.distribution, "folder": folder}
    pinned = f"It is made of `{pin.archives[0].file}`; " if found.preferred else ""
    other = f"\n{pinned}{next(sentences(found))}.\n" if found.preferred else ""
    return _README.format(**names, upstream=upstream, layers=layers, other=other)


def ignored(folder: Path) -> str:
    """Return the text of a ``.gitignore``, or an empty one where a repository holds the folder: it has its own."""
    return "" if any((parent / ".git").exists() for parent in folder.parents) else _IGNORED


def _layers(layers: Iterable[str | Mapping[str, str]]) -> str:
    entries: list[str] = []
    for one in layers:
        entries.append(json.dumps(one) if isinstance(one, str) else _inline({"distribution": one["distribution"]}))
    return f"[{', '.join(entries)}]"


def _packages(pin: Pin) -> str:
    entries: list[str] = []
    for path in pin.packages:
        name = pin.import_name(path)
        entries.append(_inline({"path": path, "import": name}) if name else json.dumps(path))
    return f"[{', '.join(entries)}]"


def _inline(values: Mapping[str, str]) -> str:
    return f"{{ {', '.join(_settings(values))} }}"


def _list(texts: Iterable[str]) -> str:
    return json.dumps(list(texts), ensure_ascii=False)


def _upstream(pin: Pin) -> list[str]:
    lines = []
    if pin.commit:
        known = {"repository": pin.repository, "mirrors": pin.mirrors, "commit": pin.commit, "tag": pin.tag}
        stated = {key: value for key, value in known.items() if value}
        lines += ["[tool.overlay.upstream]", *_settings(stated), ""]
    for archive in pin.archives:
        lines += ["[[tool.overlay.upstream.archive]]", *_settings(vars(archive)), ""]
    return lines


def _settings(values: Mapping[str, object]) -> list[str]:
    return [f"{key} = {json.dumps(value)}" for key, value in values.items()]


_PRIVATE = re.compile(r"(^|/)(_(?!_init__)|tests?(/|_|\.)|test_|conftest|vendor)")
_TRIED = 200


@dataclass(frozen=True, kw_only=True)
class ExampleOperation:
    """A merge module that changes nothing yet: its repository path, the function it wraps, and its text."""

    path: str
    symbol: str
    text: str


def find_example(modules: Iterable[tuple[str, bytes]]) -> ExampleOperation | None:
    """Return a wrapper of a public function that can be applied as it stands, or None where no function can be.

    It is of the first module that serves; modules are pairs of repository path and bytes.
    """
    number = 0
    for path, content in modules:
        if _PRIVATE.search(path):
            continue
        for example in _wrappers(path, content):
            if number == _TRIED:
                return None
            number += 1
            if _applies(example, content):
                return example
    return None


def _wrappers(path: str, content: bytes) -> Iterator[ExampleOperation]:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.decorator_list:
            yield ExampleOperation(path=path, symbol=node.name, text=_wrapper(node))


def _wrapper(node: ast.FunctionDef) -> str:
    """Return a merge module that wraps a function, without its annotations, and calls it."""
    passed: list[str] = []
    for one in parameters(node.args):
        one.node.annotation = None
        before = one.kind if one.is_starred else f"{one.name}=" if one.kind == "kw" else ""
        passed.append(f"{before}{one.name}")
    return (
        "from npu_overlays.markers import upstream, wrapped\n\n\n"
        '@wrapped(why="Say here, in one sentence for a user of the wheel, what is different and why.")\n'
        f"def {node.name}({ast.unparse(node.args)}):\n    return upstream({', '.join(passed)})\n"
    )


def _applies(example: ExampleOperation, content: bytes) -> bool:
    try:
        operations = read_operations(example.path, example.text.encode(), layer="example", target=example.path)
        merge(example.path, content, operations, distribution="example")
    except OverlayError:
        return False
    return True
