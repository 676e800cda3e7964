"""The sample: two upstreams, `lib` and `app` which requires it, and an overlay for each; every operation is used."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from support.environment import Environment
from support.overlays import give_out, write_overlay, write_stacks
from support.upstreams import ENTRY_POINTS, METADATA, Upstream, make_upstream
from support.wheels import write_wheel

LIB_METADATA = """\
Metadata-Version: 2.1
Name: lib
Version: 1.2.3
Summary: A library
Home-page: https://example.invalid/lib
Author: Jane Doe
Author-email: Jane Doe <jane@example.invalid>, team@example.invalid
License: Free
Keywords: deep learning,NLP
Classifier: Programming Language :: Python :: 3
Project-URL: Docs, https://example.invalid/docs
Requires-Python: >=3.9
Description-Content-Type: text/markdown
Requires-Dist: packaging>=20.0
Requires-Dist: wincolor>=1; sys_platform == "win32"
Requires-Dist: fastmath<2,>=1; extra == "fast"
Requires-Dist: fastmath[gpu]; (python_version < "3.99" or sys_platform == "win32") and extra == "fast"
Requires-Dist: oldmath; extra == "fast" and (python_version < "3.0" or sys_platform == "never")
Requires-Dist: lib[fast]; extra == "all"
Requires-Dist: Queue @ git+https://example.invalid/queue@68c04e7 ; extra == "empty"
Requires-Dist: anymath; extra == "all" or extra == "fast"
Provides-Extra: fast
Provides-Extra: all
Provides-Extra: empty
"""
LIB_ENTRY_POINTS = "[console_scripts]\nlib-run = lib.core:main\n"
APP_METADATA = """\
Metadata-Version: 2.1
Name: app
Version: 2.0.dev0
Summary: An application
Requires-Python: >=3.9
Requires-Dist: lib[fast]>=1.0; python_version >= "3.9"
Requires-Dist: lib[all]; extra == "all"
Provides-Extra: all
"""
README = "# lib\n\nA library, größer als gedacht.\n"
LICENCE = b"Free for all.\n"

CORE = b'''\
"""The core."""

import os

LIMIT = 1
OLD = "old"


class Engine:
    """Does things."""

    speed = 1

    def start(self, times: int = 1) -> str:
        return "upstream" * times

    def stop(self) -> str:
        return "stopped"

    def obsolete(self) -> None:
        """Not wanted."""


def describe(name):
    return "upstream " + name  # untouched comment


def scale(value):
    return value * 2


def main():
    print("lib", Engine().start(), os.sep and describe("main"))
'''
CORE_OVERLAY = b'''\
"""What changes in the core."""

import functools

from npu_overlays.markers import added, deleted, edited, replaced, upstream, wrapped

LIMIT = replaced(64, why="More fits on an NPU.")


class Engine:
    @wrapped(why="Says that it is patched.", forwarded="https://example.invalid/pull/1")
    def start(self, times: int = 1) -> str:
        return "npu+" + upstream(self, times)

    @replaced(why="Stops at once.", drop_when="upstream stops at once")
    def stop(self) -> str:
        return "stopped at once"

    @added(why="Tells the device.")
    @functools.lru_cache(maxsize=None)
    def device(self) -> str:
        return "npu"

    deleted("obsolete", why="Nobody calls it.")


@edited(("value * 2", "value * 3"), why="Three is right here.")
def scale(value): ...
'''
LIB_FILES: dict[str, bytes] = {
    METADATA: LIB_METADATA.encode() + b"\n" + README.encode(),
    ENTRY_POINTS: LIB_ENTRY_POINTS.encode(),
    "README.md": README.encode(),
    "LICENSE": LICENCE,
    "src/lib/__init__.py": b"from lib.core import Engine\n",
    "src/lib/core.py": CORE,
    "src/lib/crlf.py": b"# keeps its line ends\r\nVALUE = 1\r\n",
    "src/lib/data/settings.yaml": b"searchpath: file://lib/config\nlimit: 1\n",
    "src/lib/data/table.bin": bytes(range(256)),
    "src/lib/notes.txt": b"one\ntwo\nthree\n",
    "src/lib/run.sh": b"#!/bin/sh\necho run\n",
    "src/lib/extra.py": b"def forgotten():\n    return 1\n",
    "tests/__init__.py": b"",
    "scripts/__init__.py": b"",
}
PATCH = b"""\
Why: Four is missing.

diff --git a/src/lib/notes.txt b/src/lib/notes.txt
--- a/src/lib/notes.txt
+++ b/src/lib/notes.txt
@@ -1,3 +1,4 @@
 one
 two
 three
