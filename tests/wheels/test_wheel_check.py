"""A wheel is held against itself before it is installed; usual checkers accept it too."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from environments.once import once
from npu_overlays.wheels.wheel_reader import record_digest
from support.environment import Done
from support.patched import Patched

Members = dict[str, bytes]


@pytest.fixture
def wheels(patched: Patched, tmp_path: Path) -> Path:
    """Return a folder with copies of the patched wheels and their companions."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for file in patched.wheels.glob("*+npu*.whl"):
        shutil.copy(file, folder)
    return folder


def the(folder: Path, name: str) -> Path:
    (found,) = folder.glob(f"{name}-*+npu*.whl")
    return found


def verify(patched: Patched, *files: Path, arguments: tuple[str, ...] = ()) -> Done:
    return patched.environment.cli("verify-wheel", *arguments, *files, COLUMNS="1000")


def rewrite(wheel: Path, change: Callable[[Members], object], *, record: bool = True) -> None:
    """Change a wheel's members; RECORD follows unless told otherwise."""
    with zipfile.ZipFile(wheel) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    (own,) = (name for name in members if name.endswith("/RECORD"))
    if record:
        rows = [f"{path},{record_digest(content)},{len(content)}" for path, content in members.items() if path != own]
        members[own] = "\n".join([*rows, f"{own},,", ""]).encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in members.items():
            archive.writestr(path, content)


def edited(path: str, old: bytes, new: bytes) -> Callable[[Members], object]:
    def change(members: Members) -> None:
        (name,) = (one for one in members if one.endswith(path))
        assert members[name].count(old) >= 1, members[name]
        members[name] = members[name].replace(old, new)

    return change


def added(name: str, content: bytes) -> Callable[[Members], object]:
    """Add a file to the metadata folder."""

    def change(members: Members) -> None:
        (metadata,) = (one for one in members if one.endswith(".dist-info/METADATA"))
        members[metadata.replace("METADATA", name)] = content

    return change


def in_manifest(path: str, content: bytes) -> Callable[[Members], object]:
    """Change a file and the manifest with it."""

    def change(members: Members) -> None:
        import hashlib  # noqa: PLC0415

        members[path] = content
        (name,) = (one for one in members if one.endswith("/manifest.json"))
        value = json.loads(members[name])
        value["files"][path] = hashlib.sha256(content).hexdigest()
        members[name] = json.dumps(value).encode()

    return change


def test_how_the_user_has_configured_git_makes_no_difference(patched: Patched, wheels: Path, tmp_path: Path) -> None:
    attributes, config = tmp_path / "attributes", tmp_path / "config"
    attributes.write_text("* text eol=crlf\n")
    config.write_text(f"[core]\n\tattributesFile = {attributes}\n[apply]\n\tignoreWhitespace = change\n")
    done = patched.environment.cli("verify-wheel", *sorted(wheels.iterdir()), GIT_CONFIG_GLOBAL=str(config))
    assert (done.code, done.err) == (0, "")


def test_built_wheels_and_companions_pass(patched: Patched, wheels: Path) -> None:
    done = verify(patched, *sorted(wheels.glob("*.whl")))
    assert (done.code, done.err) == (0, "")
    assert done.out.count(", as its summary says; made of ") == 2
    assert re.search(r"made of verl 0\.6\.1 at [0-9a-f]{40}.*, from the commit\n", done.out)
    assert done.out.count(", an empty companion") == 2
    kinds = [one["kind"] for one in verify(patched, *sorted(wheels.glob("*.whl")), arguments=("--json",)).json()]
    assert sorted(kinds) == ["companion", "companion", "patched", "patched"]


