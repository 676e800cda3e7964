"""History: a bare repository and a range of its commits → upstream's tree at each of them, without a checkout.

One call of git lists the commits, one their changes, and a few read the blobs: hundreds of commits take about as long
as a few.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from npu_overlays import git
from npu_overlays.authoring.port.upstream_commits import UpstreamCommit
from npu_overlays.authoring.snapshots import DefinedNames, Snapshot
from npu_overlays.errors import Problem, SourceError
from npu_overlays.process import ProcessError
from npu_overlays.sources import git_objects

_FIELDS = 5


class BlobCache(Mapping[str, bytes]):
    """The blobs of a repository by id; each is read once and kept."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._kept: dict[str, bytes] = {}

    def keep(self, blobs: Iterable[str]) -> None:
        """Read blobs that will be needed, all at once."""
        wanted = [blob for blob in dict.fromkeys(blobs) if blob not in self._kept]
        self._kept.update(zip(wanted, git_objects.read(self._repository, "blob", wanted), strict=True))

    def __getitem__(self, blob: str) -> bytes:
        if blob not in self._kept:
            self.keep([blob])
        return self._kept[blob]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


@dataclass(frozen=True, kw_only=True)
class UpstreamHistory:
    """The history of an upstream, in a bare repository."""

    repository: Path

    def commits(self, first: str, last: str) -> list[UpstreamCommit]:
        """Return the first commit and those from it to the last, oldest first, along first parents.

        Raises:
            SourceError: no commit leads there.
        """
        between = self._log("--first-parent", "--reverse", last, f"^{first}")
        if not between and first != last:
            what = f"no commit leads from {first[:9]} to {last[:9]}"
            raise SourceError(Problem(where="--range", what=what, fix="name the older commit first: A..B"))
        return [*self._log("--no-walk", first), *between]

    def graph(self, first: str, last: str) -> dict[str, tuple[UpstreamCommit, tuple[str, ...]]]:
        """Return by id every ancestor of the last commit that the first one lacks, with its parents, newest first."""
        found: dict[str, tuple[UpstreamCommit, tuple[str, ...]]] = {}
        for commit, parents in self._log_with_parents("--topo-order", last, f"^{first}"):
            found[commit.id] = (commit, parents)
        return found

    def versions(self, first: str, last: str) -> dict[str, list[tuple[UpstreamCommit, str]]]:
        """Return by path the commits between two that changed it, oldest first, each with its blob; empty for none."""
        between = list(self._log_with_parents("--first-parent", "--reverse", last, f"^{first}"))
        changes = self._changes(((commit.id, *parents[:1]) for commit, parents in between), "--root")
        versions: dict[str, list[tuple[UpstreamCommit, str]]] = {}
        for commit, _ in between:
            for path, blob in changes.get(commit.id, ()):
                versions.setdefault(path, []).append((commit, blob))
        return versions

    def moved(self, commit: str, path: str) -> str:
        """Return the path to which a commit moved a file, as git sees it; empty if it did not."""
        options = (
            "--no-commit-id",
            "-r",
            "-z",
            "-M",
            "-l0",
            "--diff-filter=R",
            "--name-status",
            "-m",
            "--first-parent",
        )
        fields = self._git("diff-tree", *options, commit).split("\0")
        pairs = dict(zip(fields[1::3], fields[2::3], strict=False))
        return pairs.get(path, "")

    def is_ancestor(self, one: str, other: str) -> bool:
        """Return whether a commit is an ancestor of another."""
        try:
            self._git("merge-base", "--is-ancestor", one, other)
        except ProcessError:
            return False
        return True

    def entries(self, commit: str) -> dict[str, str]:
        """Return the blob of every file of a commit, by path."""
        found: dict[str, str] = {}
        for entry in self._git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0"):
            head, _, path = entry.partition("\t")
            if head.startswith("100"):
                found[path] = head.split(" ")[2]
        return found

    def states(self, commits: list[UpstreamCommit]) -> Iterator[tuple[UpstreamCommit, dict[str, str]]]:
        """Yield each commit with the blob of every file, in a new dictionary."""
        entries = self.entries(commits[0].id)
        yield commits[0], dict(entries)
        changes = self._changes((commit.id, before.id) for commit, before in zip(commits[1:], commits, strict=False))
        for commit in commits[1:]:
            for path, blob in changes.get(commit.id, ()):
                if blob:
                    entries[path] = blob
                else:
                    entries.pop(path, None)
            yield commit, dict(entries)

    def _changes(self, pairs: Iterable[tuple[str, ...]], *options: str) -> dict[str, list[tuple[str, str]]]:
        """Return by commit the paths that differ from an earlier commit, with their blobs; empty for deletions."""
        request = "".join(f"{' '.join(pair)}\n" for pair in pairs).encode()
        return _changes(self._git("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", *options, stdin=request))

    def _log(self, *arguments: str) -> list[UpstreamCommit]:
        return [commit for commit, _ in self._log_with_parents(*arguments)]

    def _log_with_parents(self, *arguments: str) -> Iterator[tuple[UpstreamCommit, tuple[str, ...]]]:
        output = self._git("log", "--format=%H%x00%P%x00%cs%x00%s%x00%b", "-z", *arguments)
        fields = output.removesuffix("\0").split("\0") if output else []
        for start in range(0, len(fields), _FIELDS):
            id_, parents, date, subject, body = fields[start : start + _FIELDS]
            yield UpstreamCommit(id=id_, date=date, subject=subject, body=body), tuple(parents.split())

    def _git(self, *arguments: str, stdin: bytes | None = None) -> str:
        output = git.alone(f"--git-dir={self.repository}", *arguments, stdin=stdin)
        return output.decode("utf-8", "surrogateescape")


def _changes(raw: str) -> dict[str, list[tuple[str, str]]]:
    """Return the changes of each commit in the output of ``diff-tree``: paths with new blobs, empty for deletions."""
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


def snapshots(
    history: UpstreamHistory,
    commits: list[UpstreamCommit],
    *,
    names: DefinedNames,
    paths: Collection[str],
    shipped: Callable[[str], object],
) -> Iterator[tuple[UpstreamCommit, Snapshot]]:
    """Yield each commit with upstream's tree at it.

    Args:
        history: of upstream.
        commits: oldest first.
        names: the names to look for in the shipped modules.
        paths: the files that will be read in each tree.
        shipped: whether a path is of the shipped packages.
    """
    states = list(history.states(commits))
    contents = BlobCache(history.repository)
    read: dict[str, None] = {}
    modules: dict[str, None] = {}
    for _, entries in states:
        read |= {entries[path]: None for path in paths if path in entries}
        for path, blob in entries.items():
            if path.endswith(".py") and shipped(path):
                modules[blob] = None
    # Questions about missing definitions read every module.
    contents.keep([*read, *modules])
    for blob in modules:
        names.note(blob, contents[blob])
    for commit, entries in states:
        yield commit, Snapshot(entries=entries, contents=contents, names=names)
