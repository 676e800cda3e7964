"""Languages: the texts that pages need beside the documents, in each of the site's languages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Language:
    """A language of the site.

    Args:
        code: as in the names of documents and in HTML: ``zh-CN``; the first language's documents have none.
        catalogue: its key in the data of stacks.
        texts: what pages say in it.
    """

    code: str
    catalogue: str
    texts: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """Where its pages lie below the site; the first language's at the top."""
        return "" if self.code == "en" else self.code

    @property
    def suffix(self) -> str:
        """How its documents end."""
        return f".{self.folder}.md" if self.folder else ".md"

    def root(self, depth: int) -> str:
        """Return the way from one of its pages to the top of the site.

        Args:
            depth: how many folders deep the page lies below those of its language.
        """
        return "../" * (depth + bool(self.folder))

    def say(self, key: str, **values: object) -> str:
        """Return a text with values in it."""
        text: str = self.texts[key]
        return text.format(**values)


@cache
def languages() -> tuple[Language, ...]:
    """Return the languages, that of most documents first."""
    texts: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return tuple(Language(code=code, **said) for code, said in texts.items())
