"""Examples in the help of command lines: the text below ``examples:`` → the commands."""

from __future__ import annotations

import re
import shlex

# What ends a command in a shell.
_ENDS = {"|", ">", "&&"}


def examples(text: str, heading: str = "examples") -> list[str]:
    """Return the commands below a heading, without the remarks beside them."""
    below = text.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
    return [re.split(r" {2,}", line.strip())[0] for line in re.sub(r"\\\n *", "", below).splitlines()]


def arguments(example: str, program: str) -> list[str] | None:
    """Return the arguments that an example gives to a program; None for an example of another program."""
    words, wanted = shlex.split(example), program.split()
    if words[: len(wanted)] != wanted:
        return None
    end = next((place for place, word in enumerate(words) if word in _ENDS), len(words))
    return words[len(wanted) : end]
