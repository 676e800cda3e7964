"""Documents: their examples do what they say."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import zipfile
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

import pytest

from environments import Installations, Unavailable
from npu_overlays.commands.notes import count_of
from npu_overlays.commands.parser import parser
from npu_overlays.merge.module_merge import merge
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import ACTIONS
from npu_overlays.overlay.tables import load_toml
from npu_recipes.commands.parser import parser as recipes_parser
from npu_summary.changes import Changes, parse
from support.installers import OLDEST_PIPS
from support.pythons import SUPPORTED

from .conftest import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "recipes").glob("*.md")])
PARSERS: dict[str, Callable[[], ArgumentParser]] = {"npu-overlays": parser, "npu-recipes": recipes_parser}
LANGUAGE = ROOT / "docs" / "overlay-language.md"
READMES = ("README.md", "README.zh-CN.md")
COMMANDS = {"ls", "init", "checkout", "refresh", "port", "bisect"}  # which the page of the architecture names as well
HOMES = ("docs/index.md", "docs/index.zh-CN.md")


def blocks(document: Path, language: str) -> list[str]:
    """Return the code blocks of a document."""
    return re.findall(rf"```{language}\n(.*?)```", document.read_text("utf-8"), flags=re.DOTALL)


def read(name: str) -> str:
    """Return the text of a document at the project's root."""
    return (ROOT / name).read_text("utf-8")


def example(name: str) -> str:
    """Return a code block of the language's document by the comment above it."""
    (found,) = re.findall(
        rf"<!-- example: {name} -->\n```python\n(.*?)```", LANGUAGE.read_text("utf-8"), flags=re.DOTALL
    )
    return str(found)


def test_the_example_of_the_language_gives_the_result_it_shows() -> None:
    path = "pkg/norm.py"
    operations = read_operations(f"tree/{path}", example("overlay").encode(), layer="pkg@0123456", target=path)
    merged, _ = merge(path, example("upstream").encode(), operations, distribution="pkg-npu", purpose="NPU")
    assert merged.decode() == example("result")


def actions_shown(document: str) -> list[str]:
    """Return the actions of a document's only merge module."""
    (block,) = blocks(ROOT / document, "python")
    operations = read_operations("tree/x.py", block.encode(), layer="pkg@0123456", target="x.py")
    return [operation.action for operation in operations]


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_wraps_one_function_in_twelve_lines(readme: str) -> None:
    assert actions_shown(readme) == ["wrapped"]
    assert len(blocks(ROOT / readme, "python")[0].splitlines()) <= 12


@pytest.mark.parametrize("home", HOMES)
def test_the_first_page_shows_what_a_build_makes_of_its_change(home: str) -> None:
    change, before, after = blocks(ROOT / home, "python")
    path = "transformers/models/qwen3/modeling_qwen3.py"
    operations = read_operations(f"tree/{path}", change.encode(), layer="transformers@5.10.4", target=path)
    merged, _ = merge(path, before.encode(), operations, distribution="transformers-npu", purpose="NPU")
    assert merged.decode()[merged.decode().index("class ") :] == after


