"""A wheel is made again of what it says of itself; where the bytes differ, it is said which, and how."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from support.environment import Done
from support.overlays import edit

from .sample import Sample
from .test_commands import wheel_of

pytestmark = pytest.mark.slow


@pytest.fixture
def strange(wheels: Path, tmp_path: Path) -> Path:
    """Return a folder with copies of the wheels, and nothing else of what made them."""
    folder = tmp_path / "strange"
    folder.mkdir()
    for wheel in wheels.glob("*.whl"):
        shutil.copy(wheel, folder)
    return folder


def reproduce(sample: Sample, wheel: Path, *arguments: str | Path, **more: str) -> Done:
    return sample.environment.cli("reproduce", wheel, "--overlays", sample.overlays, *arguments, cwd=None, **more)


def differences(sample: Sample, wheel: Path) -> list[tuple[str, str]]:
    done = reproduce(sample, wheel, "--json")
    told = done.json()
    assert (done.code, told["same"]) == (1, False), done.out + done.err
    return [(one["path"], one["how"]) for one in told["differences"]]


@pytest.mark.parametrize("name", ["app_npu", "lib"])
def test_a_wheel_and_a_companion_alone_are_made_again(locked: Sample, strange: Path, tmp_path: Path, name: str) -> None:
    wheel = wheel_of(strange, name)
    for other in [*strange.iterdir()]:
        if other != wheel:
            other.unlink()
    done = reproduce(locked, wheel, "--json", "--out", tmp_path / "again")
    told = done.json()
    assert (done.code, told["same"], told["differences"], told["inputs"]) == (0, True, [], [])
    assert (tmp_path / "again" / wheel.name).read_bytes() == wheel.read_bytes()
    assert "gives the same bytes here, sha256 " in reproduce(locked, wheel).out


def test_a_development_build_is_made_again_whatever_is_asked_for_here(sample: Sample, tmp_path: Path) -> None:
    out = tmp_path / "out"
    edit(sample.lib_overlay / "tree/src/lib/npu.py", '"npu"', '"NPU"')
    built = ("build", sample.lib_name, "--overlays", sample.overlays, "--out", out)
    sample.environment.ok(*built, "--source", "git", SOURCE_DATE_EPOCH="1700000001")
    for wheel in sorted(out.glob("*.whl")):
        assert "+npu.1.20231114221321000.dev" in wheel.name
        done = reproduce(sample, wheel, SOURCE_DATE_EPOCH="1600000000", NPU_OVERLAYS_SOURCE="archive")
        assert done.code == 0, done.out + done.err


def test_a_wheel_of_a_release_archive_is_made_again_of_that(sample: Sample, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sample.environment.ok("build", sample.lib_name, "--overlays", sample.overlays, "--out", out, "--source", "archive")
    wheels = sorted(out.glob("*.whl"))
    assert len(wheels) == 2
    for wheel in wheels:
        done = reproduce(sample, wheel)
        assert done.code == 0, done.out + done.err


def rewritten(wheel: Path, change: Callable[[zipfile.ZipInfo, bytes], bytes], *, level: int | None = None) -> None:
    """Write a wheel again, member for member."""
    with zipfile.ZipFile(wheel) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for info, content in members:
            archive.writestr(info, change(info, content), compresslevel=level)


def same(_info: zipfile.ZipInfo, content: bytes) -> bytes:
    return content


def test_one_byte_of_one_file_is_named_and_shown(locked: Sample, strange: Path) -> None:
    wheel = wheel_of(strange, "lib_npu")
    rewritten(wheel, lambda info, old: old.replace(b'"npu"', b'"npv"') if info.filename == "lib/npu.py" else old)
    done = reproduce(locked, wheel)
    assert done.code == 1
    out = done.out
    assert f"{locked.lib_name} gives other bytes here\n  lib/npu.py: has another content: 39 bytes, here 39\n" in out
    assert '-NAME = "npv"\n    +NAME = "npu"\n' in out
    assert "made of another input" not in out


def test_another_level_of_deflating_is_said_to_be_no_more_than_that(locked: Sample, strange: Path) -> None:
    wheel = wheel_of(strange, "lib_npu")
    rewritten(wheel, same, level=1)
    found = differences(locked, wheel)
    assert {how.partition(", to ")[0] for _, how in found} == {"is deflated otherwise"}
    assert "lib_npu_summary/changes.json" in [path for path, _ in found]


def test_another_name_is_another_wheel(locked: Sample, strange: Path) -> None:
    wheel = wheel_of(strange, "lib_npu")
    renamed = wheel.rename(wheel.with_name("lib_npu-9-py3-none-any.whl"))
    assert differences(locked, renamed) == [("", f"it is called {renamed.name}, here {wheel.name}")]


def test_an_overlay_that_changed_since_is_named_and_with_the_statement_its_file(
    sample: Sample, wheels: Path, strange: Path
) -> None:
    edit(sample.lib_overlay / "tree/src/lib/npu.py", '"npu"', '"NPU"')
    wheel = wheel_of(strange, "lib_npu")
    done = reproduce(sample, wheel)
    assert done.code == 1
    assert "made of another input: all of the overlay's files, sha256: " in done.out
    assert "lib/npu.py: has another content" in done.out
    assert "input: file" not in done.out
    (statement,) = wheels.glob("lib_npu*.intoto.json")
    shutil.copy(statement, strange)
    inputs = [one["name"] for one in reproduce(sample, wheel, "--json").json()["inputs"]]
    assert inputs == ["all of the overlay's files, sha256", f"file {sample.lib_name}/tree/src/lib/npu.py"]
    # Of other bytes it says nothing.
    value = json.loads(statement.read_text())
    for subject in value["subject"]:
        subject["digest"]["sha256"] = "0" * 64
    (strange / statement.name).write_text(json.dumps(value))
    assert [one["name"] for one in reproduce(sample, wheel, "--json").json()["inputs"]] == inputs[:1]


def test_a_companion_on_an_index_finds_the_statement_of_its_wheel(sample: Sample, wheels: Path, tmp_path: Path) -> None:
    (statement,) = wheels.glob("lib_npu*.intoto.json")
    companion = wheel_of(wheels, "lib")
    for file, project in ((statement, "lib-npu"), (companion, "lib")):
        (tmp_path / project).mkdir()
        shutil.copy(file, tmp_path / project)
    edit(sample.lib_overlay / "tree/src/lib/npu.py", '"npu"', '"NPU"')
    sample.environment.ok("revise", sample.lib_name, "--why", "It is given out again.")
    told = reproduce(sample, tmp_path / "lib" / companion.name, "--json").json()
    assert f"file {sample.lib_name}/tree/src/lib/npu.py" in [one["name"] for one in told["inputs"]]


def test_another_folder_with_the_overlay_will_do(sample: Sample, strange: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for name in ("lib_npu", "lib"):
        done = sample.environment.cli("reproduce", wheel_of(strange, name), "--overlays", empty)
        assert done.code == 2
        assert "take the checkout of these overlays that had it, or name its folder with --overlay" in done.err
        arguments = (wheel_of(strange, name), "--overlays", empty, "--overlay", sample.lib_overlay)
        assert sample.environment.cli("reproduce", *arguments).code == 0


def test_a_later_revision_is_compared_and_told_of(sample: Sample, strange: Path) -> None:
    sample.environment.ok("revise", sample.lib_name, "--why", "It is given out again.")
    for name in ("lib_npu", "lib"):
        wheel = wheel_of(strange, name)
        assert differences(sample, wheel)[0] == (
            "",
            f"it is called {wheel.name}, here {wheel.name.replace('npu.1.g', 'npu.2.g')}",
        )


def test_what_cannot_be_tried_is_2(sample: Sample, strange: Path, tmp_path: Path) -> None:
    wheel = wheel_of(strange, "lib_npu")
    (tmp_path / "no.whl").write_bytes(b"PK")
    for file in (tmp_path / "no.whl", tmp_path / "none.whl"):
        done = reproduce(sample, file)
        assert (done.code, done.out) == (2, "")
    (sample.lib_overlay / "overlay.lock").unlink()
    done = reproduce(sample, wheel, "--json")
    assert (done.code, done.out) == (2, "")
    assert "npu-overlays lock" in json.loads(done.err)["problems"][0]["fix"]


def test_a_name_in_a_wheel_leads_nowhere(sample: Sample, strange: Path) -> None:
    wheel = wheel_of(strange, "lib_npu")

    def led(info: zipfile.ZipInfo, content: bytes) -> bytes:
        if info.filename != "lib_npu_summary/changes.json":
            return content
        record = json.loads(content)
        record["overlay"]["name"] = f"../overlays/{sample.lib_name}"
        return json.dumps(record).encode()

    rewritten(wheel, led)
    done = reproduce(sample, wheel)
    assert done.code == 2
    assert "which is not in" in done.err
