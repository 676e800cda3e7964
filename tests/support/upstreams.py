"""Made-up upstream repositories: real git, with a build backend of their own that needs nothing installed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.environment import Environment

_BACKEND = b"""\
import pathlib


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    here = pathlib.Path(__file__).parent
    info = pathlib.Path(metadata_directory, "upstream-0.dist-info")
    info.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        if (here / name).is_file():
            (info / name).write_bytes((here / name).read_bytes())
    return info.name
"""
_BUILD_SYSTEM = b'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["packaging"]\n'
# Upstream's own backend: what it says of itself lies beside it, so that asking it needs no index.
BACKEND_FILES = {"pyproject.toml": _BUILD_SYSTEM, "packaging/backend.py": _BACKEND}
METADATA = "packaging/METADATA"
ENTRY_POINTS = "packaging/entry_points.txt"


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """A repository with a work tree.

    Args:
        path: of the work tree.
        variables: returns the environment git runs in, as it is at that moment.
    """

    path: Path
    variables: Callable[[], Mapping[str, str]]

    @property
    def url(self) -> str:
        """The URL it is served under."""
        return self.path.as_uri()

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run git in it."""
        command = ["git", *arguments]
        done = subprocess.run(
            command, cwd=self.path, env=self.variables(), input=stdin, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def commit(self, files: Mapping[str, bytes]) -> str:
        """Write and commit files, exactly as given, and return the commit."""
        for path, content in files.items():
            (self.path / path).parent.mkdir(parents=True, exist_ok=True)
            (self.path / path).write_bytes(content)
            if path.endswith(".sh"):
                (self.path / path).chmod(0o755)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change")
        return self.git("rev-parse", "HEAD")

    def commit_tree(self, raw: bytes) -> str:
        """Commit a tree object given as raw bytes, which git itself would not make, and return the commit."""
        tree = self.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", stdin=raw)
        made = self.git("commit-tree", tree, "-m", "raw")
        self.git("update-ref", "refs/heads/raw", made)
        return made


def make_repository(path: Path, variables: Callable[[], Mapping[str, str]]) -> Upstream:
    """Make an empty repository and return it."""
    path.mkdir(parents=True)
    made = Upstream(path=path, variables=variables)
    made.git("init", "--quiet", "--initial-branch=main")
    return made


def make_upstream(path: Path, environment: Environment, files: Mapping[str, bytes]) -> tuple[Upstream, str]:
    """Make a repository that holds `files` and return it with its first commit.

    Where `files` name no build system, a backend is added that answers with ``packaging/METADATA``.
    """
    made = make_repository(path, environment.variables)
    own = {} if "pyproject.toml" in files else BACKEND_FILES
    return made, made.commit({**own, **files})
