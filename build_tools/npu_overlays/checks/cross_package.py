"""Cross package: the overlays of a stack → the names that one needs of another and that are missing there.

Needs of upstream's own code that another upstream lacks are listed apart: no overlay caused them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from npu_overlays.checks.attribution import Attribution, Culprit, ProblemReport, culprit_of
from npu_overlays.checks.package_needs import PackageNeed, package_needs
from npu_overlays.checks.references import nearest_name
from npu_overlays.errors import Problem, by_cause
from npu_overlays.merge.results import Applied
from npu_overlays.model import model_of_files
from npu_overlays.model.shipped_modules import ShippedModules
from npu_overlays.model.symbol_lookup import SymbolLookup
from npu_overlays.overlay.content import Content
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import PatchedTree


@dataclass(frozen=True, kw_only=True)
class StackMember:
    """One overlay of a stack, and its patched tree."""

    content: Content
    applied: Applied

    @property
    def absent(self) -> frozenset[str]:
        """Paths that its pin has and this source lacks."""
        return self.applied.before.absent

    @property
    def name(self) -> str:
        """The overlay's name."""
        return self.content.overlay.name

    @property
    def pin(self) -> Pin:
        """Its pin, which maps files to installed places."""
        return self.content.overlay.pin

    @property
    def tree(self) -> PatchedTree:
        """Its patched tree."""
        return self.applied.tree

    @cached_property
    def attribution(self) -> Attribution:
        """The authors of its tree."""
        return Attribution(self.content, self.applied.authorship)

    @property
    def modules(self) -> ShippedModules:
        """The modules of its patched tree."""
        return self.applied.after.modules


@dataclass(frozen=True, kw_only=True)
class StackMismatches:
    """The mismatches in a stack."""

    problems: tuple[Problem, ...]  # what overlays of it bring in, or break
    notices: tuple[str, ...]  # what upstream's own modules need of another upstream that does not have it


def stack_mismatches(members: Sequence[StackMember]) -> StackMismatches:
    """Return what the overlays of a stack need of one another and lack."""
    before, after = _environment(members, patched=False), _environment(members, patched=True)
    problems: list[Problem] = []
    notices: list[str] = []
    for user, provider in permutations(members, 2):
        report = ProblemReport()
        notices += _Pair(user=user, provider=provider, before=before, after=after).examine(report)
        problems += report.problems()
    return StackMismatches(problems=tuple(by_cause(problems)), notices=tuple(dict.fromkeys(notices)))


