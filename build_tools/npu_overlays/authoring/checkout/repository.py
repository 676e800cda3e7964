"""Repository: a series of commits → a git repository that holds it, upstream's own commit below it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from npu_overlays import git
from npu_overlays.authoring.checkout.commit_series import OverlayCommit
from npu_overlays.errors import OutputError, Problem
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.process import ProcessError
from npu_overlays.sources.acquisition import kept_commit

BRANCH = "overlay"
UPSTREAM = "upstream"
_IMPORTED = "refs/npu-overlays/imported"
# The date of a release whose commit is not known: the first that a wheel's archive can hold.
_RELEASED = 315532800
# Exactly the committed bytes reach the work tree; attributes and settings have no effect.
_ATTRIBUTES = "* -text -ident -filter -working-tree-encoding\n"
# What tools write on the way belongs to no overlay, even where upstream's .gitignore does not name it.
_EXCLUDED = (
    *("__pycache__/", "*.pyc", ".ruff_cache/", ".mypy_cache/", ".pytest_cache/", ".hypothesis/"),
    *(".DS_Store", "._*", "Thumbs.db", "desktop.ini", ".directory", ".*.sw[a-px]", ".#*", ".~lock.*#"),
)
_LOCAL = {"core.autocrlf": "false", "core.fileMode": "true", "core.symlinks": "true", "core.safecrlf": "false"}


class Repository:
    """A repository with a work tree, unaffected by the user's git configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> bytes:
        """Run git there and return its standard output; raises `OutputError` if it fails."""
        try:
            return git.alone(*arguments, cwd=self.folder, stdin=stdin, env=env)
        except ProcessError as error:
            what = f"git {arguments[0]} failed: {error.output}"
            raise OutputError(
                Problem(where=str(self.folder), what=what, fix="correct what git names, and run this again")
            ) from error

    def line(self, *arguments: str) -> str:
        """Run git there and return the one line it prints."""
        return self.git(*arguments).decode().strip()

    def files(self, *options: str) -> frozenset[str]:
        """Return the files and links of the work tree that `git ls-files` lists with these options."""
        raw = self.git("ls-files", "-z", *options)
        found: set[str] = set()
        for name in raw.decode("utf-8", "surrogateescape").split("\0"):
            path = self.folder / name
            if name and (path.is_symlink() or path.is_file()):
                found.add(name)
        return frozenset(found)

    def present(self) -> frozenset[str]:
        """Return the files of the work tree that git has, or would add; none of a repository inside it."""
        return self.files("--cached", "--others", "--exclude-standard")

    def left_out(self) -> Mapping[str, tuple[str, str]]:
        """Return the mode and the blob of each file that a sparse checkout leaves out."""
        listed = self.git("ls-files", "-z", "-t", "--stage").decode("utf-8", "surrogateescape").split("\0")
        found: dict[str, tuple[str, str]] = {}
        for entry in listed:
            head, _, path = entry.partition("\t")
            if head.startswith("S ") and not (self.folder / path).exists():
                _, mode, blob, _ = head.split()
                found[path] = (mode, blob)
        return found

    def holders(self, branch: str) -> Iterator[str]:
        """Yield the folders of other work trees of the repository that have a branch checked out."""
        _, *others = self.git("worktree", "list", "--porcelain").decode("utf-8", "surrogateescape").split("\n\n")
        for entry in others:
            lines = entry.splitlines()
            if f"branch refs/heads/{branch}" in lines and not any(line.startswith("prunable") for line in lines):
                yield lines[0].removeprefix("worktree ")

    def nested(self) -> list[str]:
        """Return the folders of the work tree, with a slash behind them, that are repositories of their own."""
        listed = self.git("ls-files", "-z", "--others", "--exclude-standard").decode("utf-8", "surrogateescape")
        return [name for name in listed.split("\0") if name.endswith("/")]

    def keep(self, ref: str) -> None:
        """Keep the work tree as it is as a commit on top of the current one, and touch neither it nor the index."""
        listed = "\0".join((*sorted(self.present()), ""))
        absent = "".join(f"{mode} {blob}\t{name}\0" for name, (mode, blob) in self.left_out().items())
        with tempfile.TemporaryDirectory(prefix="npu-overlays-index-") as place:
            own = {"GIT_INDEX_FILE": str(Path(place) / "index")}
            for options, names in (("--add", "-z", "--stdin"), listed), (("-z", "--index-info"), absent):
                self.git("update-index", *options, stdin=names.encode("utf-8", "surrogateescape"), env=own)
            tree = self.git("write-tree", env=own).decode().strip()
        person = ("-c", "user.name=refresh", "-c", "user.email=refresh")
        self.git("update-ref", ref, self.line(*person, "commit-tree", tree, "-p", "HEAD", "-m", "edited"))

    def go_to(self, head: str) -> None:
        """Make a commit the last of the overlay's branch, and the work tree what it holds."""
        self.git("symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
        self.git("update-ref", f"refs/heads/{BRANCH}", head)
        self.git("read-tree", "--empty")  # with the entries there for single files
        self.git("reset", "--quiet", "--hard", head)

    def start(self, subject: AppliedInput) -> str:
        """Make the repository in the folder, with upstream in it, and return upstream's commit."""
        self.git("init", "--quiet", "--template=", f"--initial-branch={BRANCH}")
        for name, value in _LOCAL.items():
            self.git("config", name, value)
        info = self.folder / ".git" / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text(_ATTRIBUTES, "utf-8")
        (info / "exclude").write_text("\n".join((*_EXCLUDED, "")), "utf-8")
        base = self._copy_commit(subject) if subject.tree.source.kind == "git" else self._commit_release(subject)
        self.git("update-ref", f"refs/tags/{UPSTREAM}", base)
        return base

    def commit(self, subject: AppliedInput, base: str, commits: Sequence[OverlayCommit]) -> str:
        """Add commits on top of `base`, and return the last, or `base` without any."""
        if not commits:
            return base
        who = _identity(subject, int(self.line("show", "--no-patch", "--format=%ct", base)))
        stream: list[bytes] = []
        parent = base
        for one in commits:
            changes = [(path, content, path in one.executable) for path, content in sorted(one.changes.items())]
            stream.append(_for_import(who, one.message, parent, changes))
            # Fast-import continues from the commit before.
            parent = ""
        return self._import(b"".join(stream))

    def _copy_commit(self, subject: AppliedInput) -> str:
        """Copy the objects of the cache's repository, so that upstream's commit has its own id here."""
        commit = subject.tree.source.commit
        kept = kept_commit(commit)
        shutil.copytree(kept / "objects", self.folder / ".git" / "objects", dirs_exist_ok=True)
        if (kept / "shallow").is_file():
            shutil.copyfile(kept / "shallow", self.folder / ".git" / "shallow")
        return commit

    def _commit_release(self, subject: AppliedInput) -> str:
        """Commit the files of a release archive."""
        source, pin = subject.tree.source, subject.content.overlay.pin
        text = f"{pin.project}, as released\n\nRelease-Archive: {source.archive}\nRelease-Sha256: {source.sha256}\n"
        files = [(path, subject.tree.read(path), entry.executable) for path, entry in subject.tree.entries.items()]
        return self._import(_for_import(_identity(subject, _RELEASED), text, "", files))

    def _import(self, stream: bytes) -> str:
        self.git("fast-import", "--quiet", "--force", stdin=stream)
        made = self.line("rev-parse", _IMPORTED)
        self.git("update-ref", "-d", _IMPORTED)
        return made


def _identity(subject: AppliedInput, seconds: int) -> bytes:
    """Return the author and date of commits, from the pin alone: equal overlays give equal commits.

    `seconds` is the date, counted from 1970.
    """
    overlay = subject.content.overlay
    return f"{overlay.distribution} <{overlay.name}> {seconds} +0000".encode()


def _for_import(who: bytes, message: str, parent: str, changes: Iterable[tuple[str, bytes | None, bool]]) -> bytes:
    """Return a commit for git's fast-import; a change is a path, its content, and whether it is executable."""
    text = message.encode()
    head = [f"commit {_IMPORTED}".encode(), b"author " + who, b"committer " + who]
    parts = [b"\n".join(head), b"data %d\n%s" % (len(text), text)]
    parts += [b"from " + parent.encode()] if parent else []
    for path, content, executable in changes:
        name = b'"' + path.encode("utf-8", "surrogateescape").replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
        if content is None:
            parts.append(b"D " + name)
        else:
            parts.append(b"M %s inline %s" % (b"100755" if executable else b"100644", name))
            parts.append(b"data %d\n%s" % (len(content), content))
    return b"\n".join([*parts, b"", b""])
