"""Reasons: what is new in an overlay → why, in a person's words."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from npu_overlays.errors import Problem, UsageError

_ASKED = """\
# Say for each of these why it is done, in one sentence for a user of the wheel,
# behind its colon. Nothing is written where one is left empty.
"""


def reasons(new: Sequence[tuple[str, str]], why: str, *, ask: bool) -> Mapping[tuple[str, str], str]:
    """Return the reason of each thing that is new; raises `UsageError` if one is missing.

    Args:
        new: pairs of an action and its target.
        why: the reason of all of it; empty if none was given.
        ask: whether a person at the terminal may be asked for them.
    """
    if why or not new:
        return dict.fromkeys(new, why)
    names = [f"{action} {target}" for action, target in new]
    answers = _reasons_from_editor(names) if ask and sys.stdin is not None and sys.stdin.isatty() else {}
    if missing := [name for name in names if not answers.get(name)]:
        what, options = "is new and has no reason", (("--why", "one sentence for a user of the wheel"),)
        raise UsageError([Problem(where=name, what=what, fix="give the reason", options=options) for name in missing])
    return {one: answers[name] for one, name in zip(new, names, strict=True)}


def _reasons_from_editor(names: Sequence[str]) -> dict[str, str]:
    """Return the reasons that a person writes in their editor, by name; none is there for what they leave out."""
    variable = next((name for name in ("VISUAL", "EDITOR") if os.environ.get(name)), "")
    editor = os.environ.get(variable, "vi")
    with tempfile.TemporaryDirectory(prefix="npu-overlays-why-") as place:
        file = Path(place) / "reasons.txt"
        file.write_text(_ASKED + "".join(f"\n{name}: " for name in names) + "\n", "utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            fix = f'set {variable or "EDITOR"} to the command of an editor, or give the reason with --why "…"'
            what = f"`{editor}` is no editor: {error}"
            raise UsageError(Problem(where=variable or "EDITOR", what=what, fix=fix)) from error
        lines = [line for line in file.read_text("utf-8").splitlines() if not line.startswith("#")]
    answers = {}
    for line in lines:
        for name in names:
            if line.startswith(f"{name}:"):
                answers[name] = line[len(name) + 1 :].strip()
    return answers
