"""Local clones: a clone the user names → the pinned commit's files, or how the clone differs from it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays import git
from npu_overlays.errors import Problem, SourceError, listing
from npu_overlays.process import ProcessError
from npu_overlays.sources import cache as caching
from npu_overlays.sources import commits
from npu_overlays.sources.git_fetch import Route, headline
from npu_overlays.sources.pin import clone_variable

if TYPE_CHECKING:
    from npu_overlays.sources.cache import Progress
    from npu_overlays.sources.pin import Pin
    from npu_overlays.sources.tree import SourceTree


def acquire(pin: Pin, path: Path, *, cache: Path, progress: Progress, read: bool = True) -> SourceTree:
    """Return the pinned commit's files from the object database of the clone at `path`.

    Args:
        pin: the pinned commit.
        path: a clone whose work tree is the pinned commit, or a bare repository that holds it.
        cache: the cache folder.
        progress: called with a line about what is being waited for.
        read: whether what is shipped is read at once.

    Raises:
        SourceError: there is no repository, it lacks the commit, or its work tree differs.
    """
    top, bare = _repository(path.absolute(), pin.project)
    if not _holds(top, pin.commit):
        what = f"the repository at {top} does not hold {commits.where(pin)}"
        raise SourceError(
            Problem(where=str(path), what=what, fix=f"run `git -C {top} fetch {pin.repository} {pin.commit}`")
        )
    if not bare:
        _check_work_tree(pin, top, cache)
    # Version 2 gives out any commit; a partial clone may have to get blobs it lacks while it serves us.
    route = Route(urls=(str(top),), settings=("protocol.version=2",), env={"GIT_NO_LAZY_FETCH": "0"})
    return commits.acquire(pin, cache=cache, progress=progress, route=route, read=read)


def _repository(path: Path, project: str) -> tuple[Path, bool]:
    fix = f"name the folder of a git clone, by --upstream {project}=PATH or {clone_variable(project)}"
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "there is no such folder"
        raise SourceError(Problem(where=str(path), what=what, fix=fix))
    try:
        bare = _git(path, "rev-parse", "--is-bare-repository") == "true"
        top = _git(path, "rev-parse", *(["--absolute-git-dir"] if bare else ["--show-toplevel"]))
    except ProcessError as error:
        what = f"not a git repository: {headline(str(error))}"
        raise SourceError(Problem(where=str(path), what=what, fix=fix)) from error
    return Path(top), bare


def _holds(top: Path, commit: str) -> bool:
    try:
        _git(top, "cat-file", "-e", f"{commit}^{{commit}}")
    except ProcessError:
        return False
    return True


def _check_work_tree(pin: Pin, top: Path, cache: Path) -> None:
    try:
        head = _git(top, "rev-parse", "--verify", "HEAD")
    except ProcessError:
        head = "no commit"
    differing = _differing(pin, top, cache)
    if head == pin.commit and not differing:
        return
    what = f"HEAD is {head}, the pin is {pin.commit}"
    if differing:
        what += f"; files that differ from the pin: {listing(differing)}"
    new = top.with_name(f"{top.name}-{pin.short}")
    worktree = shlex.join(["git", "-C", str(top), "worktree", "add", "--detach", str(new), pin.commit])
    fix = (
        f"run `{worktree}`, which leaves this one alone, and name it: --upstream {pin.project}={shlex.quote(str(new))}"
    )
    raise SourceError(Problem(where=str(top), what=what, fix=fix))


def _differing(pin: Pin, top: Path, cache: Path) -> list[str]:
    # A fresh index: the user's own is not touched, and files it marks "assume unchanged" are looked at.
    packages = ("--", *pin.packages)
    with caching.using(cache), caching.workspace(cache) as work:
        index = {"GIT_INDEX_FILE": str(work / "index")}
        _git(top, "read-tree", pin.commit, env=index)
        changed = _git(
            top, "diff", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=none", *packages, env=index
        )
        new = _git(top, "ls-files", "--others", "--exclude-standard", "-z", *packages, env=index)
    return sorted({name for name in f"{changed}\0{new}".split("\0") if name})


def _git(path: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    output = git.configured(*arguments, cwd=path, settings=("core.sparseCheckout=false",), env=env)
    return output.decode(errors="replace").strip("\n")
