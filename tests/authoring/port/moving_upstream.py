"""Moving: the sample's lib, an overlay for it, and a clone in which upstream moves on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from end_to_end.sample import CORE, Sample, make_sample, open_sample
from environments.once import once
from support.environment import Done, copy_environment


@dataclass(frozen=True)
class Moving:
    """The sample with one overlay, for which a test has written what it says, and upstream's clone."""

    sample: Sample
    clone: Path
    name: str

    @property
    def root(self) -> Path:
        return self.sample.overlays

    def commit(self, message: str, files: dict[str, bytes | None]) -> str:
        for path, content in files.items():
            if content is None:
                (self.clone / path).unlink()
            else:
                (self.clone / path).parent.mkdir(parents=True, exist_ok=True)
                (self.clone / path).write_bytes(content)
        git = self.sample.environment.succeed
        git("git", "-C", self.clone, "add", "--all")
        git("git", "-C", self.clone, "commit", "--quiet", "--message", message)
        return git("git", "-C", self.clone, "rev-parse", "HEAD").out.strip()

    def port(self, name: str, *arguments: str) -> Done:
        return self.sample.environment.cli("port", name, *arguments, "--upstream", f"lib={self.clone}")

    def ported(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        done = self.port(self.name, *arguments, "--json")
        assert done.code == code, done.out + done.err
        found: dict[str, Any] = done.json()
        return found

    def diff(self, name: str) -> str:
        """Return what an overlay changes."""
        return self.sample.environment.ok("diff", name, "--upstream", f"lib={self.clone}").out


def make_moving(shared: Path, name: str, say: Callable[[Sample, str], Path], folder: Path) -> Moving:
    """Return the sample with one overlay of lib, locked once a run; it may be changed.

    Args:
        shared: the folder that all workers share.
        name: what this overlay is called there.
        say: writes the overlay for a commit of lib into the folder of overlays, and returns its folder.
        folder: where the copy goes.
    """

    def lock(made: Path) -> None:
        sample, commit = empty_sample(shared, made)
        sample.environment.ok("lock", say(sample, commit).name)

    made = once(shared, name, lock)
    (overlay,) = (path.name for path in (made / "overlays").glob("lib@*"))
    environment = replace(copy_environment(made, folder), index=shared / "sample" / "index")
    sample = replace(open_sample(shared / "sample"), folder=folder, environment=environment)
    return Moving(sample=sample, clone=folder / "clone", name=overlay)


def empty_sample(shared: Path, folder: Path) -> tuple[Sample, str]:
    """Return a copy of the sample without any overlay, with a clone of lib beside it, and what its main is at."""
    sample = open_sample(once(shared, "sample", make_sample)).copy(folder)
    shutil.copytree(sample.lib.path, folder / "clone")
    for part in (sample.overlays, sample.folder / "stacks"):
        shutil.rmtree(part)
    return sample, sample.lib.git("rev-parse", "main")


def changed_core() -> bytes:
    """Return the core with a rename, an absorbed edit, a deletion made, and another body under a wrapper."""
    core = CORE.replace(b"def stop", b"def halt").replace(b"value * 2", b"value * 3")
    core = core.replace(b'    def obsolete(self) -> None:\n        """Not wanted."""\n', b"")
    return core.replace(b'return "upstream" * times', b'return "upstream" * int(times)')


def kinds(found: dict[str, Any]) -> dict[str, str]:
    """Return the verdicts on the parts that do not just fit."""
    return {one["target"].rpartition(":")[2]: one["kind"] for one in found["parts"] if one["kind"] != "fits"}
