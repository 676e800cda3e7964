"""Stack mismatches: the overlays of a stack → what one asks of another and does not get.

What upstream's own code asks of another upstream that has it not, is told apart: nothing of ours made it so.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from npu_overlays.checks.attribution import Attribution, Culprit, ProblemReport
from npu_overlays.checks.cross_package.package_needs import PackageNeed, needs
from npu_overlays.checks.cross_package.stack_environment import StackMember, environment
from npu_overlays.errors import Problem, by_cause
from npu_overlays.model.lookup import Upstream
from npu_overlays.model.parsed_modules import ParsedModules


@dataclass(frozen=True, kw_only=True)
class StackMismatches:
    """What does not fit in a stack."""

    problems: tuple[Problem, ...]  # what overlays of it bring in, or break
    notices: tuple[str, ...]  # what upstream's own modules ask of another upstream that does not have it


def incoherent(sides: Sequence[StackMember]) -> StackMismatches:
    """Return what the overlays of a stack ask of one another and do not get."""
    parsed = ParsedModules()
    before, after = (environment(sides, patched=patched, parsed=parsed) for patched in (False, True))
    problems: list[Problem] = []
    notices: list[str] = []
    for asking, asked in permutations(sides, 2):
        report = ProblemReport()
        pair = _Pair(asking=asking, asked=asked, before=before, after=after)
        notices += pair.examine(report)
        problems += report.problems()
    return StackMismatches(problems=tuple(by_cause(problems)), notices=tuple(dict.fromkeys(notices)))


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """One overlay that asks, and one that is asked, among all that is installed before and after."""

    asking: StackMember
    asked: StackMember
    before: Upstream
    after: Upstream

    def examine(self, report: ProblemReport) -> Iterator[str]:
        """Report what the two overlays bring in or break; yield what is upstream's own."""
        for place, path in sorted(self.asking.places().items()):
            missing = list(self._missing(place, path))
            known = set(needs(self.before, place, self.asked.owns)) if missing else ()
            for need in missing:
                line = getattr(need.node, "lineno", 1)
                if need not in known:
                    report.add(self._author(path, need), f"`{need.text}`: {self._lack(need)}", self._nearest(need))
                elif need.holds_lazily(self.before):
                    what = f"{self._lack(need)} any more, which {path}:{line} of {self.asking.name} needs ({need.text})"
                    report.add(self._breaker(need), what, "keep it, or change that too")
                else:
                    yield f"{self.asking.name}: upstream's own {path}:{line} (`{need.text}`): {self._lack(need)}"

    def _missing(self, place: str, path: str) -> Iterator[PackageNeed]:
        """Yield what a module asks for and does not get; reading those that mention nothing would take long."""
        content = self.asking.applied.tree.after(path) if path.endswith(".py") else None
        if content is not None and self._mention.search(content):
            found = (need for need in needs(self.after, place, self.asked.owns) if self._is_missing(path, need))
            yield from dict.fromkeys(found)

    @cached_property
    def _mention(self) -> re.Pattern[bytes]:
        """Finds an import of the other distribution, or a text that begins with its name."""
        tops = "|".join(sorted({re.escape(home.partition(".")[0]) for home in self.asked.homes})).encode()
        return re.compile(rb"(?:\bfrom\s|\bimport\s|,)\s*(?:%s)\b|[\"'](?:%s)[.\"']" % (tops, tops))

    def _is_missing(self, path: str, need: PackageNeed) -> bool:
        answer = need.holds(self.after)
        if answer is not None or need.kind != "name":
            return answer is False
        # What makes up names may have more of them than it says, so only those are missed that it had.
        if self._may_be_lost(need) and need.holds_lazily(self.before) and need.holds_lazily(self.after) is False:
            return True
        return self._attribution.wrote(path, self._offset(path, need)) and not self._is_written(need)

    def _may_be_lost(self, need: PackageNeed) -> bool:
        """Return whether what the other overlay changes mentions a name; following lazy packages takes long."""
        return bool(need.names) and any(need.names[0].encode() in text for text in self._touched)

    @cached_property
    def _touched(self) -> tuple[bytes, ...]:
        """What upstream has in the files that the other overlay changes."""
        tree = self.asked.applied.tree
        return tuple(filter(None, map(tree.before, tree.changed)))

    def _is_written(self, need: PackageNeed) -> bool:
        """Return whether a name stands anywhere in the other distribution, as one made at run time must too."""
        name = (need.names or (need.module.rpartition(".")[2],))[-1].encode()
        tree = self.asked.applied.tree
        return any(name in (tree.after(path) or b"") for path in self.asked.places().values()) or bool(
            self.asked.absent
        )

    @cached_property
    def _attribution(self) -> Attribution:
        return Attribution(self.asking.content, self.asking.applied.authorship)

    def _offset(self, path: str, need: PackageNeed) -> int:
        return self.after.model.modules.parsed.offset(self.asking.applied.tree.after(path) or b"", need.node)

    def _author(self, path: str, need: PackageNeed) -> Culprit:
        """Return who wrote what asks for something, or took away what kept it from being asked."""
        offset, words = self._offset(path, need), re.findall(r"\w+", need.text)
        if not self._attribution.wrote(path, offset):
            return self._attribution.taker(path, words[0])
        names = [*(f"import {name}" for name in need.names), *need.names, *words]
        return self._attribution.author(path, offset, getattr(need.node, "lineno", 1), names)

    def _breaker(self, need: PackageNeed) -> Culprit:
        """Return what of the other overlay took something away."""
        symbol = ".".join(need.names)
        for operation in self.asked.content.operations:
            if symbol and operation.name in (symbol, f"{symbol}.__init__", *need.names[:1]):
                return Culprit(file=operation.file, lines=(operation.line,))
        place = self.before.model.modules.paths.get(need.module, "")
        return Attribution(self.asked.content, self.asked.applied.authorship).taker(self.asked.path_of(place), symbol)

    def _lack(self, need: PackageNeed) -> str:
        """Return what is not there, in words."""
        if need.keyword:
            return f"`{'.'.join((need.module, *need.names))}` of {self.asked.name} takes no `{need.keyword}`"
        if not need.names or self.after.model.modules.exists(need.module) is False:
            return f"{self.asked.name} has no module `{need.module}`"
        return f"`{'.'.join((need.module, *need.names[:-1]))}` of {self.asked.name} has no `{need.names[-1]}`"

    def _nearest(self, need: PackageNeed) -> str:
        modules = self.after.model.modules
        known = modules.surface(need.module).bound if need.names else modules.paths
        wanted = need.names[-1] if need.names else need.module
        close = [] if need.keyword else difflib.get_close_matches(wanted, known, n=1)
        return f"nearest: `{close[0]}`" if close else "correct it, or have it there"
