"""Suggestions: a wrong word on a command line → the known word that was probably meant."""

from __future__ import annotations

import argparse
import difflib
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn


class SuggestingParser(argparse.ArgumentParser):
    """A parser whose errors suggest the nearest option or choice."""

    words: Iterable[str] = ()  # further words that the command line knows, such as commands

    def error(self, message: str) -> NoReturn:
        """Print usage, the nearest known word and what is wrong; exit with 2."""
        nearest = self.nearest(message)
        super().error(f"did you mean {nearest}? {message}" if nearest else message)

    def nearest(self, message: str) -> str:
        """Return the known word that is nearest to the wrong one in argparse's message; empty if none is near."""
        wrong, known = "", [*self._option_string_actions, *self.words]
        if choice := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            wrong, known = choice[1], choice[2].replace("'", "").split(", ")
        elif unknown := re.search(r"unrecognized arguments: (\S+)", message):
            wrong = unknown[1]
        return next(iter(difflib.get_close_matches(wrong, known, n=1)), "")
