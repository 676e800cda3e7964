"""Origins: a package → where it would be imported from, with distribution, commit and digest.

A git clone is read from its files: git may not be installed on a node.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePath

from packaging.utils import canonicalize_name

from npu_doctor import files
from npu_doctor.distributions import InstalledDistribution
from npu_doctor.model import Origin
from npu_doctor.packages import Located, Packages
from npu_summary import changes, provenance

_COMMIT = re.compile(r"(?:^|[^0-9a-z])g([0-9a-f]{7,40})(?:[^0-9a-z]|$)")
_MOST_FILES = 20_000

_HEX = re.compile(r"[0-9a-f]{40}")
_INSTALLED = ("site-packages", "dist-packages")


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
        made=_made_of(owner) if owner else "",
    )


def _made_of(owner: InstalledDistribution) -> str:
    """Return what a patched distribution says it was made of; empty for any other, and for one that is damaged."""
    content = files.content(f"{owner.root}/{owner.name.replace('-', '_')}_summary/changes.json")
    try:
        return provenance.made_of(changes.parse(content)) if content is not None else ""
    except changes.Unreadable:
        return ""


def digest(located: Located) -> str:
    """Return one digest over the Python files of a package, equal wherever the same files lie."""
    whole = hashlib.sha256()
    above = len(located.folder or located.file.rpartition("/")[0]) + 1
    paths = files.python_files(located.folder, most=_MOST_FILES + 1) if located.folder else [located.file]
    for number, path in enumerate(paths):
        if number == _MOST_FILES:
            return ""
        content = files.content(path)
        said = "unreadable" if content is None else hashlib.sha256(content).hexdigest()
        whole.update(f"{path[above:]}\0{said}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _owner(packages: Packages, package: str, distribution: str, located: Located) -> InstalledDistribution | None:
    """Return the distribution that a file belongs to; None for a copy that no installed one has put there.

    It is one whose record names the file, else that of the usual name if it lies beside the file or is editable there.
    """
    relative = located.file.removeprefix(f"{located.entry}/")
    name = canonicalize_name(distribution or package)
    beside = [one for one in packages.all if files.absolute(one.root) == files.absolute(located.entry)]
    owners = [one for one in beside if relative in one.record]
    named = [one for one in packages.all if one.name == name and (one in beside or _is_of(one, located))]
    return next((one for one in named if one in owners), None) or next(iter(owners or named), None)


def _is_of(one: InstalledDistribution, located: Located) -> bool:
    """Return whether a file lies in the folder that a distribution is installed from as editable."""
    folder = one.found.editable
    return bool(folder) and files.real(located.file).startswith(f"{files.real(folder)}/")


def _kind(owner: InstalledDistribution | None, located: Located) -> str:
    if owner is None:
        return "path"
    if owner.found.editable or clone_of(located.file):
        return "editable"
    if owner.root.endswith(".egg"):
        return "egg"
    if "vcs_info" in owner.direct_url:
        return "git"
    return "wheel" if files.absolute(owner.root) == files.absolute(located.entry) else "path"


def _commit(owner: InstalledDistribution | None, located: Located) -> tuple[str, str]:
    """Return commit and branch: of the clone the file lies in, of the PEP 610 record, or of the version."""
    repository = clone_of(located.file)
    if repository:
        return head(repository)
    if owner is None:
        return "", ""
    info = owner.direct_url.get("vcs_info")
    if isinstance(info, dict) and isinstance(info.get("commit_id"), str):
        return info["commit_id"], str(info.get("requested_revision") or "")
    found = _COMMIT.search(owner.version.replace("_", "."))
    return (found[1] if found else ""), ""


def clone_of(file: str) -> str:
    """Return the ``.git`` of the clone a file lies in, empty where it lies in none; installed files lie in none."""
    for folder in PurePath(files.absolute(file)).parents[:-1]:
        if folder.name in _INSTALLED:
            return ""
        if files.exists(git := f"{folder}/.git"):
            return git
    return ""


def head(git: str) -> tuple[str, str]:
    """Return commit and branch of a clone."""
    pointer = files.text(git) or ""
    if pointer.startswith("gitdir:"):
        git = str(PurePath(git).parent / pointer.partition(":")[2].strip())
    written = (files.text(f"{git}/HEAD") or "").strip()
    if not written.startswith("ref:"):
        return (written, "") if _HEX.fullmatch(written) else ("", "")
    name = written.partition(":")[2].strip()
    common = (files.text(f"{git}/commondir") or "").strip()
    folders = [git, str(PurePath(git, common))] if common else [git]
    commit = next((found for folder in folders if (found := _reference(folder, name))), "")
    return commit, name.removeprefix("refs/heads/")


def _reference(git: str, name: str) -> str:
    """Return the commit a reference stands for, loose or packed; empty where it is not there."""
    loose = (files.text(f"{git}/{name}") or "").strip()
    if _HEX.fullmatch(loose):
        return loose
    packed = (files.text(f"{git}/packed-refs") or "").splitlines()
    return next((line[:40] for line in packed if line[41:] == name and _HEX.fullmatch(line[:40])), "")
