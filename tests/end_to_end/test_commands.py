"""Every command, run as a person or a machine runs it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from itertools import product
from pathlib import Path

import pytest

from npu_overlays.overlay.stacks import stacks_folder
from support.overlays import edit
from support.terminal import on_terminal

from .sample import LICENCE, Sample


def wheel_of(folder: Path, name: str) -> Path:
    (found,) = folder.glob(f"{name}-*.whl")
    return found


def test_list_shows_every_overlay_with_its_stack(locked: Sample) -> None:
    done = locked.environment.ok("list", "--overlays", locked.overlays)
    lines = done.out.splitlines()
    assert lines[0].split() == ["overlay", "upstream", "tag", "revision", "layers", "stack"]
    assert lines[1].split() == [locked.app_name, "2.0.dev0", "1", "pair"]
    assert lines[2].split() == [locked.lib_name, "1.2.3", "v1.2.3", "1", "pair"]
    assert lines[3] == "default stack: pair"
    assert done.err == ""


@pytest.mark.parametrize("size", ["20", "1", "0", "-5", "wide", "²"])
def test_list_prints_all_of_each_name_whatever_the_size_of_the_screen(locked: Sample, size: str) -> None:
    done = locked.environment.ok("list", "--overlays", locked.overlays, COLUMNS=size, LINES=size)
    assert locked.lib_name in done.out
    assert "…" not in done.out


def test_problems_are_printed_at_a_width_of_0(locked: Sample) -> None:
    done = locked.environment.cli("check", "nosuch", "--overlays", locked.overlays, COLUMNS="0")
    assert done.code == 3
    assert done.err.startswith("error: ")


def test_list_shows_an_overlay_that_is_not_locked_yet(sample: Sample) -> None:
    (sample.lib_overlay / "overlay.lock").unlink()
    done = sample.environment.ok("list", "--overlays", sample.overlays)
    assert f"{sample.lib_name}  not locked" in done.out
    values = sample.environment.ok("list", "--json", "--overlays", sample.overlays).json()
    assert {row["name"]: row["upstream"] for row in values["overlays"]} == {
        sample.lib_name: "",
        sample.app_name: "2.0.dev0",
    }


def test_list_gives_json(locked: Sample) -> None:
    values = locked.environment.ok("list", "--json", "--overlays", locked.overlays).json()
    assert values["default"] == "pair"
    (lib,) = (row for row in values["overlays"] if row["name"] == locked.lib_name)
    assert lib == {
        "name": locked.lib_name,
        "upstream": "1.2.3",
        "tag": "v1.2.3",
        "commit": locked.lib.git("rev-parse", "main"),
        "revision": 1,
        "layers": [],
        "stacks": ["pair"],
    }


def test_show_gives_every_operation_and_its_reason(locked: Sample) -> None:
    done = locked.environment.ok("show", locked.lib_name, "--overlays", locked.overlays)
    for text in (
        "wrapped   Engine.start",
        "Says that it is patched.",
        "replaced  LIMIT",
        "added     Engine.device",
        "deleted   Engine.obsolete",
        "edited    scale",
        "src/lib/npu.py",
        "src/lib/data/settings.yaml",
        "notes.patch",
    ):
        assert text in done.out


def test_show_gives_json_and_takes_the_tag_for_a_name(locked: Sample) -> None:
    values = locked.environment.ok("show", "lib@v1.2.3", "--json", "--overlays", locked.overlays).json()
    assert values["name"] == locked.lib_name
    assert values["distribution"] == "lib-npu"
    assert sorted((one["operation"], one["symbol"]) for one in values["operations"]) == [
        ("added", "Engine.device"),
        ("deleted", "Engine.obsolete"),
        ("edited", "scale"),
        ("replaced", "Engine.stop"),
        ("replaced", "LIMIT"),
        ("replaced", "forgotten"),
        ("wrapped", "Engine.start"),
    ]
    start = next(one for one in values["operations"] if one["symbol"] == "Engine.start")
    assert start["forwarded"] == "https://example.invalid/pull/1"
    assert [one["path"] for one in values["files"]] == ["src/lib/npu.py", "src/lib/npu.sh"]


def test_what_upstream_still_assigns_is_part_of_what_a_wheel_says_of_itself(sample: Sample) -> None:
    file = sample.lib_overlay / "pyproject.toml"
    stated = 'when = "lib is imported"\nwhat = ["torch:f"]\nwhy = "torch is no part of it."\n'
    file.write_text(f"{file.read_text('utf-8')}\n[[tool.overlay.assigned]]\n{stated}", "utf-8")

    records = sample.environment.ok("check", "--json", "--overlays", sample.overlays).json()

    listed = {"when": "lib is imported", "what": ["torch:f"], "why": "torch is no part of it."}
    assert [record.get("assigned") for record in records] == [[{**listed, "overlay": sample.lib_name}], None]


def test_check_says_what_it_found_and_writes_nothing(sample: Sample) -> None:
    before = sorted(sample.overlays.rglob("*"))
    done = sample.environment.ok("check", "--all", "--overlays", sample.overlays)
    assert f"{sample.lib_name}: 12 changes in 6 files, as declared" in done.out
    assert f"{sample.app_name}: 1 change in 1 file, as declared" in done.out
    assert sorted(sample.overlays.rglob("*")) == before
    records = sample.environment.ok("check", "--json", "--overlays", sample.overlays).json()
    assert [record["distribution"]["name"] for record in records] == ["lib-npu", "app-npu"]


def test_check_warns_of_what_is_dangerous_until_it_is_accepted(sample: Sample) -> None:
    core = sample.lib_overlay / "tree/src/lib/core.py"
    edit(core, 'return "npu+"', 'print("started")\n        return "npu+"')
    done = sample.environment.ok("check", sample.lib_name)
    place = f"{sample.lib_name}/tree/src/lib/core.py:13"
    assert f"warning: {place}: wrapped code prints, as `print('started')` shows; every process prints" in done.err
    assert "\n    in src/lib/core.py:Engine.start\n    fix: review it;" in done.err
    failed = sample.environment.cli("check", sample.lib_name, "--strict")
    assert (failed.code, failed.err.count("error: ")) == (5, 1)
    (record,) = sample.environment.ok("check", sample.lib_name, "--json").json()
    (told,) = record["dangers"]
    assert (told["kind"], told["where"], told["accepted"]) == ("print", place, None)
    edit(core, 'why="Says that it is patched."', 'why="Says that it is patched.", accept=["print"]')
    done = sample.environment.ok("check", sample.lib_name, "--strict")
    assert "warning" not in done.err
    (record,) = sample.environment.ok("check", sample.lib_name, "--json").json()
    assert record["dangers"][0]["accepted"] == "Says that it is patched."


def test_check_holds_the_overlays_of_a_stack_against_each_other(sample: Sample) -> None:
    """Each by itself is right; together, one asks for what the other does not have."""
    run = sample.app_overlay / "tree/app/__init__.py"
    edit(run, 'return "app:" + upstream()', "from lib.npu import MAKER\n\n    return MAKER + upstream()")
    assert "as declared" in sample.environment.ok("check", sample.app_name).out
    sample.environment.ok("check", sample.lib_name)
    failed = sample.environment.cli("check", "--stack", "pair")
    assert failed.code == 5
    said = (
        f"{sample.app_name}/tree/app/__init__.py:6: `from lib.npu import MAKER`: `lib.npu` of {sample.lib_name} has no"
    )
    assert f"error: {said} `MAKER`\n    fix: correct it, or add the name in the other overlay" in failed.err
    assert failed.out.count("as declared") == 2
    assert sample.environment.cli("check", "--all").code == 5
    edit(run, "import MAKER", "import NAME as MAKER")
    assert sample.environment.ok("check", "--stack", "pair").err.count("error") == 0


def test_lock_is_up_to_date_right_after_locking(sample: Sample) -> None:
    done = sample.environment.ok("lock", "--check", "--overlays", sample.overlays)
    assert f"{sample.lib_name}: up to date, 9 contracts" in done.out
    lock = sample.lib_overlay / "overlay.lock"
    before = lock.read_bytes()
    lock.unlink()
    assert "written" in sample.environment.ok("lock", sample.lib_name, "--overlays", sample.overlays).out
    assert lock.read_bytes() == before


def test_lock_check_fails_after_an_operation_was_written_and_changes_nothing(sample: Sample) -> None:
    edit(sample.lib_overlay / "tree/src/lib/core.py", 'deleted("obsolete", why="Nobody calls it.")', "")
    lock = sample.lib_overlay / "overlay.lock"
    before = lock.read_bytes()
    done = sample.environment.cli("lock", "--check", sample.lib_name, "--overlays", sample.overlays)
    assert done.code == 3
    assert str(lock) in done.err
    assert f"npu-overlays lock {sample.lib_name}" in done.err
    assert lock.read_bytes() == before
    sample.environment.ok("lock", sample.lib_name, "--overlays", sample.overlays)
    assert b"obsolete" not in lock.read_bytes()


def test_locking_from_the_archive_keeps_what_is_known_of_the_commit(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    # A release cannot say this: the index takes no requirement by URL.
    edit(lock, '"packaging>=20.0"', '"packaging @ git+https://example.invalid/packaging@1"')
    before = lock.read_text("utf-8")
    sample.environment.ok("lock", sample.lib_name, "--source", "archive", "--overlays", sample.overlays)
    assert lock.read_text("utf-8") == before
    sample.environment.ok("build", sample.lib_name, "--source", "git", "--overlays", sample.overlays)


def test_diff_is_what_git_applies_to_upstream(sample: Sample, tmp_path: Path) -> None:
    done = sample.environment.ok("diff", sample.lib_name, "--overlays", sample.overlays)
    (tmp_path / "lib.diff").write_text(done.out, "utf-8")
    clone = tmp_path / "clone"
    sample.environment.succeed("git", "clone", "--quiet", sample.lib.path, clone)
    sample.environment.succeed("git", "apply", tmp_path / "lib.diff", cwd=clone)
    assert "four" in (clone / "src/lib/notes.txt").read_text()
    assert (clone / "src/lib/npu.sh").stat().st_mode & 0o100
    assert "npu_overlays" not in (clone / "src/lib/core.py").read_text()


def test_summary_of_a_wheel_needs_no_install(locked: Sample, wheels: Path) -> None:
    wheel = wheel_of(wheels, "lib_npu")
    text = locked.environment.ok("summary", wheel).out
    assert "Engine" in text
    assert "Says that it is patched." not in text
    assert "Says that it is patched." in locked.environment.ok("summary", wheel, "--why").out
    assert locked.environment.ok("summary", wheel, "--diff").out.startswith("diff --git a/src/lib/core.py")
    values = locked.environment.ok("summary", wheel, "--format", "json").json()
    assert "lib-npu" in json.dumps(values)
    assert "lib" in locked.environment.ok("summary", wheel, "--format", "yaml").out


def test_page_of_a_wheel_is_written_whole_or_not_at_all(locked: Sample, wheels: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert locked.environment.ok("summary", wheel_of(wheels, "lib_npu"), "--html", page).out == ""
    text = page.read_text("utf-8")
    for said in ("lib-npu", "Says that it is patched.", "src/lib/core.py", '<td class="add">'):
        assert said in text
    both = locked.environment.cli("summary", wheel_of(wheels, "lib_npu"), "--html", page, "--diff")
    assert (both.code, page.read_text("utf-8")) == (2, text)
    companion = locked.environment.cli("summary", wheel_of(wheels, "lib"), "--html", page)
    assert (companion.code, page.read_text("utf-8")) == (6, text)
    for place in (tmp_path, Path("/dev/null")):
        refused = locked.environment.cli("summary", wheel_of(wheels, "lib_npu"), "--html", place)
        assert refused.code == 6
        assert "is no file" in refused.err
    assert Path("/dev/null").is_char_device()


def test_page_of_a_wheel_whose_diff_is_damaged_says_so(locked: Sample, wheels: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "lib_npu.whl"
    with zipfile.ZipFile(wheel_of(wheels, "lib_npu")) as whole, zipfile.ZipFile(damaged, "w") as written:
        for name in whole.namelist():
            content = whole.read(name)
            written.writestr(name, content[:200] if name.endswith("changes.diff") else content)
    done = locked.environment.cli("summary", damaged, "--html", tmp_path / "page.html")
    assert done.code == 6
    assert "lib_npu.whl: changes.diff: " in done.err
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("content", [b"", b"not a wheel", b"PK\x03\x04 cut short"])
def test_summary_of_something_else_is_an_error(locked: Sample, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.whl").write_bytes(content)
    done = locked.environment.cli("summary", tmp_path / "x.whl")
    assert done.code == 6
    assert "x.whl" in done.err
    assert "Traceback" not in done.err


def test_summary_of_no_file_or_of_a_companion_is_an_error(locked: Sample, wheels: Path, tmp_path: Path) -> None:
    absent = locked.environment.cli("summary", tmp_path / "absent.whl")
    assert absent.code == 6
    assert "no such file" in absent.err
    companion = locked.environment.cli("summary", wheel_of(wheels, "lib"))
    assert companion.code == 6
    assert "a companion wheel holds none by design" in companion.err
    assert locked.environment.cli("summary", tmp_path).code == 6


def test_summary_of_a_damaged_wheel_is_an_error(locked: Sample, wheels: Path, tmp_path: Path) -> None:
    content = bytearray(wheel_of(wheels, "lib_npu").read_bytes())
    at = content.index(b"lib_npu_summary/changes.json") + len(b"lib_npu_summary/changes.json")
    content[at : at + 40] = b"\xff" * 40
    (tmp_path / "lib_npu.whl").write_bytes(content)
    done = locked.environment.cli("summary", tmp_path / "lib_npu.whl")
    assert done.code == 6
    assert "lib_npu.whl" in done.err


def test_matrix_has_a_cell_for_each_overlay_and_python(locked: Sample) -> None:
    cells = locked.environment.ok("matrix", "--overlays", locked.overlays).json()["include"]
    expected = product((locked.app_name, locked.lib_name), ("3.10", "3.11", "3.12", "3.13"))
    assert [(cell["overlay"], cell["python"]) for cell in cells] == list(expected)
    line = locked.environment.ok("matrix", "--format", "github", "--overlays", locked.overlays).out
    assert line.startswith("batches=")
    assert line.count("\n") == 1
    (batch,) = json.loads(line.removeprefix("batches="))
    assert batch["cells"]["include"] == cells


def test_build_reports_what_it_made_as_json(sample: Sample, tmp_path: Path) -> None:
    done = sample.environment.ok("build", "--json", "--overlays", sample.overlays, "--out", tmp_path / "out")
    lib, app = done.json()
    assert (lib["overlay"], app["overlay"]) == (sample.lib_name, sample.app_name)
    assert lib["rebuilt"] is True
    assert lib["source"] == {"kind": "git"}
    assert Path(lib["wheel"]).is_file()
    assert Path(lib["companion"]).name == f"lib-{sample.lib_version}-py3-none-any.whl"
    assert done.err == ""


def test_help_documents_every_exit_code(locked: Sample) -> None:
    text = locked.environment.ok("--help").out
    for code in (0, 1, 2, 3, 4, 5, 6, 130):
        assert f"\n  {code}  " in text
    for command in ("build", "list", "show", "check", "lock", "diff", "summary", "matrix"):
        assert f"\n  {command} " in text
        assert locked.environment.ok(command, "--help").out.startswith("usage: npu-overlays")
    assert "check that wheels are whole and consistent, without installing them" in " ".join(text.split())
    assert locked.environment.ok("--version").out.startswith("npu-overlays 0")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("bild",),
        ("build", "--no-such-option"),
        ("show",),
        ("build", "--source", "ftp"),
        ("build", "--upstream", "lib"),
        ("build", "--upstream", "=path"),
        ("summary",),
    ],
)
def test_a_wrong_command_line_exits_with_2(locked: Sample, arguments: tuple[str, ...]) -> None:
    done = locked.environment.cli(*arguments)
    assert done.code == 2
    assert "usage:" in done.err
    assert done.out == ""


def test_without_a_command_all_are_listed(locked: Sample) -> None:
    done = locked.environment.cli()
    assert (done.code, done.out) == (2, "")
    assert "check do everything a build does, except writing a wheel" in " ".join(done.err.split())


def test_problems_are_json_where_json_is_asked_for(locked: Sample) -> None:
    done = locked.environment.cli("build", "--json", "lib@v9", "--overlays", locked.overlays)
    assert done.code == 3
    assert done.out == ""
    (problem,) = json.loads(done.err)["problems"]
    assert problem["where"] == "lib@v9"
    assert locked.lib_name in problem["fix"]


def test_a_traceback_shows_only_when_asked_for(locked: Sample) -> None:
    quiet = locked.environment.cli("show", "lib@v9", "--overlays", locked.overlays)
    verbose = locked.environment.cli("show", "lib@v9", "--verbose", "--overlays", locked.overlays)
    assert (quiet.code, verbose.code) == (3, 3)
    assert "Traceback" not in quiet.err
    assert "Traceback" in verbose.err


def shown_on_terminal(sample: Sample, *arguments: str | Path, both: bool = False, **more: str) -> str:
    """Run ``npu-overlays`` with standard error, or both outputs, on a terminal and return what it showed there."""
    command = [sys.executable, "-m", "npu_overlays", *map(str, arguments)]
    variables = sample.environment.variables(TERM="xterm-256color", **more)
    code, shown = on_terminal(command, env=variables, cwd=sample.folder, output=both)
    assert code in (0, 3)
    return shown


def test_progress_shows_on_a_terminal(sample: Sample) -> None:
    shutil.rmtree(sample.environment.cache)
    # Of a quick step the terminal sees nothing: this git takes its time to fetch.
    slow = sample.folder / "slow" / "git"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\ncase " $* " in *" fetch "*) sleep 1;; esac\nexec {shutil.which("git")} "$@"\n')
    slow.chmod(0o755)
    path = os.pathsep.join([str(slow.parent), os.environ["PATH"]])
    shown = shown_on_terminal(sample, "check", "--all", "--overlays", sample.overlays, PATH=path)
    assert f"{sample.lib_name}: " in shown


@pytest.mark.parametrize("command", ["list", "show"])
def test_what_is_over_at_once_leaves_the_cursor_alone(locked: Sample, command: str) -> None:
    named = (locked.lib_name,) if command == "show" else ()
    assert "\x1b" not in shown_on_terminal(locked, command, *named, "--overlays", locked.overlays)


def test_no_color_is_honoured(sample: Sample) -> None:
    arguments = ("show", "lib@v9", "--overlays", sample.overlays)
    assert "\x1b[1;31m" in shown_on_terminal(sample, *arguments)
    assert "\x1b[1;31m" not in shown_on_terminal(sample, *arguments, NO_COLOR="1")


def test_reasons_print_on_a_terminal_that_knows_only_ascii(sample: Sample) -> None:
    edit(sample.lib_overlay / "tree/src/lib/core.py", "More fits on an NPU.", "昇腾放得下更多。")
    done = sample.environment.ok(
        "show", sample.lib_name, "--overlays", sample.overlays, PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )
    assert "\\u6607" in done.out


@pytest.mark.parametrize("command", ["show lib", "list --json", "lock --all"])
def test_a_reader_that_has_seen_enough_is_no_error(sample: Sample, command: str) -> None:
    command = command.replace(" lib", f" {sample.lib_name}")
    (sample.app_overlay / "overlay.lock").touch()
    shell = f"'{sys.executable}' -m npu_overlays {command} --overlays '{sample.overlays}' | true"
    done = sample.environment.run("bash", "-o", "pipefail", "-c", shell)
    assert (done.code, done.out) == (0, "")
    assert "rror" not in done.err


def test_work_is_done_whoever_reads_about_it(sample: Sample) -> None:
    for folder in (sample.lib_overlay, sample.app_overlay):
        (folder / "overlay.lock").unlink()
    shell = f"'{sys.executable}' -m npu_overlays lock --all --overlays '{sample.overlays}' | true"
    assert sample.environment.run("bash", "-o", "pipefail", "-c", shell).code == 0
    sample.environment.ok("lock", "--check", "--all", "--overlays", sample.overlays)


@pytest.mark.parametrize("command", ["list", "matrix"])
def test_a_result_that_cannot_be_written_is_an_error(locked: Sample, command: str) -> None:
    command = command.replace(" lib", f" {locked.lib_name}")
    shell = f"'{sys.executable}' -m npu_overlays {command} --overlays '{locked.overlays}' >/dev/full"
    done = locked.environment.run("bash", "-c", shell)
    assert done.code == 6
    assert "standard output: cannot be written: No space left on device" in done.err
    assert "Exception ignored" not in done.err


def test_closed_outputs_are_no_error(locked: Sample) -> None:
    for shell in (">&-", "2>&-", "2>/dev/full"):
        command = f"'{sys.executable}' -m npu_overlays list --overlays '{locked.overlays}' {shell}"
        assert locked.environment.run("bash", "-c", command).code == 0, shell


def test_check_reports_what_is_right_beside_what_is_wrong(sample: Sample) -> None:
    (sample.app_overlay / "overlay.lock").unlink()
    (sample.lib_overlay / "LICENSE").write_text("mine")
    done = sample.environment.cli("check", "--all", "--overlays", sample.overlays)
    assert done.code == 3
    assert f"{sample.app_name}/overlay.lock: is missing" in done.err
    assert "do not hold upstream's LICENSE" in done.err
    (sample.lib_overlay / "LICENSE").write_bytes(LICENCE)
    # lib requires app's version, which only its lock tells; alone it is right.
    shutil.rmtree(stacks_folder(sample.overlays))
    done = sample.environment.cli("check", "--all", "--overlays", sample.overlays)
    assert done.code == 3
    assert f"{sample.lib_name}: 12 changes in 6 files, as declared" in done.out
    assert f"{sample.app_name}/overlay.lock: is missing" in done.err


def test_why_a_lock_that_is_missing_cannot_be_made_is_said_first(sample: Sample) -> None:
    mistake = "\n[[tool.overlay.edit]]\npaths = ['nosuch.txt']\nfind = 'a'\nreplace = 'b'\nwhy = 'w'\n"
    with (sample.lib_overlay / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(mistake)
    (sample.lib_overlay / "overlay.lock").unlink()
    for command in ("check", "build"):
        # app is paired with lib, of which it needs the lock.
        for name in (sample.app_name, sample.lib_name):
            done = sample.environment.cli(command, name, "--overlays", sample.overlays)
            assert done.code == 3
            said = " ".join(done.err.split())
            assert said.index("nosuch.txt") < said.index(f"{sample.lib_name}/overlay.lock: is missing")


def test_check_finds_what_a_build_would(sample: Sample) -> None:
    def refused(text: str) -> None:
        for command in ("check", "build"):
            done = sample.environment.cli(command, sample.lib_name, "--overlays", sample.overlays)
            assert done.code in (3, 5), (command, done.out)
            assert text in " ".join(done.err.split()), command

    (sample.lib_overlay / "LICENSE").write_text("mine")
    refused("do not hold upstream's LICENSE")
    refused("copy upstream's LICENSE")
    (sample.lib_overlay / "LICENSE").write_bytes(LICENCE)
    edit(sample.lib_overlay / "pyproject.toml", "revision = 1\n", 'revision = 1\ndependencies = ["x @ file:///x"]\n')
    refused("hatchling refuses it")


def test_diff_shows_an_overlay_that_is_not_locked_yet(sample: Sample) -> None:
    locked = sample.environment.ok("diff", sample.lib_name, "--overlays", sample.overlays)
    (sample.lib_overlay / "overlay.lock").unlink()
    done = sample.environment.ok("diff", sample.lib_name, "--overlays", sample.overlays)
    assert done.out == locked.out
    assert "what the operations depend on was not checked" in done.err
    assert not (sample.lib_overlay / "overlay.lock").exists()


def test_lock_check_names_each_lock_that_is_out_of_date(sample: Sample) -> None:
    (sample.lib_overlay / "overlay.lock").unlink()
    done = sample.environment.cli("lock", "--check", "--all", "--overlays", sample.overlays)
    assert done.code == 3
    assert f"error: {sample.lib_overlay}/overlay.lock: is missing or out of date\n" in done.err
    assert f"{sample.app_overlay}/overlay.lock" not in done.err
    assert f"{sample.app_name}: up to date" in done.out


def test_what_a_terminal_would_obey_is_escaped_there_and_whole_in_a_pipe(sample: Sample) -> None:
    edit(sample.lib_overlay / "tree/src/lib/npu.py", 'NAME = "npu"', 'NAME = "npu"  # \x1b[31m red')
    edit(sample.lib_overlay / "pyproject.toml", 'why = "There is no', 'why = "\u202eThere is no')
    shown = sample.environment.ok("show", sample.lib_name, "--overlays", sample.overlays).out
    assert "\\u202eThere is no" in shown
    values = sample.environment.ok("show", sample.lib_name, "--json", "--overlays", sample.overlays)
    assert "\u202e" not in values.out
    assert values.json()["edits"][0]["why"].startswith("\u202eThere")
    diff = ("diff", sample.lib_name, "--overlays", sample.overlays)
    assert "# \x1b[31m red" in sample.environment.ok(*diff).out
    shown = shown_on_terminal(sample, *diff, both=True)
    assert "# \\x1b[31m red" in shown
    assert "\x1b[31m" not in shown


def test_an_option_before_the_command_is_named(locked: Sample) -> None:
    done = locked.environment.cli("--overlays", "FOLDER", "list")
    assert done.code == 2
    assert "error: options follow the command: npu-overlays COMMAND --overlays …" in done.err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("bulid",), "build"),
        (("import",), "import-patches"),
        (("wheel",), "verify-wheel"),
        (("build", "--frce"), "--force"),
        (("build", "--source", "giit"), "git"),
        (("port", "lib@1", "--too", "2"), "--to"),
        (("show", "--jsn"), "--json"),
        (("--versio",), "--version"),
        (("cache", "--p"), "--prune"),
        (("build", "--al", "--ou=x"), "--all"),
        (("index", "x", "--re"), "--reason or --replace"),
    ],
)
def test_a_wrong_word_names_the_nearest(locked: Sample, arguments: tuple[str, ...], meant: str) -> None:
    done = locked.environment.cli(*arguments)
    assert done.code == 2
    assert f"error: did you mean {meant}? " in done.err