+four
"""
LIB_OVERLAY: dict[str, bytes] = {
    "LICENSE": LICENCE,
    "NOTICE": b"Changed files carry a notice.\n",
    "tree/src/lib/core.py": CORE_OVERLAY,
    "tree/src/lib/npu.py": b'"""Added for the NPU."""\n\nNAME = "npu"\n',
    "tree/src/lib/npu.sh": b"#!/bin/sh\n# Added for the shell.\n",
    "tree/src/lib/extra.py": (
        b"from npu_overlays.markers import replaced\n\n\n"
        b'@replaced(why="Two is right.")\ndef forgotten():\n    return 2\n'
    ),
    "patches/notes.patch": PATCH,
}
LIB_EDIT = """\
[[tool.overlay.edit]]
paths = ["src/lib/data/settings.yaml"]
find = "file://lib/config"
replace = "pkg://lib.config"
why = "There is no lib/ folder below the working directory."
"""
APP_FILES: dict[str, bytes] = {
    METADATA: APP_METADATA.encode() + b"\n# app\n",
    "README.md": b"# app\n",
    "LICENSE": LICENCE,
    "app/__init__.py": b"import lib\n\n\ndef run():\n    return lib.Engine().start()\n",
    "recipe/try.py": b"STEPS = 1\n",
}
APP_OVERLAY: dict[str, bytes] = {
    "tree/app/__init__.py": (
        b"from npu_overlays.markers import upstream, wrapped\n\n\n"
        b'@wrapped(why="Says app.")\ndef run():\n    return "app:" + upstream()\n'
    ),
}
# What the release archive of lib holds and lacks, compared with the commit.
ARCHIVE_LACKS = ("src/lib/extra.py",)
ARCHIVE_HAS_BESIDES = {"lib/stale.py": b"STALE = True\n"}
ARCHIVE = "lib-1.2.3-py3-none-any.whl"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The sample on disk.

    Args:
        environment: whose index holds the release archive of lib.
        folder: where all of it lies.
        lib: upstream's repository.
        app: likewise.
        lib_name: name of lib's overlay.
        app_name: name of app's overlay.
    """

    environment: Environment
    folder: Path
    lib: Upstream
    app: Upstream
    lib_name: str
    app_name: str

    @property
    def overlays(self) -> Path:
        """The folder of overlays."""
        return self.folder / "overlays"

    @property
    def lib_overlay(self) -> Path:
        """The folder of lib's overlay."""
        return self.overlays / self.lib_name

    @property
    def app_overlay(self) -> Path:
        """The folder of app's overlay."""
        return self.overlays / self.app_name

    @property
    def lib_version(self) -> str:
        """Version of lib's wheel."""
        return f"1.2.3+npu.1.g{self.lib_name.partition('@')[2]}"

    @property
    def app_version(self) -> str:
        """Version of app's wheel."""
        return f"2.0.dev0+npu.1.g{self.app_name.partition('@')[2]}"

    def copy(self, folder: Path, *, fetched: bool = True) -> Sample:
        """Return a copy with overlays and a cache of its own, the same upstreams and the same index.

        Args:
            folder: where it goes.
            fetched: whether its cache holds upstream's files already. To have them takes longer than most commands.
        """
        for part in ("overlays", "stacks", *(("cache/archives", "cache/commits") if fetched else ())):
            shutil.copytree(self.folder / part, folder / part)
        environment = Environment(folder=folder, index=self.environment.index)
        return replace(self, folder=folder, environment=environment)


def make_sample(folder: Path) -> None:
    """Write the sample, lock it, and give out its first revisions."""
    sample = open_sample(folder, making=True)
    sample.environment.ok("lock", "--all")
    give_out(sample.overlays)


def open_sample(folder: Path, *, making: bool = False) -> Sample:
    """Return the sample that `make_sample` wrote into `folder`."""
    environment = Environment(folder=folder, index=folder / "index")
    make = make_upstream if making else _known
    lib, lib_commit = make(folder / "upstream" / "lib", environment, LIB_FILES)
    app, app_commit = make(folder / "upstream" / "app", environment, APP_FILES)
    sample = Sample(
        environment=environment,
        folder=folder,
        lib=lib,
        app=app,
        lib_name=f"lib@{lib_commit[:7]}",
        app_name=f"app@{app_commit[:7]}",
    )
    if making:
        _write(sample, lib_commit, app_commit)
    return sample


def _known(path: Path, environment: Environment, files: dict[str, bytes]) -> tuple[Upstream, str]:
    assert files
    upstream = Upstream(path=path, variables=environment.variables)
    return upstream, upstream.git("rev-parse", "main")


def _write(sample: Sample, lib_commit: str, app_commit: str) -> None:
    archive = write_archive(sample.folder / "index")
    write_overlay(
        sample.overlays,
        project="lib",
        commit=lib_commit,
        repository=sample.lib.url,
        packages=["src/lib"],
        files=LIB_OVERLAY,
        overlay='not-built = ["tests"]\n',
        upstream=f'tag = "v1.2.3"\n{archive_table(archive)}\n{LIB_EDIT}',
    )
    (sample.lib_overlay / "tree/src/lib/npu.sh").chmod(0o755)
    write_overlay(
        sample.overlays,
        project="app",
        commit=app_commit,
        repository=sample.app.url,
        packages=["app", "recipe"],
        files=APP_OVERLAY,
    )
    write_stacks(sample.overlays, "pair", {"pair": [sample.lib_name, sample.app_name]})


def write_archive(folder: Path) -> Path:
    """Write lib's release archive, as its own backend would have made it, and return it."""
    files = {
        path.removeprefix("src/"): content
        for path, content in LIB_FILES.items()
        if path.startswith("src/lib/") and path not in ARCHIVE_LACKS
    }
    info = "lib-1.2.3.dist-info"
    own = {
        f"{info}/entry_points.txt": LIB_ENTRY_POINTS.encode(),
        f"{info}/licenses/LICENSE": LICENCE,
        "tests/__init__.py": b"",
    }
    metadata = f"{LIB_METADATA}\n{README}"
    return write_wheel(folder, "lib", "1.2.3", {**files, **own, **ARCHIVE_HAS_BESIDES}, metadata=metadata)


def archive_table(archive: Path) -> str:
    """Return the configuration that pins an archive of lib."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return (
        "[[tool.overlay.upstream.archive]]\n"
        f'distribution = "lib"\nversion = "1.2.3"\nfile = "{archive.name}"\nsha256 = "{digest}"\n'
    )
