"""Upstream commits: the commits after a pin → the one with which an operation's forwarded change landed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PULL = re.compile(r"\(#(\d+)\)\s*$")
_MERGED = re.compile(r"^Merge pull request #(\d+) ")
# As git quotes it, anywhere in a subject; else a subject that begins with the word.
_QUOTED = re.compile(r'\breverts?:?\s+"(.*)"', re.IGNORECASE)
_BEGUN = re.compile(r"\W*revert\b\W*(.*)", re.IGNORECASE)
_REVERTED_COMMIT = re.compile(r"\bThis reverts commit ([0-9a-f]{7,40})\b")
_REVERTED_PULL = re.compile(r"^Reverts (?:[\w.-]+/[\w.-]+)?#(\d+)\s*$", re.MULTILINE)
# How a forge ends a subject that is too long for it.
_CUT = ("…", "...")
_URL = re.compile(r"https?://[^/\s]+/(?P<path>\S+?)(?:/-)?/(?:pull|commit|merge_requests)/(?P<what>[0-9a-f]+)")
_BARE = re.compile(r"(?<![\w/])(?:#(?P<pull>\d+)|(?P<commit>[0-9a-f]{7,40}))\b")
_SHORTEST_ID = 7


@dataclass(frozen=True, kw_only=True)
class UpstreamCommit:
    """One upstream commit: its id, its date, the first line of its message and the rest of that."""

    id: str
    date: str
    subject: str
    body: str = ""

    @property
    def pull(self) -> str:
        """The number of its pull request; empty if its subject does not name one."""
        return _pull_in(self.subject)

    def as_json(self) -> dict[str, str]:
        """Return it as JSON."""
        return {"id": self.id, "date": self.date, "subject": self.subject, "pull": self.pull}

    def __str__(self) -> str:
        return f"{self.id[:9]} of {self.date}: {self.subject}"


def _pull_in(subject: str) -> str:
    found = _PULL.search(subject) or _MERGED.search(subject)
    return found[1] if found else ""


def references(forwarded: str, repositories: Iterable[str]) -> tuple[str, ...]:
    """Return the pull requests and commits of a repository that a ``forwarded`` names.

    Args:
        forwarded: a URL, ``#123``, or a commit id.
        repositories: upstream's URLs, present and past; those of other repositories, such as forks, do not count.
    """
    own = tuple(repositories)
    found: list[str] = []
    for url in _URL.finditer(forwarded):
        ending = re.compile(rf"[/:]{re.escape(url['path'])}(?:\.git)?/*$", re.IGNORECASE)
        if any(map(ending.search, own)):
            found.append(url["what"])
    for bare in _BARE.finditer(re.sub(r"https?://\S+", " ", forwarded)):
        found.append(bare["pull"] or bare["commit"])
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class _Revert:
    """The commits that a message reverts: by ids, pull requests, or else a subject."""

    ids: tuple[str, ...]
    pulls: tuple[str, ...]
    subject: str

    @classmethod
    def of(cls, commit: UpstreamCommit) -> _Revert | None:
        """Return the commits that a commit reverts; None for none. A subject with a pull request counts by that."""
        quoted, begun = _QUOTED.search(commit.subject), _BEGUN.match(commit.subject)
        subject = quoted[1] if quoted else _PULL.sub("", begun[1]).strip() if begun else ""
        pulls = _REVERTED_PULL.findall(commit.body)
        if pull := _pull_in(subject):
            pulls.append(pull)
            subject = ""
        ids = tuple(_REVERTED_COMMIT.findall(commit.body))
        return cls(ids=ids, pulls=tuple(pulls), subject=subject) if ids or pulls or subject else None

    def reverts(self, one: UpstreamCommit) -> bool:
        """Return whether a commit is reverted; the subject may be cut off, or lack its pull request."""
        if one.id.startswith(self.ids) or one.pull in self.pulls:
            return True
        bare = _PULL.sub("", one.subject).strip()
        if not self.subject or self.subject in (one.subject, bare):
            return bool(self.subject)
        for mark in _CUT:
            if self.subject.endswith(mark):
                cut = self.subject.removesuffix(mark).rstrip()
                return bool(cut) and bare.startswith(cut)
        return False


class LandedCommits:
    """Upstream's commits since an overlay's pin, in order, as far as they were noted."""

    def __init__(self) -> None:
        self._by_pull: dict[str, list[UpstreamCommit]] = {}
        self._by_id: dict[str, UpstreamCommit] = {}
        self._reverts: dict[str, list[str]] = {}

    def note(self, commits: Iterable[UpstreamCommit]) -> None:
        """Note further commits; a revert removes the commit that it names, unless the revert is reverted itself."""
        for commit in commits:
            if revert := _Revert.of(commit):
                for one in filter(revert.reverts, self._by_id.values()):
                    self._reverts.setdefault(one.id, []).append(commit.id)
            self._by_id[commit.id] = commit
            if commit.pull:
                self._by_pull.setdefault(commit.pull, []).append(commit)

    def find(self, wanted: Iterable[str]) -> UpstreamCommit | None:
        """Return the commit with which the first of these pull requests or commits landed; None if none did."""
        for one in wanted:
            named = self._by_pull.get(one, [])[::-1]
            if len(one) >= _SHORTEST_ID:
                named += [commit for id_, commit in self._by_id.items() if id_.startswith(one)]
            for commit in named:
                if self._is_in_force(commit.id):
                    return commit
        return None

    def _is_in_force(self, id_: str) -> bool:
        return not any(map(self._is_in_force, self._reverts.get(id_, ())))
