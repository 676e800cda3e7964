"""Every kind of damage is found, named with its cause, and put right by the commands that are printed."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
from pathlib import Path

import pytest

from npu_summary.verify import findings, verify
from npu_summary.verify.report import Verification
from support.patched import InstalledSite, compile_all

from .damage import DAMAGES, Damage

pytestmark = pytest.mark.slow

each = pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)


def look(site: InstalledSite) -> Verification:
    return verify([str(site.folder)])


def seen(report: Verification) -> set[str]:
    return {finding.kind for finding in report.findings}


@each
def test_damage_is_found_and_its_cause_named(site: InstalledSite, damage: Damage) -> None:
    assert look(site).status == "intact"
    damage.do(site)
    report = look(site)
    text = report.to_text()
    assert seen(report) == damage.kinds, text
    assert (report.status, report.exit_code) == (damage.status, 1)
    for part in damage.says:
        assert part in text
    assert all(finding.cause for finding in report.findings), text
    assert "repair" in text


def one_of_each() -> list[Damage]:
    """Return the first damage of each set of kinds: installing takes a second each time."""
    return list({frozenset(one.kinds): one for one in reversed(DAMAGES) if one.repaired_by}.values())


# What pip is asked is another thing for each of these: to install a companion, a wheel or both, to uninstall, nothing.
_TELLING = (
    "companion uninstalled",
    "compiled extension beside a module",
    "entry points of the companion, RECORD not",
    "folder instead of a file",
    "metadata folder removed",
    "module added",
    "neither manifest nor RECORD",
    "plugin installed editable",
    "stale bytecode of equal date and size",
    "startup hook",
    "two companions",
)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(one, marks=[] if one.name in _TELLING else pytest.mark.thorough, id=one.name)
        for one in one_of_each()
    ],
)
def test_printed_commands_put_it_right(site: InstalledSite, damage: Damage) -> None:
    damage.do(site)
    commands = look(site).commands()
    assert commands
    for command in commands:
        done = site.patched.environment.run("sh", "-c", command)
        assert done.code == 0, f"{command}\n{done.out}{done.err}"
    after = look(site)
    assert after.status == "intact", "\n".join([*commands, after.to_text()])


def kinds() -> list[str]:
    """Return the kinds of findings there are, which type checkers hold the code against."""
    (alias,) = (
        node.value
        for node in ast.walk(ast.parse(Path(findings.__file__).read_text("utf-8")))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "Kind"
    )
    constants = [node for node in ast.walk(alias) if isinstance(node, ast.Constant)]
    return [str(node.value) for node in sorted(constants, key=lambda one: (one.lineno, one.col_offset))]


@pytest.mark.parametrize("page", ["verify.md", "verify.zh-CN.md"])
def test_every_kind_is_explained(page: str) -> None:
    text = (Path(__file__).parents[3] / "docs" / page).read_text("utf-8")
    assert re.findall(r"^\| `([a-z ]+)` \|", text, re.MULTILINE) == kinds()


def test_every_kind_is_tried_here_or_where_a_process_is_needed() -> None:
    tried = set().union(*(one.kinds for one in DAMAGES))
    assert set(kinds()) - tried == {"unreadable", "shadowed", "second copy", "wrong tag", "another platform"}
    assert len(DAMAGES) >= 30
    assert len({one.name for one in DAMAGES}) == len(DAMAGES)


def test_damages_do_not_hide_each_other(site: InstalledSite) -> None:
    chosen = [one for one in DAMAGES if one.name in ("module added", "file deleted", "companion uninstalled")]
    for one in chosen:
        one.do(site)
    assert seen(look(site)) == {"added", "missing", "companion missing"}


def test_removals_come_before_uninstalls_and_wheels_last(site: InstalledSite) -> None:
    for one in DAMAGES:
        if one.name in ("module added", "companion uninstalled", "changed file edited"):
            one.do(site)
    commands = look(site).commands()
    assert commands[0].startswith("rm -rf ")
    assert commands[1].endswith(f" transformers=={site.patched.version('transformers_npu')}")
    assert [shlex.split(command)[-1].partition("==")[0] for command in commands[2:]] == ["transformers-npu"]


def test_command_names_the_file_with_a_space(site: InstalledSite) -> None:
    site.write("verl/my file.py", b"")
    (command,) = look(site).commands()
    assert shlex.split(command) == ["rm", "-rf", str(site.path("verl/my file.py"))]


@pytest.mark.parametrize("name", ["verl_npu", "transformers"])
@pytest.mark.parametrize(
    ("file", "content"),
    [("RECORD", None), ("RECORD", b""), ("RECORD", b"\0\xff\xfe"), ("METADATA", None), ("METADATA", b"\xff\n")],
)
def test_metadata_that_installers_cannot_read_is_removed_first(
    site: InstalledSite, name: str, file: str, content: bytes | None
) -> None:
    info = site.info(name)
    (info / file).unlink() if content is None else (info / file).write_bytes(content)
    first, *rest = look(site).commands()
    assert shlex.split(first) == ["rm", "-rf", str(info)]
    assert all(" install " in command for command in rest)


@pytest.mark.parametrize("name", [b"a\x1b[2Jb'c\\.py", b"x\nerror: y.py", b"\xff\xfe.py"])
def test_names_that_no_terminal_should_see_are_escaped_and_removed(site: InstalledSite, name: bytes) -> None:
    added = site.path("verl") / os.fsdecode(name)
    added.touch()
    report = look(site)
    assert all(line.isprintable() for line in report.to_text().split("\n"))
    (command,) = report.commands()
    assert command.isprintable()
    done = site.patched.environment.run("bash", "-c", command)
    assert (done.code, added.exists()) == (0, False)
    assert look(site).status == "intact"


def test_long_lists_are_cut_in_text_and_whole_in_json(site: InstalledSite) -> None:
    for number in range(15):
        site.write(f"verl/n{number:02}.py", b"")
    report = look(site)
    assert "... and 5 more (--json lists all)" in report.to_text()
    assert [len(one["paths"]) for one in report.value()["findings"]] == [15]


def test_file_that_cannot_be_read_leaves_it_untold(site: InstalledSite, monkeypatch: pytest.MonkeyPatch) -> None:
    from npu_summary import stores  # noqa: PLC0415

    read = stores.Folder.read

    def refuse(self: stores.Folder, path: str) -> bytes:
        if path == "verl/trainer.py":
            raise PermissionError(13, "Permission denied")
        return read(self, path)

    # As root no permission stops a test from reading.
    monkeypatch.setattr(stores.Folder, "read", refuse)
    report = look(site)
    assert (seen(report), report.status, report.exit_code) == ({"unreadable"}, "unknown", 2)
    assert "Permission denied" in report.to_text()


def test_nothing_installed_cannot_be_told(tmp_path: Path) -> None:
    report = verify([str(tmp_path)])
    assert (report.status, report.exit_code) == ("unknown", 2)
    assert "no patched distribution is installed" in report.to_text()


def test_unknown_name_cannot_be_told(site: InstalledSite) -> None:
    report = verify([str(site.folder)], names=["peft"])
    assert (report.exit_code, report.subjects) == (2, ())
    assert "peft" in report.to_text()


JUNK = [
    b"",
    b"\0\xff\xfe",
    b"[]",
    b"null",
    b'{"files": 1}',
    b'"x"',
    b"[[[[",
    b"1e999",
    b'\n,\n"a\n,,,,\n',
    b"a,sha256=%%%,x\n",
    "a,sha256=größe,x\n".encode(),
    b"a" * 200_000 + b",,\n",
    b'a,"\0\n\r"b\n',
]


@pytest.mark.parametrize(
    "file", ["changes.json", "manifest.json", "RECORD", "METADATA", "INSTALLER", "direct_url.json"]
)
def test_no_content_of_a_metadata_file_makes_it_fail(site: InstalledSite, file: str) -> None:
    folder = (
        site.path("verl_npu_summary") if file.endswith(("changes.json", "manifest.json")) else site.info("verl_npu")
    )
    for junk in JUNK:
        (folder / file).write_bytes(junk)
        report = look(site)
        assert report.status == ("intact" if file == "direct_url.json" else "damaged"), (junk, report.to_text())
        assert report.value()["findings"] is not None
    (folder / file).unlink()
    os.mkfifo(folder / file)  # nobody will ever write to it
    assert look(site).status == ("intact" if file == "direct_url.json" else "damaged")


@pytest.mark.parametrize("missing", ["installed", "before", "after", "path", "action"])
def test_fields_that_a_damaged_summary_lacks_do_not_make_it_fail(site: InstalledSite, missing: str) -> None:
    data = site.path("transformers_npu_summary/changes.json")
    value = json.loads(data.read_text())
    for one in value["files"]:
        del one[missing]
    data.write_text(json.dumps(value))
    site.write("transformers/models/model.py", b"x = 1\n")
    compile_all(site)
    assert {"modified", "summary damaged"} <= seen(look(site))


def test_pairs_of_a_damaged_summary_do_not_make_it_fail(site: InstalledSite) -> None:
    data = site.path("verl_npu_summary/changes.json")
    whole = json.loads(data.read_text())
    for damaged in (None, 1, "x", [1, None], {"a": 1}):
        data.write_text(json.dumps({**whole, "pairs": damaged, "companion": damaged}))
        assert "summary damaged" in seen(look(site))
