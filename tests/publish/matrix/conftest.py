"""A repository of overlays with a history, as CI checks one out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from npu_overlays.contracts.lockfile import Lock, write_lock
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.publish.affected_overlays import affected_overlays
from npu_overlays.publish.ci_matrix import load_overlay_folder
from npu_overlays.publish.work_tree_changes import change_since
from support.environment import Environment
from support.overlays import write_layer, write_overlay, write_stack

APP, LIB, OTHER, ALONE = "app@1111111", "lib@2222222", "lib@3333333", "thing@4444444"
EVERY = {APP, LIB, OTHER, ALONE}


@dataclass(frozen=True, kw_only=True)
class OverlayRepository:
    """A work tree with overlays of two projects on layers, one of a third without, and two stacks."""

    environment: Environment

    @property
    def folder(self) -> Path:
        """The top of the work tree."""
        return self.environment.folder / "repository"

    def git(self, *arguments: str) -> str:
        """Run git there and return what it prints."""
        return self.environment.succeed("git", *arguments, cwd=self.folder).out.strip()

    def write(self, path: str, text: str = "changed\n") -> None:
        """Write a file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def commit(self) -> str:
        """Commit all that there is; return the id."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change")
        return self.git("rev-parse", "HEAD")

    def touched(self, revision: str = "HEAD") -> set[str]:
        """Return the overlays that are touched by what is otherwise than there."""
        return affected_overlays(load_overlay_folder(self.folder / "overlays"), change_since(revision, self.folder))


@pytest.fixture
def repository(environment: Environment) -> OverlayRepository:
    """Return the repository with one commit on ``main``."""
    found = OverlayRepository(environment=environment)
    root = found.folder / "overlays"
    for name, requires in {APP: ("lib[fast]>=1", "other"), LIB: (), OTHER: (), ALONE: ()}.items():
        project, _, short = name.partition("@")
        commit = short.ljust(40, "0")
        folder = write_overlay(
            root,
            project=project,
            commit=commit,
            repository="https://example.invalid/upstream",
            packages=[project],
            files={"README.md": b"# Read me\n", "tree/thing/notes.md": b"shipped\n"},
        )
        metadata = UpstreamMetadata(version="1.0", requires=requires, fields={}, scripts={})
        write_lock(folder, Lock(commit=commit, metadata=metadata))
    for project in ("app", "lib"):
        write_layer(root / project, project=project, files={"tree/thing/shared.py": b"", "README.md": b""})
    write_stack(found.folder / "stacks", "pair", overlays=[LIB, APP], default=True)
    write_stack(found.folder / "stacks", "rest", overlays=[OTHER])
    for path in ("Makefile", "README.md", "docs/page.md", "stacks/README.md", "stacks/knowledge/settings.json"):
        found.write(path, "{}\n")
    found.git("init", "--quiet", "--initial-branch=main")
    found.commit()
    return found