def table_rows(document: str, heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading, without those of its head."""
    below = read(document).partition(heading)[2]
    (table, *_) = re.findall(r"(?:^\|.*\n)+", below, re.MULTILINE)
    return [cells_of(line) for line in table.splitlines()[2:]]


def cells_of(row: str) -> list[str]:
    """Return the cells of a table's row."""
    return [cell.strip() for cell in row.strip("|").split("|")]


@pytest.mark.parametrize(
    ("home", "heading", "layer"),
    [(HOMES[0], "## How far", "## Operators"), (HOMES[1], "## 与上游相差", "## 每层的算子")],
)
def test_the_first_page_has_the_totals_of_the_page_of_parity(home: str, heading: str, layer: str) -> None:
    parity = home.replace("index", "parity")
    pins = table_rows(parity, "# ")
    (qwen3,) = (row for row in table_rows(parity, layer) if row[0] == "`qwen3`")
    operators = [cell.partition(" (")[0] for cell in qwen3[1:]]
    *shown, total = table_rows(home, heading)
    assert shown == [[pin[0], *pin[3:], count] for pin, count in zip(pins, operators, strict=True)]
    assert total[1] == str(sum(int(pin[3]) for pin in pins))
    assert total[2] == str(sum(int(pin[4]) for pin in pins))
    errors: list[str] = []
    for row in table_rows(parity, "## "):
        errors += filter(None, row[1:])
    assert max(errors, key=float) in read(home).partition(heading)[2]


@pytest.mark.parametrize("home", HOMES)
def test_the_first_page_has_the_seconds_of_the_page_of_rivals(home: str) -> None:
    measured = {row[0]: row[3] for row in table_rows(home.replace("index", "rivals"), "# ")}
    (shown,) = (row for row in table_rows(home, "rivals") if row[1].endswith(" s"))
    assert [shown[1], *shown[3:]] == [measured[way] for way in ("npu-overlays", "Fromager", "patch, pip wheel")]


@pytest.mark.parametrize("page", ["docs/maintain.md", "docs/maintain.zh-CN.md"])
def test_the_page_of_maintainers_shows_every_operation(page: str) -> None:
    assert set(actions_shown(page)) == set(ACTIONS)


def test_the_example_of_a_shared_definition_can_be_read() -> None:
    (block,) = [block for block in blocks(LANGUAGE, "python") if "targets=[" in block]
    operations = read_operations("shared/x.py", block.encode(), layer="pkg@0123456")
    assert [operation.symbol for operation in operations] == ["LlamaRMSNorm.forward", "Qwen3RMSNorm.forward"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_every_command_shown_is_one_the_command_line_takes(document: Path) -> None:
    commands = "\n".join(blocks(document, "bash")).splitlines()
    shown = [shlex.split(re.sub(r" *[#|>].*", "", line)) for line in commands if line.partition(" ")[0] in PARSERS]
    for name, *arguments in shown:
        assert PARSERS[name]().parse_args(arguments).command


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_no_document_names_a_path_of_a_machine(document: Path) -> None:
    assert not re.findall(r"/(?:root|home|work|Users)/|/tmp/\w", document.read_text("utf-8"))


@pytest.mark.parametrize("page", ["docs/train.md", "docs/train.zh-CN.md"])
def test_the_page_of_trainers_names_the_oldest_pip_that_is_tested(page: str) -> None:
    assert f"pip {OLDEST_PIPS[SUPPORTED[0]]}" in read(page)


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_fits_a_first_reading(readme: str) -> None:
    lines = read(readme).splitlines()
    assert len(lines) <= 120
    assert ("No NPU was available to us" in lines[2]) or ("没有可用的 NPU" in lines[2])


def counts_shown() -> list[str]:
    """Return how many changes of each overlay the README shows, as commands print it; the other language's agrees."""
    shown = [re.findall(r"^  (\S+?@[\w.]+: \d+ changes in \d+ files);", read(name), re.MULTILINE) for name in READMES]
    assert len(shown[0]) == 2
    assert shown[0] == shown[1]
    return shown[0]


@pytest.mark.slow
@pytest.mark.index
def test_the_readmes_count_the_changes_as_a_build_does(shared: Path) -> None:
    for line in counts_shown():
        overlay = line.partition(":")[0]
        try:
            wheels = Installations(shared / "npu").wheels(overlay)
        except Unavailable as reason:
            pytest.skip(str(reason))
        (record,) = (summary for wheel in wheels if (summary := summary_of(wheel)))
        assert f"{overlay}: {count_of(record)}" == line


def summary_of(wheel: Path) -> Changes | None:
    """Return a wheel's summary, or None of a companion, which has none."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if re.fullmatch(r"\w+_summary/changes\.json", name)]
        return parse(archive.read(names[0])) if names else None


@pytest.mark.slow
@pytest.mark.index
@pytest.mark.thorough
def test_the_overlays_of_the_readmes_pass_the_check_together() -> None:
    shown = counts_shown()
    command = [sys.executable, "-m", "npu_overlays", "check", *(line.partition(":")[0] for line in shown)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 4 or "left out" in done.stderr:
        pytest.skip(f"the pinned commits cannot be had: {done.stderr}")
    assert [line.removesuffix(", as declared") for line in done.stdout.splitlines()] == shown


ARCHITECTURE = ("docs/architecture.md", "docs/architecture.zh-CN.md")


@pytest.mark.parametrize("page", ARCHITECTURE)
def test_every_room_of_the_architecture_page_is_there(page: str) -> None:
    tool = ROOT / "build_tools" / "npu_overlays"
    recipes = ROOT / "recipes" / "npu_recipes"
    packages: set[str] = set()
    for home in (tool, recipes):
        packages |= {path.parent.relative_to(home).as_posix() for path in home.glob("*/**/__init__.py")}
    rooms = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*)/?`", read(page))) - COMMANDS
    homes = (
        ROOT,
        tool.parent,
        tool,
        *map(tool.joinpath, packages),
        ROOT / "overlays" / "verl",
        tool.parent / "npu_summary",
        recipes.parent,
        recipes,
        *map(recipes.joinpath, packages),
    )
    found = {room for room in rooms if any((home / f"{room}{end}").exists() for home in homes for end in ("", ".py"))}
    assert rooms == found
    assert packages <= {*rooms, *(folder.as_posix() for room in rooms for folder in Path(room).parents)}


@pytest.mark.parametrize("page", ARCHITECTURE)
def test_a_room_of_the_architecture_page_imports_only_from_rooms_above_it(page: str) -> None:
    contracts = load_toml(ROOT / "pyproject.toml")["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one.get("containers") == ["npu_overlays"])
    heights = {room: -height for height, layer in enumerate(layers) for room in layer.split(" | ")}
    shown = [heights[room] for room in re.findall(r"^\| `(\w+)/` \|", read(page), re.MULTILINE) if room in heights]
    assert len(shown) == 12
    assert shown == sorted(shown)
