"""Affected modules: what modules of upstream's lose → the shipped modules that may need it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from npu_overlays.checks.context import CheckContext
from npu_overlays.model.lazy_exports import looks_lazy, may_hand_on

# `from . import name` does not mention the package whose name it is.
_DOTS_ONLY = re.compile(rb"\bfrom\s*\.[.\s]*import\b")


def concerned(context: CheckContext, lost: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield the shipped modules that may need something lost, with their content: looking at all of them takes long.

    They mention it, and besides the module that had it, or one that took it over by ``import *`` or lazily.
    """
    every = context.after.modules.texts
    homes, word = set(lost.values()), _word_of(lost)
    above = {package for path in lost.values() for package in _packages(context.name(path))}
    homes |= {path for one in above if looks_lazy(every.get(path := context.after.modules.paths.get(one, ""), b""))}
    pending = {path: content for path, content in every.items() if path not in homes and may_hand_on(content)}
    while found := {path for path, content in pending.items() if _names_one_of(context, homes, content)}:
        homes |= found
        pending = {path: content for path, content in pending.items() if path not in found}
    for path, content in sorted(every.items()):
        if word.search(content) and (path in homes or _names_one_of(context, homes, content)):
            yield path, content


def _packages(module: str) -> Iterator[str]:
    """Yield the packages that a module lies in."""
    while module := module.rpartition(".")[0]:
        yield module


def _names_one_of(context: CheckContext, paths: set[str], content: bytes) -> bool:
    """Return whether a module's text may import one of some modules."""
    names = {context.name(path) for path in paths}
    if any(context.before.modules.is_package(name) for name in names) and _DOTS_ONLY.search(content):
        return True
    return bool(_word_of(name.rpartition(".")[2] for name in names).search(content))


def _word_of(words: Iterable[str]) -> re.Pattern[bytes]:
    return re.compile(rb"\b(?:%s)\b" % b"|".join(re.escape(word.encode()) for word in sorted(set(words))))