def _environment(members: Iterable[StackMember], *, patched: bool) -> SymbolLookup:
    """Return what can be imported where a stack is installed; its paths are those below ``site-packages``.

    Args:
        members: the overlays.
        patched: whether with the overlays applied, or as upstream has it.
    """
    files: dict[str, bytes] = {}
    homes: list[str] = []
    absent: set[str] = set()
    for member in members:
        pin, tree = member.pin, member.tree
        homes += [home for _, home in pin.homes]
        absent.update(filter(None, map(pin.place, member.absent)))
        paths = tree.paths() if patched else tree.upstream.entries
        for path in paths:
            place, text = pin.place(path), tree.after(path) if patched else tree.before(path)
            if place and text is not None:
                files[place] = text
    return model_of_files(files, homes, absent=frozenset(absent)).symbols


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """One overlay that uses another, with the environments before and after patching."""

    user: StackMember
    provider: StackMember
    before: SymbolLookup
    after: SymbolLookup

    def examine(self, report: ProblemReport) -> Iterator[str]:
        """Report mismatches that the two overlays cause; yield those of upstream's own."""
        for place, path in sorted(self.user.modules.places.items()):
            missing = list(self._missing(place, path))
            known = set(package_needs(self.before, place, self.provider.modules.owns)) if missing else set()
            for need in missing:
                line = getattr(need.node, "lineno", 1)
                if need not in known:
                    report.add(self._author(path, need), f"`{need.text}`: {self._lack(need)}", self._nearest(need))
                elif need.holds_lazily(self.before):
                    what = f"{self._lack(need)} any more, which {path}:{line} of {self.user.name} needs ({need.text})"
                    report.add(self._breaker(need), what, "keep it, or change that too")
                else:
                    yield f"{self.user.name}: upstream's own {path}:{line} (`{need.text}`): {self._lack(need)}"

    def _missing(self, place: str, path: str) -> Iterator[PackageNeed]:
        """Yield what a module needs and lacks; modules that mention nothing are not parsed."""
        content = self.user.tree.after(path) if path.endswith(".py") else None
        if content is not None and self._mention.search(content):
            found = package_needs(self.after, place, self.provider.modules.owns)
            yield from dict.fromkeys(need for need in found if self._is_missing(path, need))

    @cached_property
    def _mention(self) -> re.Pattern[bytes]:
        """Finds an import of the other distribution, or a text that begins with its name."""
        tops = "|".join(sorted({re.escape(home.partition(".")[0]) for home in self.provider.modules.homes})).encode()
        return re.compile(rb"(?:\bfrom\s|\bimport\s|,)\s*(?:%s)\b|[\"'](?:%s)[.\"']" % (tops, tops))

    def _is_missing(self, path: str, need: PackageNeed) -> bool:
        answer = need.holds(self.after)
        if answer is not None or need.kind != "name":
            return answer is False
        # A module that makes up names may have more of them than it says, so only those are missed that it had.
        if self._may_be_lost(need) and need.holds_lazily(self.before) and need.holds_lazily(self.after) is False:
            return True
        return self.user.attribution.wrote(path, self._offset(path, need)) and not self._is_written(need)

    def _may_be_lost(self, need: PackageNeed) -> bool:
        """Return whether the other overlay's changed files mention a name, before the slow lookup in lazy packages."""
        return bool(need.names) and any(need.names[0].encode() in text for text in self._touched)

    @cached_property
    def _touched(self) -> tuple[bytes, ...]:
        """Upstream's content of the files that the other overlay changes."""
        tree = self.provider.tree
        return tuple(filter(None, map(tree.before, tree.changed)))

    def _is_written(self, need: PackageNeed) -> bool:
        """Return whether a name occurs anywhere in the other distribution, as even one made at run time must."""
        name = (need.names or (need.module.rpartition(".")[2],))[-1].encode()
        texts = map(self.provider.tree.after, self.provider.modules.places.values())
        return bool(self.provider.absent) or any(name in (text or b"") for text in texts)

    def _offset(self, path: str, need: PackageNeed) -> int:
        return self.after.modules.offset(self.user.pin.place(path), need.node)

    def _author(self, path: str, need: PackageNeed) -> Culprit:
        """Return the author of the code that needs something, or of the removal of its guard."""
        offset, words = self._offset(path, need), re.findall(r"\w+", need.text)
        if not self.user.attribution.wrote(path, offset):
            return self.user.attribution.taker(path, words[0])
        names = [*(f"import {name}" for name in need.names), *need.names, *words]
        return self.user.attribution.author(path, offset, getattr(need.node, "lineno", 1), names)

    def _breaker(self, need: PackageNeed) -> Culprit:
        """Return the place in the other overlay that removed something."""
        symbol = ".".join(need.names)
        for operation in self.provider.content.operations:
            if symbol and operation.name in (symbol, f"{symbol}.__init__", *need.names[:1]):
                return culprit_of(operation)
        place = self.before.modules.paths.get(need.module, "")
        return self.provider.attribution.taker(self.provider.applied.before.modules.places.get(place, ""), symbol)

    def _lack(self, need: PackageNeed) -> str:
        """Return what is missing, in words."""
        if need.keyword:
            return f"`{'.'.join((need.module, *need.names))}` of {self.provider.name} takes no `{need.keyword}`"
        if not need.names or self.after.modules.exists(need.module) is False:
            return f"{self.provider.name} has no module `{need.module}`"
        return f"`{'.'.join((need.module, *need.names[:-1]))}` of {self.provider.name} has no `{need.names[-1]}`"

    def _nearest(self, need: PackageNeed) -> str:
        modules = self.after.modules
        known = modules.surface(need.module).bound if need.names else modules.paths
        wanted = need.names[-1] if need.names else need.module
        hint = "" if need.keyword else nearest_name(wanted, known)
        return hint or "correct it, or add the name in the other overlay"
