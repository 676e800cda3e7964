"""Where packages come from: installed metadata and clones in, file, commit and digest of each package out."""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH100, PTH110, PTH118, PTH119, PTH120

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from npu_doctor import system
from npu_doctor.distributions import Distribution
from npu_doctor.model import Origin
from npu_doctor.packages import Located, Packages
from npu_summary import changes, provenance

_COMMIT = re.compile(r"(?:^|[^0-9a-z])g([0-9a-f]{7,40})(?:[^0-9a-z]|$)")
_HEX = re.compile(r"[0-9a-f]{40}")
_MOST_FILES = 20_000


def find(packages: Packages, package: str, distribution: str, *, hashed: bool) -> Origin | None:
    """Return where a package is imported from; None where it is not there.

    Args:
        packages: the path.
        package: its import name.
        distribution: the distribution it usually belongs to.
        hashed: whether to digest its files.
    """
    located = packages.locate(package)
    if located is None:
        return None
    owner = _owner(packages, package, distribution, located)
    commit, branch = _commit(owner, located)
    return Origin(
        package=package,
        distribution=owner.name if owner else "",
        version=owner.version if owner else "",
        file=located.file,
        kind=_kind(owner, located),
        commit=commit,
        branch=branch,
        sha256=digest(located) if hashed else "",
        made=_made(owner) if owner else "",
    )


def _made(owner: Distribution) -> str:
    """Return what a patched distribution says it was made of; empty for any other, and for one that is damaged."""
    content = system.content(os.path.join(owner.root, f"{owner.name.replace('-', '_')}_summary", "changes.json"))
    try:
        return provenance.made_of(changes.parse(content)) if content is not None else ""
    except changes.Unreadable:
        return ""


def digest(located: Located) -> str:
    """Return one digest over the Python files of a package, equal wherever the same files lie."""
    whole = hashlib.sha256()
    above = len(located.folder or os.path.dirname(located.file)) + 1
    for number, path in enumerate(_python_files(located)):
        if number == _MOST_FILES:
            return ""
        content = system.content(path)
        said = "unreadable" if content is None else hashlib.sha256(content).hexdigest()
        whole.update(f"{path[above:]}\0{said}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _python_files(located: Located) -> Iterator[str]:
    if not located.folder:
        yield located.file
        return
    for folder, inner, names in os.walk(located.folder):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))


def _owner(packages: Packages, package: str, distribution: str, located: Located) -> Distribution | None:
    """Return the distribution whose record names the file; without one, that of the usual name."""
    relative = os.path.relpath(located.file, located.entry).replace(os.sep, "/")
    named = packages.get(distribution or package)
    candidates = [one for one in packages.all if os.path.abspath(one.root) == os.path.abspath(located.entry)]
    owners = [one for one in candidates if relative in one.record]
    if named in owners or not owners:
        return named if distribution or named in candidates else None
    return owners[0]


def _kind(owner: Distribution | None, located: Located) -> str:
    if owner is None:
        return "path"
    if _source(owner) or clone(located.file):
        return "editable"
    if owner.root.endswith(".egg"):
        return "egg"
    if "vcs_info" in owner.direct_url:
        return "git"
    return "wheel" if os.path.abspath(owner.root) == os.path.abspath(located.entry) else "path"


def _source(owner: Distribution) -> str:
    """Return the folder of an editable install, from its PEP 610 record."""
    info = owner.direct_url.get("dir_info")
    url = owner.direct_url.get("url")
    if not isinstance(info, dict) or not info.get("editable") or not isinstance(url, str):
        return ""
    try:
        return unquote(urlsplit(url).path)
    except ValueError:
        return ""


def _commit(owner: Distribution | None, located: Located) -> tuple[str, str]:
    """Return commit and branch: of the clone the file lies in, of the PEP 610 record, or of the version."""
    repository = clone(located.file)
    if repository:
        return head(repository)
    if owner is None:
        return "", ""
    info = owner.direct_url.get("vcs_info")
    if isinstance(info, dict) and isinstance(info.get("commit_id"), str):
        return info["commit_id"], str(info.get("requested_revision") or "")
    found = _COMMIT.search(owner.version.replace("_", "."))
    return (found[1] if found else ""), ""


def clone(file: str) -> str:
    """Return the ``.git`` of the clone a file lies in, empty where it lies in none; installed files lie in none."""
    folder = os.path.dirname(os.path.abspath(file))
    while folder != os.path.dirname(folder) and os.path.basename(folder) not in ("site-packages", "dist-packages"):
        if os.path.exists(git := os.path.join(folder, ".git")):
            return git
        folder = os.path.dirname(folder)
    return ""


def head(git: str) -> tuple[str, str]:
    """Return commit and branch of a clone, read from its files: git may not be installed on a node."""
    pointer = system.text(git) or ""
    if pointer.startswith("gitdir:"):
        git = os.path.join(os.path.dirname(git), pointer.partition(":")[2].strip())
    said = (system.text(os.path.join(git, "HEAD")) or "").strip()
    if not said.startswith("ref:"):
        return (said, "") if _HEX.fullmatch(said) else ("", "")
    name = said.partition(":")[2].strip()
    common = (system.text(os.path.join(git, "commondir")) or "").strip()
    folders = [git, os.path.join(git, common)] if common else [git]
    commit = next((found for folder in folders if (found := _reference(folder, name))), "")
    return commit, name.removeprefix("refs/heads/")


def _reference(git: str, name: str) -> str:
    loose = (system.text(os.path.join(git, name)) or "").strip()
    if _HEX.fullmatch(loose):
        return loose
    packed = (system.text(os.path.join(git, "packed-refs")) or "").splitlines()
    return next((line[:40] for line in packed if line[41:] == name and _HEX.fullmatch(line[:40])), "")
