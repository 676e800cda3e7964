"""Source distributions of the patched files: hatchling alone makes the wheels of them, to the last byte."""

from __future__ import annotations

import shutil
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from npu_overlays.errors import OutputError
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_overlays.overlay.source_choice import choice_from
from npu_overlays.pipeline.preparation import Prepared
from npu_overlays.wheels import fork
from npu_overlays.wheels.assembly import WheelFile
from npu_overlays.wheels.parts import Parts, patched_parts

from .sample import Sample

# As in an environment without this tool: none of its packages can be imported.
BUILD = """
import sys
sys.modules.update(dict.fromkeys(["npu_overlays", "npu_summary", "npu_doctor"]))
from hatchling.build import build_wheel
print(build_wheel(sys.argv[1]))
"""


def built_from(sdist: Path, sample: Sample, folder: Path) -> bytes:
    """Return the wheel that hatchling makes of a source distribution, without git and on another place."""
    shutil.unpack_archive(sdist, folder)
    (source,) = folder.iterdir()
    (source / ".gitignore").write_text("*\n")
    environment = replace(sample.environment, folder=source)
    name = environment.succeed(sys.executable, "-I", "-c", BUILD, folder, PATH="/nowhere").out.split()[-1]
    return (folder / name).read_bytes()


@pytest.mark.slow
def test_hatchling_alone_makes_the_same_wheels(locked: Sample, wheels: Path, tmp_path: Path) -> None:
    out = tmp_path / "sdists"
    for name in (".gitignore", ".hgignore"):  # of a repository they are written into
        (tmp_path / name).write_text("wheels\n", "utf-8")
    told = locked.environment.ok(
        "sdist", "--overlays", locked.overlays, "--out", out, "--source", "git", "--json"
    ).json()
    assert {one["overlay"] for one in told} == {locked.app_name, locked.lib_name}
    sdists: list[Path] = []
    for one in told:
        sdists += [Path(one["sdist"]), Path(one["companion"])]
    assert sorted(out.iterdir()) == sorted(sdists)
    for number, sdist in enumerate(sdists):
        with tarfile.open(sdist) as packed:
            assert not [name for name in packed.getnames() if name.endswith("ignore")], sdist.name
        (wheel,) = wheels.glob(f"{sdist.name.removesuffix('.tar.gz')}-*.whl")
        assert built_from(sdist, locked, tmp_path / str(number)) == wheel.read_bytes(), sdist.name


def test_nothing_is_written_where_one_cannot_be(sample: Sample, tmp_path: Path) -> None:
    (sample.app_overlay / "overlay.lock").unlink()
    done = sample.environment.cli("sdist", "--overlays", sample.overlays, "--out", tmp_path / "out")
    assert (done.code, f"npu-overlays lock {sample.app_name}" in done.err) == (3, True)
    assert not (tmp_path / "out").exists()


def test_a_source_that_gives_another_wheel_is_refused(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_bytecode(prepared: Prepared) -> Parts:
        # Hatchling leaves out what lies in such a folder.
        said = patched_parts(prepared)
        return replace(said, files=[*said.files, WheelFile(place="lib/__pycache__/odd.txt", content=b"")])

    monkeypatch.setattr(fork, "patched_parts", with_bytecode)
    for name, value in sample.environment.variables().items():
        monkeypatch.setenv(name, value)
    overlay = find_overlay(sample.overlays, sample.lib_name)
    with pytest.raises(OutputError, match="makes another wheel of it than of the overlay"):
        fork.fork_all([overlay], choice_from({}), tmp_path / "out")
    assert not (tmp_path / "out").exists()
