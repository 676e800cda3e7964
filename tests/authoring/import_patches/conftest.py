"""A team's folder of patches for an upstream that is made here."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from end_to_end.sample import CORE, LIB_METADATA
from support.environment import Done, Environment
from support.upstreams import METADATA, Upstream, make_upstream

REPEATED = b"".join(b"- item\n  size: 1\n" for _ in range(6))
FILES: dict[str, bytes] = {
    METADATA: LIB_METADATA.encode(),
    "LICENSE": b"Free for all.\n",
    "src/lib/__init__.py": b"from lib.core import Engine\n",
    "src/lib/core.py": CORE,
    "src/lib/crlf.yaml": b"a: 1\r\nb: 1\r\n",
    "src/lib/items.yaml": REPEATED,
    "src/lib/keys.yaml": "- c\n\né\n\né\nb: 2\na: 1\r\n".encode(),
    "src/lib/notes.txt": b"one\ntwo\nthree",
    "src/lib/old.py": b"def old():\n    return 1\n",
    "src/lib/run.sh": b"#!/bin/sh\necho run\n",
    "src/lib/table.bin": bytes(range(256)),
    "tests/test_core.py": b"def test(): ...\n",
}


@dataclass(frozen=True)
class Team:
    """A team with its folder of patches.

    Args:
        environment: in which commands run.
        upstream: what is patched.
        commit: of that.
    """

    environment: Environment
    upstream: Upstream
    commit: str

    @property
    def folder(self) -> Path:
        """The folder of patches."""
        return self.environment.folder / "plugin" / "patch"

    @property
    def overlays(self) -> Path:
        """The folder of overlays."""
        return self.environment.folder / "overlays"

    def put(self, name: str, content: bytes, *, place: str = "") -> Path:
        """Put a patch among those of the commit, or of another place."""
        file = self.folder / (place or f"lib/{self.commit[:9]}") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def diff(self, after: Mapping[str, bytes | None], *options: str, executable: tuple[str, ...] = ()) -> bytes:
        """Return what git says of a work tree in which files are otherwise, which it then is no more."""
        folder = self.upstream.path
        for path, content in after.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
            if content is not None:
                file.write_bytes(content)
                file.chmod(0o755 if path in executable or path.endswith(".sh") else 0o644)
        self.upstream.git("add", "--all", "--force")
        command = ["git", "diff", "--cached", *options]
        made = subprocess.run(command, cwd=folder, env=self.environment.variables(), capture_output=True, check=True)
        self.upstream.git("reset", "--quiet", "--hard")
        return made.stdout

    def edit(self, path: str, old: str, new: str, name: str, header: str = "") -> Path:
        """Put a patch that changes one text."""
        before = FILES[path].decode()
        assert before.count(old) == 1, old
        return self.put(name, header.encode() + self.diff({path: before.replace(old, new).encode()}))

    def run(self, *arguments: str | Path) -> Done:
        """Import the patches."""
        own = ("--suffix", "npu", "--repository", self.upstream.url, "--overlays", self.overlays)
        return self.environment.cli("import-patches", self.folder.parent, *own, *arguments)

    def imported(self, *arguments: str | Path, code: int = 0, why: str = "As the plugin did.") -> dict[str, Any]:
        """Import the patches and return the report."""
        self.overlays.mkdir(exist_ok=True)
        done = self.run(*arguments, "--json", *(("--why", why) if why else ()))
        assert done.code == code, done.out + done.err
        assert done.err == ""
        report: dict[str, Any] = done.json()
        return report

    def refused(self, *arguments: str | Path, code: int, why: str = "w") -> str:
        """Return what is said of an import that is refused; nothing must be left of it."""
        self.overlays.mkdir(exist_ok=True)
        before = sorted(self.overlays.rglob("*"))
        done = self.run(*arguments, *(("--why", why) if why else ()))
        assert done.code == code, done.out + done.err
        assert sorted(self.overlays.rglob("*")) == before
        assert "Traceback" not in done.err
        assert done.out == ""
        return " ".join(done.err.split())

    def expected(self) -> dict[str, tuple[bytes, bool]]:
        """Return upstream's shipped files, with their modes, as git leaves them when it applies the patches."""
        folder = self.environment.folder / "reference"
        self.environment.succeed("git", "clone", "--quiet", self.upstream.path, folder)
        for file in sorted(self.folder.glob("lib/*/*.patch")):
            content = file.read_bytes()
            whole = content if content.endswith(b"\n") else content + b"\n"
            subprocess.run(["git", "apply", "-"], cwd=folder, input=whole, check=True, env=self.environment.variables())
        return files(folder)

    def given(self, overlay: str, place: Path) -> dict[str, tuple[bytes, bool]]:
        """Lock and check an overlay, and return the shipped files, with their modes, that it gives."""
        self.environment.ok("lock", overlay, "--overlays", self.overlays)
        self.environment.ok("check", overlay, "--overlays", self.overlays)
        self.environment.ok("checkout", overlay, place, "--overlays", self.overlays)
        return files(place)


def files(folder: Path) -> dict[str, tuple[bytes, bool]]:
    """Return the shipped files below a folder, with whether each is executable."""
    found = (path for path in sorted((folder / "src").rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for path in found}


@pytest.fixture
def team(environment: Environment) -> Team:
    """Return a team without patches."""
    upstream, commit = make_upstream(environment.folder / "upstream", environment, FILES)
    upstream.git("tag", "v1.2.3")
    return Team(environment=environment, upstream=upstream, commit=commit)
