"""Bad input, run: a clear and complete error, the right exit code, and nothing written."""

from __future__ import annotations

from pathlib import Path

from support.environment import Done

from .sample import Sample


def build(sample: Sample, *arguments: str | Path, **more: str) -> Done:
    """Build lib, or what is named, into ``out`` of the sample's folder."""
    chosen = arguments or (sample.lib_name,)
    return sample.environment.cli(
        "build", *chosen, "--overlays", sample.overlays, "--out", out(sample), cwd=None, **more
    )


def out(sample: Sample) -> Path:
    return sample.folder / "out"


def refused(sample: Sample, done: Done, code: int, *texts: str) -> None:
    """See that a build was refused, with these texts, as errors and not as a traceback, and wrote nothing."""
    assert done.code == code, done.out + done.err
    flat = " ".join(done.err.split())
    for text in texts:
        assert text in flat
    assert "Traceback" not in done.err
    assert "npu-overlays: unexpected" not in done.err
    assert done.out == ""
    assert not out(sample).exists() or not list(out(sample).iterdir())


def config(sample: Sample) -> Path:
    return sample.lib_overlay / "pyproject.toml"
