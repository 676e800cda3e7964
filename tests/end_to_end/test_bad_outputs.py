"""Outputs that cannot be written leave nothing behind."""

from __future__ import annotations

import sys

import pytest

from .refusals import out, refused
from .sample import Sample


def test_an_output_that_is_a_file_is_refused(sample: Sample) -> None:
    (sample.folder / "file").write_text("mine")
    done = sample.environment.cli(
        "build", sample.lib_name, "--overlays", sample.overlays, "--out", sample.folder / "file"
    )
    refused(sample, done, 6, f"{sample.folder}/file: is a file, not a folder", "fix: name a folder with --out")
    assert (sample.folder / "file").read_text() == "mine"


def test_a_wheel_too_large_for_the_disk_leaves_nothing(sample: Sample) -> None:
    sample.environment.ok("check", sample.lib_name, "--overlays", sample.overlays)
    temporary = sample.folder / "temporary"
    temporary.mkdir()
    done = sample.environment.run(
        "bash",
        "-c",
        'ulimit -f 24; exec "$0" -m npu_overlays "$@"',
        sys.executable,
        "build",
        sample.lib_name,
        "--overlays",
        sample.overlays,
        "--out",
        out(sample),
        TMPDIR=str(temporary),
        COVERAGE_PROCESS_CONFIG=None,  # its data could not be written either
    )
    refused(sample, done, 6, "cannot be written: File too large")
    assert list(temporary.iterdir()) == []


_MOUNTED = """
mount -t tmpfs -o "$1" none "$2" && echo mounted || exit
"$3" -m npu_overlays build "$4" --overlays "$5" --out "$2/out"
code=$?
echo left:
find "$2" -type f
exit $code
"""


@pytest.mark.parametrize("mount", ["size=24k", "ro"])
def test_a_full_or_read_only_disk_leaves_nothing(sample: Sample, mount: str) -> None:
    folder = sample.folder / "mounted"
    folder.mkdir()
    unshare = ("unshare", "--map-root-user", "--mount")
    mounting = ("bash", "-c", _MOUNTED, "bash", mount, folder, sys.executable, sample.lib_name, sample.overlays)
    done = sample.environment.run(*unshare, *mounting)
    if "mounted" not in done.out:
        pytest.skip(f"this system lets no test mount a file system: {done.err.strip()}")
    assert done.code == 6, done.err
    reason = "No space left on device" if mount.startswith("size") else "Read-only file system"
    # The folder that is full, and not the one for temporary files.
    assert f"error: {folder / 'out'}: cannot be written: {reason}" in done.err
    assert done.out == "mounted\nleft:\n"
