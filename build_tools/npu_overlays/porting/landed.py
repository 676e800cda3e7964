"""Landed: upstream's commits → whether what an operation was forwarded as is among them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PULL = re.compile(r"\(#(\d+)\)\s*$")
_MERGED = re.compile(r"^Merge pull request #(\d+) ")
# As git writes it, wherever that stands; else what begins by saying so.
_QUOTED = re.compile(r'\breverts?:?\s+"(.*)"', re.IGNORECASE)
_BEGUN = re.compile(r"\W*revert\b\W*(.*)", re.IGNORECASE)
_REVERTED_COMMIT = re.compile(r"\bThis reverts commit ([0-9a-f]{7,40})\b")
_REVERTED_PULL = re.compile(r"^Reverts (?:[\w.-]+/[\w.-]+)?#(\d+)\s*$", re.MULTILINE)
# What a forge makes of a subject that is too long for it.
_CUT = ("…", "...")
_URL = re.compile(r"https?://[^/\s]+/(?P<path>\S+?)(?:/-)?/(?:pull|commit|merge_requests)/(?P<what>[0-9a-f]+)")
_BARE = re.compile(r"(?<![\w/])(?:#(?P<pull>\d+)|(?P<commit>[0-9a-f]{7,40}))\b")


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One upstream commit: its id, its date, the first line of its message and the rest of that."""

    id: str
    date: str
    subject: str
    body: str = ""

    @property
    def pull(self) -> str:
        """The number of the pull request it came by, or an empty text where its message does not say."""
        found = _PULL.search(self.subject) or _MERGED.search(self.subject)
        return found[1] if found else ""

    def __str__(self) -> str:
        return f"{self.id[:9]} of {self.date}: {self.subject}"


def references(forwarded: str, repositories: Iterable[str]) -> tuple[str, ...]:
    """Return the pull requests and commits of a repository that a reason names as where it was forwarded to.

    Args:
        forwarded: as an author writes it: a URL, ``#123``, a commit id.
        repositories: upstream's URLs, all that it has or had; what a URL names of others, as forks, does not count.
    """
    own = tuple(repositories)
    named = [found["what"] for found in _URL.finditer(forwarded) if any(_is_at(one, found["path"]) for one in own)]
    rest = re.sub(r"https?://\S+", " ", forwarded)
    return (*named, *(found["pull"] or found["commit"] for found in _BARE.finditer(rest)))


def _is_at(repository: str, path: str) -> bool:
    """Return whether the URL of a repository, however git is told of it, ends in a path as ``owner/name``."""
    return bool(re.search(rf"[/:]{re.escape(path)}(?:\.git)?/*$", repository, re.IGNORECASE))


@dataclass(frozen=True, kw_only=True)
class _Reverted:
    """What a commit says that it reverts: commits by their ids, their pull requests, or else their subject."""

    ids: tuple[str, ...]
    pulls: tuple[str, ...]
    subject: str

    def __bool__(self) -> bool:
        return bool(self.ids or self.pulls or self.subject)

    def names(self, one: Commit) -> bool:
        """Return whether a commit is one of these; the subject may be cut off, or leave out its pull request."""
        if one.id.startswith(self.ids) or one.pull in self.pulls:
            return True
        bare = _PULL.sub("", one.subject).strip()
        cut = next((self.subject.removesuffix(mark).rstrip() for mark in _CUT if self.subject.endswith(mark)), "")
        return bool(self.subject) and (self.subject in (one.subject, bare) or bool(cut and bare.startswith(cut)))


class Landed:
    """The commits of upstream that came after an overlay's pin, in order, as far as they were told of."""

    def __init__(self) -> None:
        self._pulls: dict[str, list[Commit]] = {}
        self._ids: dict[str, Commit] = {}
        self._reverts: dict[str, list[str]] = {}

    def note(self, commits: Iterable[Commit]) -> None:
        """Note further commits; one that reverts another takes that one back, while it is not reverted itself."""
        for commit in commits:
            reverted = _reverted(commit)
            for one in self._ids.values() if reverted else ():
                if reverted.names(one):
                    self._reverts.setdefault(one.id, []).append(commit.id)
            self._ids[commit.id] = commit
            if commit.pull:
                self._pulls.setdefault(commit.pull, []).append(commit)

    def find(self, wanted: Iterable[str]) -> Commit | None:
        """Return the commit by which the first of some pull requests and commits came, or None where none did."""
        for one in wanted:
            named = list(reversed(self._pulls.get(one, ())))
            if len(one) >= 7:  # noqa: PLR2004  # what git takes for a short id
                named += [commit for id_, commit in self._ids.items() if id_.startswith(one)]
            if found := next((commit for commit in named if self._stands(commit.id)), None):
                return found
        return None

    def _stands(self, id_: str) -> bool:
        return not any(map(self._stands, self._reverts.get(id_, ())))


def _reverted(commit: Commit) -> _Reverted:
    """Return what a commit says that it reverts; a subject goes by its pull request where that is said."""
    quoted, begun = _QUOTED.search(commit.subject), _BEGUN.match(commit.subject)
    subject = quoted[1] if quoted else _PULL.sub("", begun[1]).strip() if begun else ""
    pull = Commit(id="", date="", subject=subject).pull
    pulls = (*_REVERTED_PULL.findall(commit.body), *([pull] if pull else []))
    ids = tuple(_REVERTED_COMMIT.findall(commit.body))
    return _Reverted(ids=ids, pulls=pulls, subject="" if pull else subject)
