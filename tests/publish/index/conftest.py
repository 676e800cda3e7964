"""A bench to write indexes at: small wheels, and the command."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.environment import Done, Environment
from support.wheels import write_wheel


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A folder of wheels, and an index made of it.

    Args:
        environment: in which the command runs.
    """

    environment: Environment

    @property
    def wheels(self) -> Path:
        """Where wheels lie."""
        return self.environment.folder / "wheels"

    @property
    def out(self) -> Path:
        """The index."""
        return self.environment.folder / "site"

    def wheel(self, name: str, version: str = "1.0", *, metadata: str = "", content: bytes = b"") -> Path:
        """Write a wheel."""
        return write_wheel(self.wheels, name, version, {f"{name}.py": content}, metadata=metadata)

    def sdist(self, name: str, version: str = "1.0", *, metadata: str = "") -> Path:
        """Write an sdist."""
        file = self.wheels / f"{name}-{version}.tar.gz"
        file.parent.mkdir(exist_ok=True)
        content = f"Metadata-Version: 2.2\nName: {name}\nVersion: {version}\n{metadata}".encode()
        with tarfile.open(file, "w:gz") as archive:
            member = tarfile.TarInfo(f"{name}-{version}/PKG-INFO")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        return file

    def index(self, *arguments: str | Path) -> Done:
        """Run the command on the folder of wheels."""
        return self.environment.cli("index", *(arguments or (self.wheels,)), "--out", self.out)

    def indexed(self, *arguments: str | Path) -> Any:
        """Run the command and return what it did."""
        done = self.index(*(arguments or (self.wheels,)), "--json")
        assert done.code == 0, done.err
        return done.json()

    def files(self) -> dict[str, bytes]:
        """Return every file of the index but the lock."""
        found = {path.relative_to(self.out).as_posix(): path for path in self.out.rglob("*") if path.is_file()}
        return {name: path.read_bytes() for name, path in found.items() if not name.endswith(".lock")}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return an empty one."""
    return Shop(environment=Environment(folder=tmp_path))
