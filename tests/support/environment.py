"""A clean environment for real subprocesses: no configuration of the machine's, everything below one folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import forks

# Who commits, and when: always the same, so that commits are.
IDENTITY = {
    "GIT_AUTHOR_NAME": "Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.invalid",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.invalid",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
}
_FOREIGN = ("PIP_", "UV_", "GIT_", "NPU_OVERLAYS_", "PYTHON", "HATCH_", "COV_CORE", "SOURCE_DATE_EPOCH", "NO_COLOR")


@dataclass(frozen=True, kw_only=True)
class Done:
    """A finished subprocess."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return standard output as JSON; standard error must then be empty of tracebacks."""
        return json.loads(self.out)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Runs commands in a folder with git, pip and npu-overlays configured for that folder alone."""

    folder: Path
    index: Path | None = None
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        """The source cache."""
        return Path(self.variables()["NPU_OVERLAYS_CACHE"])

    def variables(self, **more: str | None) -> dict[str, str]:
        """Return the environment variables; a None takes one away."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(_FOREIGN) and not name.endswith("_PATH") and not name.lower().endswith("_proxy")
        }
        config = self.folder / "gitconfig"
        config.touch()
        links = self.index or self.folder / "index"
        own: dict[str, str | None] = {
            **IDENTITY,
            "GIT_CONFIG_GLOBAL": str(config),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_FIND_LINKS": str(links),
            "PIP_NO_INDEX": "1",
            # A cache of the user's may hold answers of an index, and uv links files to it, which tests damage.
            "UV_CACHE_DIR": str(self.folder / "cache-uv"),
            "UV_FIND_LINKS": str(links),
            "UV_NO_CONFIG": "1",
            # uv knows no variable for --no-index.
            "UV_OFFLINE": "1",
            "UV_PYTHON_DOWNLOADS": "never",
            "NPU_OVERLAYS_CACHE": str(self.folder / "cache"),
            "COLUMNS": "80",
            **self.extra,
            **more,
        }
        return {name: value for name, value in {**kept, **own}.items() if value is not None}

    def run(self, *command: str | Path, cwd: Path | None = None, **more: str | None) -> Done:
        """Run a command and return what it did, whatever that is."""
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd or self.folder,
            env=self.variables(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return Done(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode(errors="replace"))

    def cli(self, *arguments: str | Path, cwd: Path | None = None, **more: str | None) -> Done:
        """Run ``npu-overlays`` with the Python the tests run on."""
        variables = self.variables(**more)
        if not forks.forkable(variables):
            return self.run(sys.executable, "-m", "npu_overlays", *arguments, cwd=cwd, **more)
        code, out, err = forks.run(list(map(str, arguments)), cwd=cwd or self.folder, variables=variables)
        return Done(code=code, out=out.decode(), err=err.decode(errors="replace"))

    def ok(self, *arguments: str | Path, cwd: Path | None = None, **more: str | None) -> Done:
        """Run ``npu-overlays`` and see that it succeeds."""
        done = self.cli(*arguments, cwd=cwd, **more)
        assert done.code == 0, done.out + done.err
        return done

    def python(self, *arguments: str | Path, cwd: Path | None = None, **more: str | None) -> Done:
        """Run the Python the tests run on and see that it succeeds."""
        return self.succeed(sys.executable, *arguments, cwd=cwd, **more)

    def succeed(self, *command: str | Path, cwd: Path | None = None, **more: str | None) -> Done:
        """Run a command and see that it succeeds."""
        done = self.run(*command, cwd=cwd, **more)
        assert done.code == 0, f"{command}\n{done.out}{done.err}"
        return done


def copy_environment(made: Path, folder: Path) -> Environment:
    """Return an environment in `folder` that holds all that was made in another's folder."""
    shutil.copytree(made, folder, symlinks=True, dirs_exist_ok=True)
    return Environment(folder=folder)
