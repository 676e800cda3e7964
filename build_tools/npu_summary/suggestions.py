"""Suggestions: a wrong word on a command line → the known word that was probably meant."""

from __future__ import annotations

import argparse
import difflib
import re
from itertools import takewhile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn


class SuggestingParser(argparse.ArgumentParser):
    """A parser that takes options in full alone; its errors suggest the nearest option or choice."""

    words: Iterable[str] = ()  # further words that the command line knows, such as commands
    _typed: Iterable[str] = ()

    def __init__(self, *given: Any, **named: Any) -> None:
        # Otherwise `--prun` would be carried out as `--prune`, and a typo of one option as another.
        super().__init__(*given, **{"allow_abbrev": False, **named})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse, and keep what was typed for an error's message."""
        self._typed = args or ()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print usage, the nearest known word and what is wrong; exit with 2."""
        if " required" in message and (unknown := self._unknown_option()):
            # argparse looks for what is missing before it looks for what is wrong.
            message = f"unrecognized arguments: {unknown}; {message}"
        nearest = self.nearest(message)
        if command := re.match(r"argument COMMAND: invalid choice: ('.*?')", message):
            message = f"there is no command {command[1]}; {self.prog} --help lists all"
        super().error(f"did you mean {nearest}? {message}" if nearest else message)

    def _unknown_option(self) -> str:
        """Return the first of the typed options that this parser lacks, empty if it has all."""
        own = takewhile(lambda word: word != "--", self._typed)
        options = (word.partition("=")[0] for word in own if word.startswith("--"))
        return next((one for one in options if one not in self._option_string_actions), "")

    def nearest(self, message: str) -> str:
        """Return the known word that is nearest to the wrong one in argparse's message; empty if none is near.

        A word that begins with the wrong one is nearest; else a word is as near as its nearest part: `import` is
        nearer to `import-patches` than to `port`.
        """
        wrong, known = "", [*self._option_string_actions, *self.words]
        if choice := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            wrong, known = choice[1], choice[2].replace("'", "").split(", ")
        elif unknown := re.search(r"(?:unrecognized arguments: |there is no command ')([^\s=']+)", message):
            wrong = unknown[1]
        begun = [word for word in known if wrong.startswith("--") and word.startswith(wrong)]
        if begun:
            return " or ".join(begun)
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
