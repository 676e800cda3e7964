"""The tutorial: both languages say the same commands, and whoever types them sees what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from support.environment import Environment

from .conftest import ROOT

TUTORIALS = [ROOT / "docs" / name for name in ("tutorial.md", "tutorial.zh-CN.md")]
_BLOCK = re.compile(r"(?:<!-- exit code: (?P<code>\d) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)```", re.DOTALL)
_END = "\x1e"
_LEFT_OUT = "…"


@dataclass(frozen=True, kw_only=True)
class TutorialStep:
    """Commands of the tutorial, the exit code of the last of them, and what of their output is shown."""

    commands: str
    code: int
    shown: str


def steps(document: Path) -> list[TutorialStep]:
    """Return what is to be typed, in order, each with the block of text that follows it."""
    found = [*_BLOCK.finditer(document.read_text("utf-8"))]
    assert {one["language"] for one in found} <= {"bash", "text"}
    after = [*found[1:], None]
    return [
        TutorialStep(
            commands=block["text"],
            code=int(block["code"] or 0),
            shown=following["text"] if following and following["language"] == "text" else "",
        )
        for block, following in zip(found, after, strict=True)
        if block["language"] == "bash"
    ]


def script(listed: list[TutorialStep]) -> str:
    """Return a script that stops at the first command that does not leave as it should, and marks each step's end."""
    texts = []
    for step in listed:
        assert not step.code or step.commands.count("\n") == 1
        checked = f"code=0; {step.commands.rstrip()} || code=$?; test $code = {step.code}\n"
        texts += [checked if step.code else step.commands, f"printf '{_END}'\n"]
    return "set -e\n" + "".join(texts)


def missing(shown: str, output: str) -> list[str]:
    """Return what of a block of text does not stand in an output in that order; … is for what the block leaves out."""
    absent, at = [], 0
    for piece in filter(None, map(str.strip, re.split(rf"{_LEFT_OUT}|\n", shown))):
        here = output.find(piece, at)
        absent += [piece] if here < 0 else []
        at = max(at, here)
    return absent


def test_both_languages_have_the_same_steps() -> None:
    english, chinese = map(steps, TUTORIALS)
    assert len(english) > 10
    assert english == chinese


def test_the_languages_name_each_other_and_the_readmes_name_them() -> None:
    for document, other in [*pairwise(TUTORIALS), *pairwise(reversed(TUTORIALS))]:
        assert f"({other.name})" in document.read_text("utf-8")
        readme = ROOT / document.name.replace("tutorial", "README")
        assert f"(docs/{document.name})" in readme.read_text("utf-8")


def test_what_is_shown_is_found_in_order_or_named() -> None:
    assert missing("one …\nthree\n", "a one two\nthree") == []
    assert missing("three\n…\none\nfour", "a one two\nthree") == ["one", "four"]


@pytest.mark.index
@pytest.mark.thorough
def test_whoever_types_its_commands_sees_what_it_shows(environment: Environment) -> None:
    if not Path(sys.prefix, "bin", "activate").is_file():
        pytest.skip("this Python runs in no virtual environment that a shell could activate")
    listed = steps(TUTORIALS[0])
    clone = environment.folder / "clone"
    clone.mkdir()
    (clone / ".venv").symlink_to(sys.prefix)
    # The machine's own index, which the clean environment leaves out.
    hidden = ("PIP_CONFIG_FILE", "PIP_NO_INDEX", "PIP_FIND_LINKS")
    own = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    variables = environment.variables(**{**dict.fromkeys(hidden), **own})
    done = subprocess.run(
        ["bash", "-c", script(listed)],
        cwd=clone,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    outputs = done.stdout.split(_END)
    if done.returncode == 4 and len(outputs) == 2:  # the second step is the first that asks the index
        pytest.skip(outputs[-1].splitlines()[0])
    assert done.returncode == 0, outputs[-1]
    absent = {step.commands: missing(step.shown, out) for step, out in zip(listed, outputs, strict=False)}
    assert {commands: pieces for commands, pieces in absent.items() if pieces} == {}, done.stdout
