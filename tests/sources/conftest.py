"""Upstream repositories and release archives made on the spot, and a clean environment for git and pip."""

from __future__ import annotations

import hashlib
import os
import subprocess
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from npu_overlays.sources.pin import Archive, Pin
from support.environment import IDENTITY
from support.upstreams import Upstream, make_repository

if TYPE_CHECKING:
    from pathlib import Path


METADATA = "Metadata-Version: 2.1\nName: demo\n"
FILES = {"pkg/__init__.py": b"", "pkg/run.py": b"print(1)\n", "pkg/data.bin": bytes(range(256)), "LICENSE": b"free\n"}


@dataclass(frozen=True, kw_only=True)
class ProgressLog:
    """Collects what the progress callback is told."""

    lines: list[str] = field(default_factory=list)

    def __call__(self, message: str) -> None:
        """Keep one message."""
        self.lines.append(message)

    def __str__(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture(autouse=True)
def _clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Give git and pip no configuration but the test's own, unless the test is about the user's."""
    if request.node.get_closest_marker("upstream") or request.node.get_closest_marker("index"):
        return
    for name in [*os.environ]:
        if name.startswith(("PIP_", "GIT_")) or name.endswith("_PATH") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    (tmp_path / "gitconfig").write_text("[init]\n\tdefaultBranch = main\n")
    (tmp_path / "index").mkdir()
    for name, value in (
        ("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig")),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("PIP_CONFIG_FILE", os.devnull),
        ("PIP_NO_INDEX", "1"),
        ("PIP_FIND_LINKS", str(tmp_path / "index")),
        ("PIP_NO_CACHE_DIR", "1"),
    ):
        monkeypatch.setenv(name, value)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return a cache folder that does not exist yet."""
    return tmp_path / "cache"


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    """Return an empty upstream repository."""
    return make_upstream(tmp_path / "upstream")


def make_upstream(path: Path) -> Upstream:
    """Make an empty repository at `path`."""
    return make_repository(path, lambda: {**os.environ, **IDENTITY})


def pin(upstream: Upstream, commit: str, **changes: object) -> Pin:
    """Return a pin of `commit`, with other fields as given."""
    fields = {"project": "demo", "repository": upstream.url, "commit": commit, "packages": ("pkg",), **changes}
    return Pin(**fields)  # type: ignore[arg-type]


def configure(tmp_path: Path, *arguments: str) -> None:
    """Set something in the user's git configuration."""
    command = ["git", "config", "--file", str(tmp_path / "gitconfig"), *arguments]
    subprocess.run(command, check=True)


def serve(tmp_path: Path, name: str, version: str = "1.0") -> Archive:
    """Return the pin of an archive that lies in the index folder."""
    digest = hashlib.sha256((tmp_path / "index" / name).read_bytes()).hexdigest()
    return Archive(distribution="demo", version=version, file=name, sha256=digest)


def make_wheel(tmp_path: Path, files: dict[str, bytes], version: str = "1.0") -> Archive:
    """Put a wheel into the index folder and return its pin."""
    name = f"demo-{version}-py3-none-any.whl"
    info = f"demo-{version}.dist-info"
    own = {
        f"{info}/METADATA": f"{METADATA}Version: {version}\nRequires-Python: >=3.99\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(tmp_path / "index" / name, "w") as archive:
        for path, content in {**files, **own}.items():
            member = zipfile.ZipInfo(path)
            member.external_attr = (0o100755 if path.endswith(".sh") else 0o100644) << 16
            archive.writestr(member, content)
    return serve(tmp_path, name, version)
