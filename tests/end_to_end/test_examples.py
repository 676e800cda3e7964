"""The first example in the help of every command, run on the sample instead of verl."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from document_tables.parsers import commands_of
from npu_overlays.commands.parser import parser
from npu_overlays.overlay.stacks import stacks_folder
from publish.website.conftest import write_project
from support.environment import Done
from support.examples import examples
from support.marks import rarely
from support.overlays import edit

from .sample import CORE, LIB_FILES, Sample

COMMANDS = commands_of(parser())
SOURCE = "src/lib/core.py"
# Those of the others are run in long runs only; `make test` sees that their arguments are understood.
OFTEN = ("build", "check", "checkout", "diff", "init", "lock", "port", "refresh")
# What the examples say of verl, and what it is in the sample; the longest first.
_WORDS = {
    "python -m pytest -q tests/test_protocol_on_cpu.py": f"sh -c '! grep -q at.once {SOURCE}'",
    "verl@d62da49": "{lib}",
    "verl@796871d": "{lib}",
    "verl@0.9.1": "{lib}",
    "verl_npu-0.9.1+npu.1.adb6e6f2": "lib_npu-*",
    "verl_npu-*": "lib_npu-*",
    "init attrs": "init lib",
    "../verl_npu": "verl_npu",
    "| less": "| cat",
}


def run(sample: Sample, example: str, clone: str | None) -> Done:
    """Run an example in a shell, in the folder of the sample and with it as the home."""
    for word, ours in _WORDS.items():
        example = example.replace(word, ours.format(lib=sample.lib_name))
    command = example.replace("npu-overlays ", f"{sys.executable} -m npu_overlays ", 1)
    return sample.environment.run("sh", "-c", command, HOME=str(sample.folder), LIB_PATH=clone)


def _edit_checkout(sample: Sample) -> None:
    folder = sample.folder / "src" / "verl-npu"
    sample.environment.ok("checkout", sample.lib_name, folder)
    edit(folder / SOURCE, "return value * 3", "return value * 4")


def _edit_overlay(sample: Sample) -> None:
    edit(sample.lib_overlay / "tree" / SOURCE, "value * 3", "value * 4")
    sample.environment.ok("lock", sample.lib_name)


def _write_documents(sample: Sample) -> None:
    write_project(sample.folder, {"index.md": "# It\n"})


def _write_patches(sample: Sample) -> None:
    folder = sample.folder / "verl_npu"
    commit = sample.lib_name.partition("@")[2]
    patch = sample.lib_overlay / "patches" / "notes.patch"
    (folder / "patch" / "lib" / commit).mkdir(parents=True)
    shutil.copy(patch, folder / "patch" / "lib" / commit)


def _tag_commit(sample: Sample) -> None:
    sample.lib.commit({**LIB_FILES, SOURCE: CORE + b"\n\ndef more():\n    pass\n"})
    for name in ("v0.6.0", "v0.7.0"):
        sample.lib.git("tag", name)


def _keep_lib(sample: Sample) -> None:
    shutil.rmtree(sample.app_overlay)  # no index has a project of that name
    shutil.rmtree(stacks_folder(sample.overlays))


# What a command needs to find.
_PREPARATIONS: dict[str, Callable[[Sample], None]] = {
    "refresh": _edit_checkout,
    "revise": _edit_overlay,
    "site": _write_documents,
    "import-patches": _write_patches,
    "port": _tag_commit,
    "drift": _tag_commit,
    "follow": _keep_lib,
}


@pytest.mark.slow
@pytest.mark.parametrize("command", [*OFTEN, *rarely(*sorted(COMMANDS.keys() - {*OFTEN}))])
def test_the_first_example_of_a_command_runs(own_upstream: Sample, wheels: Path, command: str) -> None:
    shutil.copytree(wheels, own_upstream.folder / "wheels")
    if prepare := _PREPARATIONS.get(command):
        prepare(own_upstream)
    clone = str(own_upstream.lib.path) if command in {"port", "drift"} else None
    done = run(own_upstream, examples(COMMANDS[command].format_help())[0], clone)
    assert done.code == 0, done.out + done.err
