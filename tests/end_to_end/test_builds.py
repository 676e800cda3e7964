"""What a built wheel holds, from every kind of source."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement
from packaging.metadata import Metadata

import npu_summary
from npu_overlays.overlay.stacks import stacks_folder
from support.marks import rarely
from support.overlays import edit
from support.wheels import members, metadata, record_problems

from .sample import ARCHIVE, ARCHIVE_LACKS, LIB_FILES, LIB_OVERLAY, LICENCE, Sample
from .test_commands import wheel_of

LIB_PACKAGE = {
    "lib/__init__.py",
    "lib/core.py",
    "lib/crlf.py",
    "lib/data/settings.yaml",
    "lib/data/table.bin",
    "lib/extra.py",
    "lib/notes.txt",
    "lib/npu.py",
    "lib/npu.sh",
    "lib/run.sh",
}


def summary_package(name: str) -> set[str]:
    """Return what a summary package holds: the code with one source in the build tool, and the data."""
    code = Path(npu_summary.__file__).parent
    listed = (path for path in code.rglob("*") if path.is_file() and path.suffix != ".pyc")
    files = {path.relative_to(code).as_posix() for path in listed}
    return {f"{name}/{file}" for file in files | {"changes.json", "changes.diff", "manifest.json"}}


def dist_info(name: str, *more: str) -> set[str]:
    bill = f"sboms/{name.partition('-')[0].replace('_', '-')}.cdx.json"
    return {f"{name}.dist-info/{file}" for file in ("METADATA", "RECORD", "WHEEL", bill, *more)}


def test_the_wheel_holds_exactly_the_packages_and_the_summary(locked: Sample, wheels: Path) -> None:
    info = dist_info(f"lib_npu-{locked.lib_version}", "entry_points.txt", "licenses/LICENSE", "licenses/NOTICE")
    assert members(wheel_of(wheels, "lib_npu")).keys() == LIB_PACKAGE | summary_package("lib_npu_summary") | info
    info = dist_info(f"app_npu-{locked.app_version}", "licenses/LICENSE")
    shipped = {"app/__init__.py", "recipe/try.py"}
    assert members(wheel_of(wheels, "app_npu")).keys() == shipped | summary_package("app_npu_summary") | info


def test_untouched_files_are_upstreams_byte_for_byte(wheels: Path) -> None:
    files = members(wheel_of(wheels, "lib_npu"))
    for name in ("__init__.py", "crlf.py", "data/table.bin", "run.sh"):
        assert files[f"lib/{name}"] == LIB_FILES[f"src/lib/{name}"]


def test_changed_files_hold_every_operation(wheels: Path) -> None:
    files = members(wheel_of(wheels, "lib_npu"))
    core = files["lib/core.py"].decode()
    assert "LIMIT = 64" in core
    assert 'return "npu+" + ' in core
    assert "stopped at once" in core
    assert "import functools" in core
    assert "def obsolete" not in core
    assert "value * 3" in core
    assert 'return "upstream " + name  # untouched comment' in core
    assert files["lib/notes.txt"] == b"one\ntwo\nthree\nfour\n"
    assert files["lib/data/settings.yaml"] == b"searchpath: pkg://lib.config\nlimit: 1\n"
    assert b"return 2" in files["lib/extra.py"]


def test_changed_files_carry_a_notice_that_they_were_changed(wheels: Path) -> None:
    core = members(wheel_of(wheels, "lib_npu"))["lib/core.py"].decode()
    assert core.count("# Changed for NPU by lib-npu") >= 4


def test_no_file_holds_a_marker_or_an_import_of_the_build_tool(wheels: Path) -> None:
    for wheel in ("lib_npu", "app_npu"):
        for path, content in members(wheel_of(wheels, wheel)).items():
            assert b"npu_overlays" not in content or "_npu_summary/" in path, path
            if path.endswith(".py"):
                assert b"import npu_overlays" not in content, path
                assert b"from npu_overlays" not in content, path


def test_record_is_right_for_every_wheel(wheels: Path, tmp_path: Path) -> None:
    found = sorted(wheels.glob("*.whl"))
    assert len(found) == 4
    assert list(chain.from_iterable(map(record_problems, found))) == []
    tampered = tmp_path / found[-1].name
    shutil.copy(found[-1], tampered)
    with zipfile.ZipFile(tampered, "a") as archive:
        archive.writestr("lib/intruder.py", "")
    assert record_problems(tampered) == ["lib/intruder.py: not in RECORD"]


def test_executable_files_stay_executable_and_all_dates_are_one(wheels: Path) -> None:
    with zipfile.ZipFile(wheel_of(wheels, "lib_npu")) as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
        dates = {info.date_time for info in archive.infolist()}
    executable = {name for name, mode in modes.items() if mode == 0o755}
    assert executable == {"lib/run.sh", "lib/npu.sh"}
    assert set(modes.values()) == {0o644, 0o755}
    assert dates == {(2020, 2, 2, 0, 0, 0)}


def test_metadata_is_upstreams_renamed_and_its_requirements_rewritten(locked: Sample, wheels: Path) -> None:
    own = metadata(wheel_of(wheels, "lib_npu"))
    assert own["Metadata-Version"] == "2.4"
    assert own["Name"] == "lib-npu"
    assert own["Version"] == locked.lib_version
    assert own["Summary"] == "A library (patched for NPU)"
    assert own["Requires-Python"] == ">=3.10,>=3.9"
    assert own["License"] == "Free"
    assert own["Author"] is None  # only repeated a name beside an address
    assert own["Author-email"] == "Jane Doe <jane@example.invalid>, team@example.invalid"
    assert set(own["Keywords"].split(",")) == {"deep learning", "NLP"}
    assert own.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert set(own.get_all("Project-URL", [])) == {
        "Homepage, https://example.invalid/lib",
        "Docs, https://example.invalid/docs",
    }
    assert set(own.get_all("Provides-Extra", [])) == {"fast", "all", "empty", "doctor"}
    assert set(own.get_all("Requires-Dist", [])) == {
        "packaging>=20.0",
        "wincolor>=1; sys_platform == 'win32'",
        "fastmath<2,>=1; extra == 'fast'",
        "fastmath[gpu]; (python_version < '3.99' or sys_platform == 'win32') and extra == 'fast'",
        "oldmath; extra == 'fast' and (python_version < '3.0' or sys_platform == 'never')",
        f"lib-npu[fast]=={locked.lib_version}; extra == 'all'",
        "anymath; extra == 'all' or extra == 'fast'",
        "queue; extra == 'empty'",
        "npu-doctor; extra == 'doctor'",
        f"lib=={locked.lib_version}",
    }


def test_requirements_on_the_paired_upstream_become_requirements_on_its_wheel(locked: Sample, wheels: Path) -> None:
    assert set(metadata(wheel_of(wheels, "app_npu")).get_all("Requires-Dist", [])) == {
        "lib-npu[fast]==1.2.3; python_version >= '3.9'",
        "lib-npu[all]==1.2.3; extra == 'all'",
        "npu-doctor; extra == 'doctor'",
        f"app=={locked.app_version}",
    }


def test_the_readme_is_upstreams_with_a_statement_above_it(locked: Sample, wheels: Path) -> None:
    readme = metadata(wheel_of(wheels, "lib_npu")).get_payload()
    assert isinstance(readme, str)
    assert readme.startswith("> **lib-npu** is lib 1.2.3")
    assert locked.lib.git("rev-parse", "main") in readme
    assert readme.endswith("# lib\n\nA library, größer als gedacht.\n")


def test_licence_files_and_scripts_are_carried_over(locked: Sample, wheels: Path) -> None:
    files = members(wheel_of(wheels, "lib_npu"))
    info = f"lib_npu-{locked.lib_version}.dist-info"
    assert files[f"{info}/licenses/LICENSE"] == LICENCE
    assert files[f"{info}/licenses/NOTICE"] == b"Changed files carry a notice.\n"
    assert files[f"{info}/entry_points.txt"] == b"[console_scripts]\nlib-run = lib.core:main\n"


def test_every_metadata_file_is_valid(wheels: Path) -> None:
    for wheel in sorted(wheels.glob("*.whl")):
        (text,) = (content for path, content in members(wheel).items() if path.endswith("/METADATA"))
        assert Metadata.from_email(text, validate=True).metadata_version == "2.4"


def test_the_companion_holds_what_it_says_and_upstreams_extras(locked: Sample, wheels: Path) -> None:
    companion = wheel_of(wheels, "lib")
    assert members(companion).keys() == {"lib.py", *dist_info(f"lib-{locked.lib_version}")}
    own = metadata(companion)
    assert (own["Name"], own["Version"], own["Requires-Python"]) == ("lib", locked.lib_version, ">=3.10,>=3.9")
    assert set(own.get_all("Provides-Extra", [])) == {"fast", "all", "empty"}
    requires = own.get_all("Requires-Dist", [])
    assert f"lib-npu[fast]=={locked.lib_version}; extra == 'all'" in requires
    assert all("extra ==" in text for text in requires)
    assert len(requires) == 6


def test_the_statement_names_digests_source_and_inputs(locked: Sample, wheels: Path) -> None:
    (file,) = wheels.glob("lib_npu-*.intoto.json")
    statement = json.loads(file.read_text("utf-8"))
    named = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    built = (wheel_of(wheels, "lib_npu"), wheel_of(wheels, "lib"))
    assert named == {wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in built}
    definition = statement["predicate"]["buildDefinition"]
    assert definition["externalParameters"] == {"overlay": locked.lib_name, "source": "git"}
    dependency, *inputs = definition["resolvedDependencies"]
    commit = locked.lib.git("rev-parse", "main")
    assert dependency == {"uri": f"git+{locked.lib.url}@{commit}", "digest": {"gitCommit": commit}}
    assert definition["internalParameters"]["overlay"] == changes(built[0])["overlay"]["sha256"]
    script = next(one for one in inputs if one["name"] == f"{locked.lib_name}/tree/src/lib/npu.sh")
    assert script["annotations"]["executable"] is True
    assert script["digest"]["sha256"] == hashlib.sha256(LIB_OVERLAY["tree/src/lib/npu.sh"]).hexdigest()
    assert f"{locked.lib_name}/overlay.lock" in [one["name"] for one in inputs]


def test_the_statement_is_one_of_in_toto_and_slsa(wheels: Path) -> None:
    (file,) = wheels.glob("lib_npu-*.intoto.json")
    # Neither takes a field that it does not know.
    statement = json_format.Parse(file.read_text("utf-8"), statement_pb2.Statement())
    Statement.copy_from_pb(statement).validate()
    provenance = json_format.ParseDict(json_format.MessageToDict(statement.predicate), provenance_pb2.Provenance())
    definition, builder = provenance.build_definition, provenance.run_details.builder
    assert definition.resolved_dependencies
    for one in definition.resolved_dependencies:
        ResourceDescriptor.copy_from_pb(one).validate()
    named = (statement.predicate_type, definition.build_type, builder.id, definition.resolved_dependencies[0].uri)
    assert [urlsplit(one).scheme for one in named] == ["https", "pkg", "pkg", "git+file"]
    with pytest.raises(json_format.ParseError, match="sbuject"):
        json_format.Parse(file.read_text("utf-8").replace('"subject"', '"sbuject"'), statement_pb2.Statement())


def archive_digest(sample: Sample) -> str:
    return hashlib.sha256((sample.environment.index or Path()).joinpath(ARCHIVE).read_bytes()).hexdigest()


def changes(wheel: Path) -> dict[str, Any]:
    (content,) = (content for path, content in members(wheel).items() if path.endswith("_npu_summary/changes.json"))
    values: dict[str, Any] = json.loads(content)
    return values


def test_nothing_but_wheels_statements_and_constraints_is_left_in_the_output(wheels: Path) -> None:
    assert sorted(path.name.rpartition("-any")[2] or path.suffix for path in wheels.iterdir()) == [
        ".intoto.json",
        ".intoto.json",
        ".whl",
        ".whl",
        ".whl",
        ".whl",
        "constraints-pair.txt",
    ]


def test_an_unchanged_rebuild_writes_nothing(sample: Sample, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sample.environment.ok("build", "--overlays", sample.overlays, "--out", out)
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    again = sample.environment.ok("build", "--json", "--overlays", sample.overlays, "--out", out)
    assert [one["rebuilt"] for one in again.json()] == [False, False]
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == before
    forced = sample.environment.ok("build", "--json", "--force", "--overlays", sample.overlays, "--out", out)
    assert [one["rebuilt"] for one in forced.json()] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["overlay", "wheel", *rarely("statement", "companion", "lock")])
def test_what_changed_is_built_again(sample: Sample, tmp_path: Path, damage: str) -> None:
    out = tmp_path / "out"
    arguments = ("build", "--json", sample.lib_name, "--overlays", sample.overlays, "--out", out)
    sample.environment.ok(*arguments)
    if damage == "overlay":
        edit(sample.lib_overlay / "tree/src/lib/npu.py", '"npu"', '"NPU"')
    elif damage == "wheel":
        wheel_of(out, "lib_npu").write_bytes(b"")
    elif damage == "companion":
        wheel_of(out, "lib").unlink()
    elif damage == "statement":
        next(out.glob("*.json")).write_text("{}")
    else:
        edit(sample.lib_overlay / "overlay.lock", 'description = "A library"', 'description = "The library"')
    (built,) = sample.environment.ok(*arguments).json()
    assert built["rebuilt"] is True
    (again,) = sample.environment.ok(*arguments).json()
    assert again["rebuilt"] is False


def test_the_archive_gives_the_same_bytes_for_every_file_both_hold(
    sample: Sample, wheels: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = sample.environment.ok(
        "build", sample.lib_name, "--source", "archive", "--overlays", sample.overlays, "--out", out
    )
    theirs, ours = members(wheel_of(wheels, "lib_npu")), members(wheel_of(out, "lib_npu"))
    version = f"1.2.3+npu.1.a{archive_digest(sample)[:7]}"
    assert wheel_of(out, "lib_npu").name == f"lib_npu-{version}-py3-none-any.whl"
    ours = {path.replace(version, sample.lib_version): content for path, content in ours.items()}
    lacking = {path.removeprefix("src/") for path in ARCHIVE_LACKS}
    assert theirs.keys() - ours.keys() == lacking
    assert ours.keys() <= theirs.keys()
    differing = {path for path in ours if ours[path] != theirs[path]}
    info = f"lib_npu-{sample.lib_version}.dist-info"
    told = {"changes.json", "changes.diff", "manifest.json"}
    told_of = {f"{info}/{name}" for name in ("METADATA", "RECORD", "sboms/lib-npu.cdx.json")}
    assert differing == {f"lib_npu_summary/{name}" for name in told} | told_of
    assert f"built from the release archive {ARCHIVE}, not from git" in done.err
    assert "it lacks 1 file of the commit, in src, so 1 operation on them is left out" in done.err


def test_what_an_archive_build_leaves_out_is_recorded(sample: Sample, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("build", sample.lib_name, "--overlays", sample.overlays, "--out", out)
    sample.environment.ok(*arguments, "--source", "archive")
    record = changes(wheel_of(out, "lib_npu"))
    assert record["not_applied"] == [
        {"path": "src/lib/extra.py", "symbol": "forgotten", "operation": "replaced", "why": "Two is right."}
    ]
    upstream = record["upstream"]
    digest = archive_digest(sample)
    assert upstream["source"] == {"kind": "archive", "archive": ARCHIVE, "sha256": digest}
    assert upstream["missing"] == ["src/lib/extra.py"]
    assert upstream["compared"] is True
    (file,) = out.glob("*.json")
    dependency, *_ = json.loads(file.read_text())["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert dependency == {"name": ARCHIVE, "digest": {"sha256": digest}}


@pytest.mark.slow
def test_auto_takes_the_archive_only_while_git_cannot_reach_the_commit(sample: Sample, tmp_path: Path) -> None:
    shutil.rmtree(sample.environment.cache)
    config = sample.folder / "gitconfig"
    config.write_text(f'[url "file:///nowhere/"]\n\tinsteadOf = {sample.lib.path.parent.as_uri()}/\n')
    arguments = ("build", sample.lib_name, "--overlays", sample.overlays, "--out", tmp_path / "out", "--json")
    (built,) = sample.environment.ok(*arguments).json()
    assert built["source"]["kind"] == "archive"
    (again,) = sample.environment.ok(*arguments).json()
    assert (again["source"]["kind"], again["rebuilt"]) == ("archive", False)
    config.write_text("")
    for rebuilt in (True, False):
        (again,) = sample.environment.ok(*arguments).json()
        assert (again["source"]["kind"], again["rebuilt"]) == ("git", rebuilt)
    # One version never has two contents: both lie there, and the commit's is preferred from now on.
    assert Path(built["wheel"]).is_file()
    assert Path(built["wheel"]) != Path(again["wheel"])


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_local_clone_gives_the_same_wheel(sample: Sample, wheels: Path, tmp_path: Path, how: str) -> None:
    shutil.rmtree(sample.environment.cache)
    config = sample.folder / "gitconfig"
    config.write_text(f'[url "file:///nowhere/"]\n\tinsteadOf = {sample.lib.path.parent.as_uri()}/\n')
    clone = tmp_path / "clone"
    sample.environment.succeed("git", "clone", "--quiet", sample.lib.path, clone)
    arguments = ["build", sample.lib_name, "--overlays", str(sample.overlays), "--out", str(tmp_path / "out")]
    if how == "option":
        sample.environment.ok(*arguments, "--upstream", f"lib={clone}")
    else:
        sample.environment.ok(*arguments, LIB_PATH=str(clone))
    built = wheel_of(tmp_path / "out", "lib_npu")
    assert built.read_bytes() == wheel_of(wheels, built.name.partition("-")[0]).read_bytes()


def test_a_dirty_clone_is_refused_even_where_the_wheel_is_up_to_date(sample: Sample, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    sample.environment.succeed("git", "clone", "--quiet", sample.lib.path, clone)
    arguments = ("build", sample.lib_name, "--overlays", sample.overlays, "--upstream", f"lib={clone}")
    sample.environment.ok(*arguments)
    (clone / "src/lib/core.py").write_text("changed = 1\n")
    done = sample.environment.cli(*arguments)
    assert done.code == 4
    assert "files that differ from the pin: src/lib/core.py" in done.err


def test_the_cache_serves_later_builds_without_any_source(sample: Sample, tmp_path: Path) -> None:
    shutil.rmtree(sample.environment.cache)
    sample.environment.ok("check", sample.lib_name, "--overlays", sample.overlays)
    config = sample.folder / "gitconfig"
    config.write_text(f'[url "file:///nowhere/"]\n\tinsteadOf = {sample.lib.path.parent.as_uri()}/\n')
    arguments = ("build", sample.lib_name, "--overlays", sample.overlays, "--out", tmp_path / "out")
    (built,) = sample.environment.ok(*arguments, "--source", "git", "--json").json()
    assert built["rebuilt"] is True


def test_an_overlay_without_a_stack_stands_alone(sample: Sample, tmp_path: Path) -> None:
    shutil.rmtree(stacks_folder(sample.overlays))
    out = tmp_path / "out"
    sample.environment.ok("build", sample.app_name, "--overlays", sample.overlays, "--out", out)
    assert "lib[fast]>=1.0; python_version >= '3.9'" in metadata(wheel_of(out, "app_npu")).get_all("Requires-Dist", [])


def test_the_version_of_a_partner_is_part_of_what_a_wheel_follows_from(sample: Sample, tmp_path: Path) -> None:
    arguments = ("build", sample.app_name, "--overlays", sample.overlays, "--out", tmp_path / "out", "--json")
    sample.environment.ok(*arguments)
    sample.environment.ok("revise", sample.lib_name, "--why", "It is given out again.")
    (built,) = sample.environment.ok(*arguments).json()
    assert built["rebuilt"] is True
    (pair,) = changes(Path(built["wheel"]))["pairs"]
    of_commit, *of_archives = pair.pop("builds")
    assert pair == {"distribution": "lib-npu", "version": "1.2.3", "overlay": sample.lib_name, "revision": 2}
    assert of_commit == f"1.2.3+npu.2.g{sample.lib_name.partition('@')[2]}"
    assert all(version.startswith("1.2.3+npu.2.a") for version in of_archives)
