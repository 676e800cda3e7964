"""A past: the sample's lib, and four commits after its pin that break, absorb and move what the overlay changes."""

from __future__ import annotations

import shutil
from pathlib import Path

from end_to_end.sample import CORE, Sample, make_sample, open_sample
from environments.once import once


def moved_on(shared: Path, tmp_path: Path) -> Sample:
    """Return the sample with a clone of lib beside it, which `history_of` takes further."""
    copy = open_sample(once(shared, "sample", make_sample)).copy(tmp_path)
    upstream = tmp_path / "clone"
    shutil.copytree(copy.lib.path, upstream)
    return copy


def history_of(sample: Sample) -> tuple[Path, list[str]]:
    """Return a clone of lib with four commits more, and these."""
    clone = sample.folder / "clone"

    def git(*arguments: str) -> str:
        return sample.environment.succeed("git", "-C", clone, *arguments).out.strip()

    def commit(message: str, core: bytes) -> str:
        (clone / "src/lib/core.py").write_bytes(core)
        git("commit", "--quiet", "--all", "--message", message)
        return git("rev-parse", "HEAD")

    harmless = CORE.replace(b"# untouched comment", b"# another comment")
    renamed = harmless.replace(b"def stop", b"def halt")
    absorbed = renamed.replace(b"value * 2", b"value * 3")
    gone = absorbed.replace(b'    def obsolete(self) -> None:\n        """Not wanted."""\n', b"")
    steps = [
        ("comments (#1)", harmless),
        ("rename (#2)", renamed),
        ("scale by three (#3)", absorbed),
        ("tidy (#4)", gone),
    ]
    return clone, [commit(message, core) for message, core in steps]
