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
        """Return the known word that is nearest to the wrong one in argparse's message; empty if none is near.

        A word is as near as its nearest part: `import` is nearer to `import-patches` than to `port`.
        """
        wrong, known = "", [*self._option_string_actions, *self.words]
        if choice := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            wrong, known = choice[1], choice[2].replace("'", "").split(", ")
        elif unknown := re.search(r"unrecognized arguments: (\S+)", message):
            wrong = unknown[1]
        whole = _by_part(known)
        return next((whole[part] for part in difflib.get_close_matches(wrong, whole, n=1)), "")


def _by_part(words: Iterable[str]) -> dict[str, str]:
    """Return words by themselves and by their parts between hyphens; an option's parts keep its leading hyphens."""
    found: dict[str, str] = {}
    for word in words:
        bare = word.lstrip("-")
        hyphens = word.removesuffix(bare)
        for part in bare.split("-"):
            found.setdefault(hyphens + part, word)
    return found | {word: word for word in words}
