"""History: a bare repository and a range of its commits → each state of upstream in it, without a checkout.

One call of git lists the commits, one what each changed, a few read the blobs: hundreds of commits cost about what a
few do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from npu_overlays import git
from npu_overlays.errors import Problem, SourceError
from npu_overlays.porting.landed import Commit
from npu_overlays.porting.revision import Names, Revision
from npu_overlays.proc import ProcessError
from npu_overlays.source import objects

_FORMAT = "--format=%H%x00%cs%x00%s%x00%b"
_READ = 500


class Blobs(Mapping[str, bytes]):
    """The blobs of a repository by id; those that were asked for once are kept.

    Args:
        repository: holds them.
    """

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._kept: dict[str, bytes] = {}

    def keep(self, blobs: Iterable[str]) -> None:
        """Read blobs together that will be asked for."""
        wanted = [blob for blob in dict.fromkeys(blobs) if blob not in self._kept]
        self._kept.update(zip(wanted, self.read(wanted), strict=True))

    def read(self, blobs: list[str]) -> Iterator[bytes]:
        """Yield the content of blobs, which is not kept."""
        return objects.read(self._repository, "blob", blobs)

    def __getitem__(self, blob: str) -> bytes:
        if blob not in self._kept:
            self.keep([blob])
        return self._kept[blob]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


@dataclass(frozen=True, kw_only=True)
class History:
    """The history of an upstream.

    Args:
        repository: a bare repository that holds it.
    """

    repository: Path

    def resolve(self, revision: str) -> str:
        """Return the id of the commit that a tag, branch or id names; empty where it names none."""
        try:
            return self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
        except ProcessError:
            return ""

    def commits(self, first: str, last: str) -> list[Commit]:
        """Return the first commit and those that lead from it to the last, oldest first; merges by their first parent.

        Raises:
            SourceError: none leads there.
        """
        between = self._log("--first-parent", "--reverse", last, f"^{first}")
        if not between and first != last:
            what = f"no commit leads from {first[:9]} to {last[:9]}"
            raise SourceError(Problem(where="--range", what=what, fix="name the older one first: A..B"))
        return [*self._log("--no-walk", first), *between]

    def graph(self, first: str, last: str) -> dict[str, tuple[Commit, tuple[str, ...]]]:
        """Return every commit that the last one has and the first one has not, by id, each before its parents."""
        output = self._git("log", "--topo-order", "--format=%H%x00%P%x00%cs%x00%s%x00%b", "-z", last, f"^{first}")
        fields = iter(output.removesuffix("\0").split("\0") if output else [])
        return {
            id_: (Commit(id=id_, date=date, subject=subject, body=body), tuple(parents.split()))
            for id_, parents, date, subject, body in zip(fields, fields, fields, fields, fields, strict=True)
        }

    def versions(self, first: str, last: str, path: str) -> list[tuple[Commit, str]]:
        """Return the commits between two that changed a path, oldest first, each with the blob it left; empty: none."""
        found = self._log("--first-parent", "--reverse", last, f"^{first}", "--", path)
        request = "".join(f"{commit.id}:{path}\n" for commit in found).encode("utf-8", "surrogateescape")
        answers = self._git("cat-file", "--batch-check=%(objecttype) %(objectname)", stdin=request).splitlines()
        blobs = (kind.removeprefix("blob ") if kind.startswith("blob ") else "" for kind in answers)
        return list(zip(found, blobs, strict=True))

    def is_ancestor(self, one: str, other: str) -> bool:
        """Return whether a commit is part of the history of another."""
        try:
            self._git("merge-base", "--is-ancestor", one, other)
        except ProcessError:
            return False
        return True

    def entries(self, commit: str) -> dict[str, str]:
        """Return the blob of every file of a commit."""
        listed = self._git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0")
        heads = [(entry.partition("\t")[0].split(" "), entry.partition("\t")[2]) for entry in listed if entry]
        return {path: head[2] for head, path in heads if head[0].startswith("100")}

    def states(self, commits: list[Commit]) -> Iterator[tuple[Commit, dict[str, str]]]:
        """Yield each commit with the blob of every file; each dictionary is the caller's."""
        entries = self.entries(commits[0].id)
        yield commits[0], dict(entries)
        pairs = zip(commits[1:], commits, strict=False)
        request = "".join(f"{commit.id} {before.id}\n" for commit, before in pairs).encode()
        changed = _changes(self._git("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", stdin=request))
        for commit in commits[1:]:
            for path, blob in changed.get(commit.id, ()):
                if blob:
                    entries[path] = blob
                else:
                    entries.pop(path, None)
            yield commit, dict(entries)

    def _log(self, *arguments: str) -> list[Commit]:
        output = self._git("log", _FORMAT, "-z", *arguments)
        fields = iter(output.removesuffix("\0").split("\0") if output else [])
        return [
            Commit(id=id_, date=date, subject=subject, body=body)
            for id_, date, subject, body in zip(fields, fields, fields, fields, strict=True)
        ]

    def _git(self, *arguments: str, stdin: bytes | None = None) -> str:
        output = git.alone(f"--git-dir={self.repository}", *arguments, stdin=stdin)
        return output.decode("utf-8", "surrogateescape")


def _changes(raw: str) -> dict[str, list[tuple[str, str]]]:
    """Return, by commit, what ``diff-tree`` says each changed: path and new blob, empty for what is gone."""
    found: dict[str, list[tuple[str, str]]] = {}
    fields = iter(raw.split("\0"))
    commit = ""
    for field in fields:
        if field.startswith(":"):
            _, mode, _, blob, _ = field.split(" ")
            found.setdefault(commit, []).append((next(fields), blob if mode.startswith("100") else ""))
        elif field:
            commit = field
    return found


def revisions(
    history: History, commits: list[Commit], *, names: Names, paths: Collection[str], shipped: Callable[[str], object]
) -> Iterator[tuple[Commit, Revision]]:
    """Yield upstream as each commit has it.

    Args:
        history: of upstream.
        commits: oldest first.
        names: notes what the shipped modules define.
        paths: the files that will be read in each.
        shipped: whether a path is of the shipped packages.
    """
    states = list(history.states(commits))
    contents = Blobs(history.repository)
    contents.keep(entries[path] for _, entries in states for path in paths if path in entries)
    modules = (
        blob for _, entries in states for path, blob in entries.items() if path.endswith(".py") and shipped(path)
    )
    unknown = names.unknown(modules)
    for start in range(0, len(unknown), _READ):
        part = unknown[start : start + _READ]
        for blob, content in zip(part, contents.read(part), strict=True):
            names.note(blob, content)
    for commit, entries in states:
        yield commit, Revision(entries=entries, contents=contents, names=names)
