"""Ledger: a hand-written ``patch_summary.yaml`` → the changes it lists, each with its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.utils import canonicalize_name
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import Node

from npu_overlays.errors import ConfigError, Problem

_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, kw_only=True)
class ListedChange:
    """One change that is listed."""

    symbol: str  # qualified name, ``Class.method``
    # As they are listed: ``class`` for one of ``class_changes``; empty where they are left out.
    kind: str
    action: str
    line: int  # of the file
    groups: bool = False  # whether it is a class under which others are listed


@dataclass(frozen=True, kw_only=True)
class ListedFile:
    """A patch that is listed: its name, and its changes."""

    name: str
    line: int
    entries: tuple[ListedChange, ...]


@dataclass(frozen=True, kw_only=True)
class ListedVersion:
    """A state of a project that is listed: the commit, the folder of its patches, and these."""

    repo: str
    revision: str
    folder: str
    line: int
    files: tuple[ListedFile, ...]


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """A summary, as it was written by hand."""

    file: Path
    versions: tuple[ListedVersion, ...]  # the states of projects
    current: tuple[tuple[str, str, int], ...]  # the state that the summary says each project is at, with the line

    def version(self, repo: str, folder: str) -> ListedVersion | None:
        """Return a folder's entries, from all places that list it; None if it is not listed."""
        found: ListedVersion | None = None
        for one in self.versions:
            if (one.repo, one.folder) == (repo, folder):
                found = replace(found, files=(*found.files, *one.files)) if found else one
        return found


def read_ledger(file: Path) -> Ledger:
    """Read a summary; raises `ConfigError` with every place that is not as its schema wants it."""
    try:
        # Not more than its nodes: a commit must not be taken for a number.
        root = YAML(typ="safe", pure=True).compose(file.read_text("utf-8"))
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise ConfigError(Problem(where=str(file), what=what, fix="name a patch_summary.yaml")) from error
    except (YAMLError, UnicodeDecodeError, RecursionError) as error:
        what = f"is no YAML: {' '.join(str(error).split())}"
        raise ConfigError(Problem(where=str(file), what=what, fix="mend it there")) from error
    reader = _Reader(file)
    found = reader.ledger(root)
    if reader.problems:
        raise ConfigError(reader.problems)
    return found


class _Reader:
    """Reads nodes, and notes what is not as the schema wants it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.problems: list[Problem] = []

    def ledger(self, root: Node | None) -> Ledger:
        versions: list[ListedVersion] = []
        current: list[tuple[str, str, int]] = []
        repos = self._items(root, "patches", required=True) if root else []
        if root is None:
            self.problems.append(Problem(where=str(self._file), what="is empty", fix="it begins with patches:"))
        for repo in repos:
            name = canonicalize_name(self._text(repo, "repo"))
            if said := self._text(repo, "current_rev", required=False):
                current.append((name, said, _line(self._values(repo)["current_rev"])))
            versions += [self._version(name, one) for one in self._items(repo, "versions", required=True)]
        return Ledger(file=self._file, versions=tuple(versions), current=tuple(current))

    def _version(self, repo: str, node: Node) -> ListedVersion:
        return ListedVersion(
            repo=repo,
            revision=self._text(node, "rev"),
            folder=self._text(node, "dir").rstrip("/"),
            line=_line(node),
            files=tuple(self._listed(one) for one in self._items(node, "files", required=True)),
        )

    def _listed(self, node: Node) -> ListedFile:
        entries: list[ListedChange] = []
        diff = self._values(node).get("diff")
        if diff is not None and not _is_empty(diff):
            for one in self._items(diff, "class_changes"):
                entries += self._class(one)
            entries += [self._entry(one, "") for one in self._items(diff, "module_changes")]
        return ListedFile(name=self._text(node, "name"), line=_line(node), entries=tuple(entries))

    def _class(self, node: Node) -> Iterator[ListedChange]:
        name = self._text(node, "name")
        members = self._items(node, "changes")
        action = self._text(node, "action", required=False)
        yield ListedChange(symbol=name, kind="class", action=action, line=_line(node), groups=bool(members))
        for one in members:
            yield self._entry(one, f"{name}.")

    def _entry(self, node: Node, owner: str) -> ListedChange:
        return ListedChange(
            symbol=owner + self._text(node, "name"),
            kind=self._text(node, "kind", required=False),
            action=self._text(node, "action", required=False),
            line=_line(node),
        )

    def _values(self, node: Node) -> dict[str, Node]:
        """Return the entries of a mapping; notes a node that is no mapping, and keys that have no place there."""
        found: dict[str, Node] = {}
        if _kind(node) != "mapping":
            self._wrong(node, "must be keys with values")
            return found
        for key, value in node.value:
            if str(key.tag) == _MERGE:
                self._wrong(key, "takes over another mapping by `<<`; write its keys here")
            elif str(key.value) in found:
                self._wrong(key, f"says `{key.value}` twice")
            found[str(key.value)] = value
        return found

    def _items(self, node: Node, key: str, *, required: bool = False) -> list[Node]:
        value = self._values(node).get(key)
        if value is None or (_is_empty(value) and not required):
            if required and _kind(node) == "mapping":
                self._wrong(node, f"has no `{key}`")
            return []
        if _kind(value) != "sequence":
            self._wrong(value, f"`{key}` must be a list")
            return []
        return list(value.value)

    def _text(self, node: Node, key: str, *, required: bool = True) -> str:
        value = self._values(node).get(key)
        if value is not None and _kind(value) == "scalar" and (value.value or not required):
            return str(value.value)
        if value is not None or (required and _kind(node) == "mapping"):
            self._wrong(value or node, f"`{key}` must be a text" if value is not None else f"has no `{key}`")
        return ""

    def _wrong(self, node: Node, what: str) -> None:
        problem = Problem(where=f"{self._file}:{_line(node)}", what=what, fix="see the schema of patch_summary.yaml")
        if problem not in self.problems:
            self.problems.append(problem)


def _kind(node: Node) -> str:
    """Return ``mapping``, ``sequence`` or ``scalar``, which the common class of nodes does not declare."""
    return str(getattr(node, "id", ""))


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _is_empty(node: Node) -> bool:
    """Return whether nothing stands behind a key, or an empty list or mapping."""
    return not node.value or (_kind(node) == "scalar" and node.value in ("~", "null"))