BROKEN: dict[str, tuple[Callable[[Members], object], bool, tuple[str, ...]]] = {
    "content, RECORD not": (
        edited("verl/trainer.py", b"fit", b"fat"),
        False,
        ("RECORD: gives another digest or size than verl/trainer.py", "manifest.json: does not fit verl/trainer.py"),
    ),
    "file added, RECORD not": (lambda members: members.update({"verl/x.py": b""}), False, ("does not list verl/x.py",)),
    "file gone": (
        lambda members: members.pop("recipe/dapo.py"),
        False,
        ("lists recipe/dapo.py, which the wheel does not hold",),
    ),
    "content, manifest not": (
        edited("verl/__init__.py", b"0.6.1", b"0.6.2"),
        True,
        ("manifest.json: does not fit verl/__init__.py",),
    ),
    "changed file, summary not": (
        in_manifest("verl/trainer.py", b"x = 1\n"),
        True,
        ("changes.json: says that verl/trainer.py is something else", "changes.diff: cannot be taken back"),
    ),
    "diff": (edited("changes.diff", b"upstream", b"downstream"), True, ("changes.diff",)),
    "no diff": (lambda members: members.pop("verl_npu_summary/changes.diff"), True, ("changes.diff",)),
    "upstream's digest": (
        lambda members: members.update(
            {
                "verl_npu_summary/changes.json": json.dumps(
                    {
                        **(value := json.loads(members["verl_npu_summary/changes.json"])),
                        "files": [{**one, "before": "0" * 64} for one in value["files"]],
                    }
                ).encode()
            }
        ),
        True,
        ("changes.diff: taken back does not give upstream's verl/trainer.py",),
    ),
    "no manifest": (
        lambda members: members.pop("verl_npu_summary/manifest.json"),
        True,
        ("manifest.json: is missing or not a manifest",),
    ),
    "no summary": (
        lambda members: members.pop("verl_npu_summary/changes.json"),
        True,
        ("has no summary package, and holds what no companion does",),
    ),
    "summary of another version": (
        edited("changes.json", b"0.6.1+npu.1", b"0.6.1+npu.2"),
        True,
        ("changes.json: is of verl-npu 0.6.1+npu.2",),
    ),
    "summary cut short": (
        lambda members: members.update({"verl_npu_summary/changes.json": b"{"}),
        True,
        ("changes.json: not JSON",),
    ),
    "companion not required": (
        edited("/METADATA", b"Requires-Dist: verl==", b"Requires-Dist: verl>="),
        True,
        ("does not require verl==0.6.1+npu.1",),
    ),
    "no bill of materials": (
        lambda members: members.pop(next(one for one in members if "/sboms/" in one)),
        True,
        ("sboms/verl-npu.cdx.json: is missing",),
    ),
    "bill of materials": (
        edited("verl-npu.cdx.json", b"Starts the device first.", b"Starts the device last."),
        True,
        ("sboms/verl-npu.cdx.json: says something else than METADATA and the summary",),
    ),
    "bill of materials, RECORD not": (
        edited("verl-npu.cdx.json", b"unofficial", b"backport"),
        False,
        ("RECORD: gives another digest or size than ",),
    ),
    "WHEEL, another home": (
        edited("/WHEEL", b"Root-Is-Purelib: true", b"Root-Is-Purelib: false"),
        True,
        ("WHEEL: contradicts Root-Is-Purelib: true",),
    ),
    "WHEEL, another version": (edited("/WHEEL", b"1.0", b"1.1"), True, ("WHEEL: is not of version 1.0",)),
    "WHEEL, more": (edited("/WHEEL", b"Generator", b"Build: 7\nGenerator"), True, ("WHEEL: says more than ",)),
    "entry points that nobody can read": (
        added("entry_points.txt", b"[console_scripts\nverl = os:abort\n"),
        True,
        ("entry_points.txt: cannot be read: ",),
    ),
    "pair not required": (
        edited("/METADATA", b"Requires-Dist: transformers-npu==", b"Requires-Dist: transformers-npu>="),
        True,
        ("does not require transformers-npu==4.5.6",),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_contradiction_is_named(patched: Patched, wheels: Path, name: str) -> None:
    change, record, said = BROKEN[name]
    rewrite(the(wheels, "verl_npu"), change, record=record)
    done = verify(patched, the(wheels, "verl_npu"))
    assert (done.code, done.out) == (6, ""), done.out
    for part in said:
        assert part in done.err
    assert "unexpected" not in done.err
    assert "fix: " in done.err


@pytest.mark.slow
def test_companion_must_lie_beside_and_hold_what_it_says_alone(patched: Patched, wheels: Path) -> None:
    companion = the(wheels, "verl")
    for change, said in (
        (lambda members: members.update({"verl/__init__.py": b""}), "holds what no companion does: verl/__init__.py"),
        (edited("verl.py", b"pip install", b"pip remove"), "holds what no companion does: verl.py"),
        (lambda members: members.pop("verl.py"), "lacks verl.py"),
        (edited("verl.cdx.json", b'"verl"', b'"vrl"'), "sboms/verl.cdx.json: says something else than METADATA"),
        (added("entry_points.txt", b"[x]\na = b:c\n"), "dist-info: holds what no companion does: entry_points.txt"),
        (edited("/WHEEL", b"true", b"false"), "WHEEL: contradicts Root-Is-Purelib: true"),
    ):
        whole = companion.read_bytes()
        rewrite(companion, change)
        assert said in verify(patched, the(wheels, "verl_npu")).err
        companion.write_bytes(whole)
    assert verify(patched, the(wheels, "verl_npu")).code == 0
    companion.unlink()
    assert "does not lie beside it" in verify(patched, the(wheels, "verl_npu")).err
    assert verify(patched, the(wheels, "transformers_npu")).code == 0


@pytest.mark.parametrize("kind", ["verl", "verl_npu"])
@pytest.mark.parametrize("where", ["before", "between", "after", "comment"])
def test_bytes_of_an_archive_that_are_of_no_file_are_refused(
    patched: Patched, wheels: Path, kind: str, where: str
) -> None:
    wheel = the(wheels, kind)
    content = wheel.read_bytes()
    if where == "between":
        with zipfile.ZipFile(wheel, "a") as archive:
            at, end = archive.start_dir, content[-22:]
        directory = int.from_bytes(end[12:16], "little")
        moved = end[:16] + (at + 5).to_bytes(4, "little") + end[20:]
        wheel.write_bytes(content[:at] + b"\0" * 5 + content[at : at + directory] + moved)
    if where == "comment":
        with zipfile.ZipFile(wheel, "a") as archive:
            archive.comment = b"12345"
    if where in ("before", "after"):
        wheel.write_bytes(b"12345" + content if where == "before" else content + b"12345")
    done = verify(patched, wheel)
    assert (done.code, "its archive: 5 bytes of it" in done.err) == (6, True), done.err


def test_what_only_record_says_is_told_unless_a_statement_names_the_wheel(patched: Patched, wheels: Path) -> None:
    def unproven() -> dict[str, list[str]]:
        told = verify(patched, *sorted(wheels.glob("*.whl")), arguments=("--json",)).json()
        return {one["name"]: one["unproven"] for one in told}

    rewrite(the(wheels, "verl_npu"), added("entry_points.txt", b"[console_scripts]\na = os:abort\n"))
    patched_says = ["METADATA", "entry_points.txt", "licenses/LICENSE"]
    assert unproven() == {
        "transformers": ["METADATA"],
        "transformers-npu": ["METADATA", "licenses/LICENSE"],
        "verl": ["METADATA"],
        "verl-npu": patched_says,
    }
    said = "  no statement beside it names these bytes; only its own RECORD says that these are as built: "
    assert f"{said}{', '.join(patched_says)}\n" in verify(patched, the(wheels, "verl_npu")).out
    for file in patched.wheels.glob("*.intoto.json"):
        shutil.copy(file, wheels)
    done = verify(patched, the(wheels, "verl_npu"))
    assert (done.code, f"gives another digest than {the(wheels, 'verl_npu').name} has" in done.err) == (6, True)
    shutil.copy(patched.wheel("verl_npu"), wheels)
    assert not any(unproven().values())


def test_on_an_index_what_belongs_together_lies_in_several_folders(patched: Patched, tmp_path: Path) -> None:
    index = tmp_path / "index"
    patched.environment.ok("index", patched.wheels, "--out", index)
    wheels, statements = sorted(index.glob("*/*+npu*.whl")), sorted(index.glob("*/*.intoto.json"))
    told = verify(patched, *wheels, *statements, arguments=("--json",)).json()
    assert [one["unproven"] for one in told] == [[]] * (len(wheels) + len(statements))
    rewrite(index / "verl" / the(index / "verl", "verl").name, added("INSTALLER", b"x"))
    assert "holds what no companion does" in verify(patched, the(index / "verl-npu", "verl_npu")).err
    assert "gives another digest than verl-" in verify(patched, the(index / "verl", "verl")).err
    assert "gives another digest than verl-" in verify(patched, *(index / "verl-npu").glob("*.intoto.json")).err
    the(index / "verl", "verl").unlink()
    assert "does not lie beside it" in verify(patched, the(index / "verl-npu", "verl_npu")).err


def test_file_name_is_held_against_the_metadata(patched: Patched, wheels: Path) -> None:
    wheel = the(wheels, "verl_npu")
    renamed = wheel.rename(wheel.with_name(wheel.name.replace("0.6.1", "0.6.2")))
    assert "METADATA: says verl-npu 0.6.1+npu.1" in verify(patched, renamed).err
    odd = renamed.rename(wheel.with_name("verl.whl"))
    assert "its name: " in verify(patched, odd).err


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 not really"])
def test_no_wheel_is_said_with_6(patched: Patched, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "x-1-py3-none-any.whl"
    if content is not None:
        file.write_bytes(content)
    done = verify(patched, file)
    assert done.code == 6
    assert ("no such file" if content is None else "is not a whole wheel") in done.err
    assert content is None or "fix: build the wheel again, or fetch it again from where it was published" in done.err


def test_a_folder_is_no_wheel_and_may_hold_some(patched: Patched, tmp_path: Path) -> None:
    assert verify(patched, tmp_path).err == f"error: {tmp_path}: is a folder\n    fix: name a wheel in it\n"


def test_all_wheels_are_looked_at_before_it_fails(patched: Patched, wheels: Path, tmp_path: Path) -> None:
    rewrite(the(wheels, "verl_npu"), edited("verl/__init__.py", b"0.6.1", b"0.6.2"))
    done = verify(patched, tmp_path / "none.whl", the(wheels, "verl_npu"))
    assert ("no such file" in done.err, "does not fit verl/__init__.py" in done.err) == (True, True)


@pytest.fixture(scope="session")
def checkers(shared: Path) -> Path:
    """Return a folder with twine and check-wheel-contents in an environment; skips without the index."""

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--no-compile"]
        done = subprocess.run([*install, "twine", "check-wheel-contents"], capture_output=True, text=True, check=False)
        if done.returncode:
            (folder / "unavailable").write_text(done.stderr[-500:])

    folder = once(shared, "checkers", make)
    if (folder / "unavailable").exists():
        pytest.skip(f"twine cannot be installed: {(folder / 'unavailable').read_text()}")
    return folder / "bin"


# W002: upstream has files that are the same, most of them bare `__init__.py` with a licence. W009: verl ships `verl`
# and `recipe`, and each wheel its summary besides.
EXCEPTIONS = {"patched": ("--ignore", "W002,W009"), "companion": ()}


@pytest.mark.index
@pytest.mark.thorough
def test_usual_checkers_accept_wheels_and_companions(patched: Patched, wheels: Path, checkers: Path) -> None:
    files = sorted(wheels.glob("*.whl"))
    done = patched.environment.run(checkers / "twine", "check", "--strict", *files)
    assert (done.code, done.out.count("PASSED")) == (0, 4), done.out + done.err
    for file in files:
        ignored = EXCEPTIONS["patched" if "_npu-" in file.name else "companion"]
        done = patched.environment.run(checkers / "check-wheel-contents", *ignored, file)
        assert (done.code, ": OK" in done.out) == (0, True), done.out + done.err


@pytest.mark.index
@pytest.mark.slow
@pytest.mark.thorough
def test_each_exception_is_needed(patched: Patched, wheels: Path, checkers: Path) -> None:
    said = patched.environment.run(checkers / "check-wheel-contents", *sorted(wheels.glob("*.whl"))).out
    assert {"W009"} <= {word.strip(":") for word in said.split()}


@pytest.mark.slow
@pytest.mark.parametrize("place", ["../../escaped.py", "{folder}/escaped.py", "a/../../../escaped.py"])
def test_a_summary_that_leads_out_of_its_folder_is_refused_and_nothing_is_written(
    patched: Patched, wheels: Path, tmp_path: Path, place: str
) -> None:
    path = place.format(folder=tmp_path)
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    def lead_out(members: Members) -> None:
        (name,) = (one for one in members if one.endswith("_summary/changes.json"))
        record = json.loads(members[name])
        next(one for one in record["files"] if one["installed"])["path"] = path
        record["companion"] = f"../{record['companion']}"
        members[name] = json.dumps(record).encode()

    wheel = the(wheels, "transformers_npu")
    rewrite(wheel, lead_out)
    done = patched.environment.cli("verify-wheel", wheel, COLUMNS="1000", TMPDIR=str(temporary))
    assert done.code == 6
    assert f"changes.json: names a file `{path}` that" in done.err, done.err
    assert "changes.json: names a file `../transformers` that is no name" in done.err, done.err
    assert not [*tmp_path.rglob("escaped.py")]
    rewrite(wheel, lambda members: members.update({place.format(folder=""): b""}))
    done = patched.environment.cli("verify-wheel", wheel, COLUMNS="1000", TMPDIR=str(temporary))
    assert (done.code, "holds paths that cannot be unpacked" in done.err) == (6, True)
