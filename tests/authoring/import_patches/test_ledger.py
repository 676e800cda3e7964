"""Hand-written summaries: each way of being wrong is told, and none is told of one that is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from npu_overlays.authoring.import_patches.ledger import Ledger, read_ledger
from npu_overlays.authoring.import_patches.ledger_comparison import AppliedPatchSet, compare
from npu_overlays.authoring.import_patches.patch_folder import PatchSet
from npu_overlays.authoring.import_patches.pins import pin
from npu_overlays.authoring.init.request import InitRequest
from npu_overlays.changes.tree_comparison import compare_file
from npu_overlays.commands.command import choice_of
from npu_overlays.errors import ConfigError, UsageError

from .conftest import FILES, Team
from .test_import import CORE, everything

HEAD = """\
patches:
  - repo: lib
    current_rev: {commit}
    versions:
      - rev: {commit}
        dir: {commit:.9}
        files:
"""
CHANGED = FILES[CORE].replace(b'"stopped"', b'"halted"').replace(b"import os\n", b"import os\nimport json\n")
CHANGED = CHANGED.replace(b"value * 2", b"value * 3").replace(b"OLD = ", b"NEW = ")


def summary(team: Team, *lines: str) -> Path:
    """Write a summary of one patch, `core`, that lists these."""
    text = HEAD.format(commit=team.commit) + "          - name: core\n            diff:\n"
    file = team.folder.parent / "patch_summary.yaml"
    file.write_text(text + "".join(f"              {line}\n" for line in lines), "utf-8")
    return file


def compared(team: Team, *lines: str) -> tuple[dict[str, object], set[tuple[str, str, str, str]]]:
    """Return how a summary compares: its numbers, and the findings with the symbol, what is said and what is so."""
    team.put("core.patch", team.diff({CORE: CHANGED}))
    found = team.imported("--summary", summary(team, *lines), "--dry-run")["summary"]
    findings = {(one["kind"], one["what"].rpartition(": ")[2], one["said"], one["found"]) for one in found["findings"]}
    return {name: found[name] for name in ("right", "wrong", "not_listed")}, findings


RIGHT = (
    "class_changes:",
    "  - action: updated",
    "    name: Engine",
    "    changes:",
    "      - {action: replaced, kind: method, name: stop}",
    "module_changes:",
    "  - {action: replaced, kind: method, name: scale}",
    "  - {action: added, kind: module_attr, name: json}",
    "  - {action: added, kind: attribute, name: NEW}",
    "  - {action: deleted, kind: attribute, name: OLD}",
)


def test_a_summary_that_is_right(team: Team) -> None:
    assert compared(team, *RIGHT) == ({"right": 6, "wrong": 0, "not_listed": 0}, set())


def test_every_way_of_being_wrong(team: Team) -> None:
    numbers, findings = compared(
        team,
        "class_changes:",
        "  - action: updated",
        "    name: Engine",
        "    changes:",
        "      - {action: added, kind: method, name: stop}",
        "      - {action: replaced, kind: method, name: start}",
        "      - {action: replaced, kind: method, name: scale}",
        "  - {action: added, name: NEW}",
        "module_changes:",
        "  - {action: added, kind: my_own_kind, name: json}",
    )
    assert findings == {
        ("wrong action", "Engine.stop", "added", "replaced"),
        ("not there", "Engine.start", "replaced", ""),
        ("wrong owner", "Engine.scale", "Engine.scale", "scale"),
        ("wrong kind", "NEW", "class", "attribute"),
        ("not listed", "OLD", "", "deleted attribute"),
    }
    assert numbers == {"right": 2, "wrong": 4, "not_listed": 1}


def test_findings_name_the_line_or_the_patch(team: Team) -> None:
    team.put("core.patch", team.diff({CORE: CHANGED}))
    file = summary(team, "module_changes:", "  - {action: replaced, kind: method, name: describe}")
    found = team.imported("--summary", file, "--dry-run")["summary"]["findings"]
    assert found[0]["where"] == f"{file}:11"
    assert found[1]["where"] == str(team.folder / f"lib/{team.commit[:9]}/core.patch")
    out = team.run("--summary", file, "--dry-run", "--why", "w").out
    assert f"{file}: 0 entries right, 1 wrong; 5 changes not listed" in out
    assert out.splitlines()[-6].split()[:2] == ["not", "there"]


def test_what_is_listed_of_patches_and_versions_is_compared_too(team: Team) -> None:
    team.put("core.patch", team.diff({CORE: CHANGED}))
    team.put("silent.patch", team.diff({"src/lib/items.yaml": b"- one\n"}))
    file = summary(team, *RIGHT)
    text = file.read_text("utf-8").replace(f"current_rev: {team.commit}", f"current_rev: {'0' * 40}")
    more = "          - name: lost\n  - repo: other\n    versions:\n      - {rev: v1, dir: v1, files: []}\n"
    file.write_text(text + more, "utf-8")
    found = team.imported("--summary", file, "--dry-run")["summary"]["findings"]
    assert [(one["kind"], one["what"]) for one in found] == [
        ("not there", f"the patch lost of lib/{team.commit[:9]}"),
        ("not listed", f"the patch silent.patch of lib/{team.commit[:9]}"),
        ("not there", "the patches of other/v1"),
        ("not there", f"the version {'0' * 40} that the summary names for lib"),
    ]
    only = team.imported("--summary", file, "--dry-run", "--only", "lib")["summary"]["findings"]
    assert len(only) == 2


ID = "0123456789" * 4


def listed(folder: Path, *lines: str, more: str = "") -> Ledger:
    """Return a summary of one patch of a team that is nowhere."""
    text = HEAD.format(commit=ID) + "          - name: core\n            diff:\n"
    file = folder / "patch_summary.yaml"
    file.write_text(text + "".join(f"              {line}\n" for line in lines) + more, "utf-8")
    return read_ledger(file)


def of_core(revision: str = ID[:9]) -> PatchSet:
    return PatchSet(project="lib", revision=revision, folder=Path("patch/lib"), patches=())


def test_what_is_listed_in_parts_is_compared_as_a_whole(tmp_path: Path) -> None:
    """By the version, of which the folder may be written with a slash, or by the patch."""
    again = f"      - rev: {ID}\n        dir: {ID[:9]}/\n        files:\n"
    head = "          - name: core.patch\n            diff:\n              module_changes:\n"
    one = head + "".join(f"              {line}\n" for line in RIGHT[6:8])
    other = head + "".join(f"              {line}\n" for line in RIGHT[8:])
    ledger = listed(tmp_path, *RIGHT[:5], more=one + again + other)
    change = compare_file(CORE, FILES[CORE], CHANGED)
    assert change
    found = compare(ledger, [AppliedPatchSet(patches=of_core(), changes={"core.patch": (change,)})], whole=True)
    assert (found.findings, found.right) == ((), 6)


@pytest.mark.parametrize(("folder", "refused"), [("abcdef123", True), (ID[:9], False), ("v1.2.3", False)])
def test_a_commit_that_contradicts_its_folder_is_refused(tmp_path: Path, folder: str, refused: bool) -> None:
    ledger = listed(tmp_path, *RIGHT)
    ledger = replace(ledger, versions=tuple(replace(one, folder=folder) for one in ledger.versions))
    request = InitRequest(
        name="",
        repository="https://example.invalid/lib",
        suffix="npu",
        label="",
        packages=(("src/lib", ""),),
        not_built=(),
        parent=tmp_path,
        choice=choice_of(None, ()),
    )
    if not refused:
        assert pin(of_core(folder), ledger, request, tmp_path).request.commit == ID
        return
    with pytest.raises(
        UsageError,
        match=f"patch_summary.yaml:5: says that lib/{folder} is for {ID}, and its folder names another commit",
    ):
        pin(of_core(folder), ledger, request, tmp_path)


def test_what_another_patch_changes_is_said(team: Team) -> None:
    team.put("notes.patch", team.diff({"src/lib/old.py": b"def old():\n    return 2\n"}))
    _, findings = compared(team, *RIGHT, "  - {action: replaced, kind: method, name: old}")
    assert ("not there", "old", "replaced", "notes.patch changes it") in findings


def test_our_own_summary_is_right(team: Team, tmp_path: Path) -> None:
    everything(team)
    (found,) = team.imported("--label", "own")["overlays"]
    environment, name = team.environment, found["overlay"]
    environment.ok("lock", name, "--overlays", team.overlays)
    environment.ok("build", name, "--overlays", team.overlays, "--out", tmp_path / "wheels")
    (wheel,) = (tmp_path / "wheels").glob("lib_npu-*.whl")
    text = environment.ok("summary", wheel, "--format", "yaml").out
    file = tmp_path / "patch_summary.yaml"
    file.write_text(text.replace(f"dir: {name}", f"dir: {team.commit[:9]}"), "utf-8")
    assert f"dir: {team.commit[:9]}" in file.read_text("utf-8")
    # It tells what all patches do together, and so do these.
    whole = team.diff(
        {path: (content if content else None) for path, content in _after(team, tmp_path).items()}, "--binary"
    )
    for patch in (team.folder / f"lib/{team.commit[:9]}").iterdir():
        patch.unlink()
    team.put("whole.patch", whole)
    compared = team.imported("--summary", file, "--dry-run")["summary"]
    assert compared["findings"] == []
    assert compared["right"] > 10


def _after(team: Team, tmp_path: Path) -> Mapping[str, bytes | None]:
    given = team.given(f"lib@{team.commit[:7]}-own", tmp_path / "own")
    gone = {path: None for path in FILES if path.startswith("src/") and path not in given}
    return {**gone, **{path: content for path, (content, _) in given.items() if content != FILES.get(path)}}


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", [" is empty"]),
        ("a: [", ["is no YAML"]),
        ("- 1\n", [":1: must be keys with values"]),
        ("patches: 1\n", [":1: `patches` must be a list"]),
        ("x: []\n", [":1: has no `patches`"]),
        (
            "patches:\n  - versions:\n      - rev: 1\n        files:\n          - diff: {class_changes: 1}\n",
            [":2: has no `repo`", ":3: has no `dir`", ":5: has no `name`", ":5: `class_changes` must be a list"],
        ),
        ("patches:\n  - repo: a\n    repo: b\n    versions: []\n", [":3: says `repo` twice"]),
        ("patches:\n  - repo: [a]\n    versions: []\n", [":2: `repo` must be a text"]),
        ("patches:\n  - {<<: {versions: []}, repo: a, versions: []}\n", [":2: takes over another mapping by `<<`"]),
    ],
)
def test_a_summary_that_is_none_is_refused_with_all_its_mistakes(
    tmp_path: Path, text: str, problems: list[str]
) -> None:
    file = tmp_path / "patch_summary.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        read_ledger(file)
    said = [str(one) for one in caught.value.problems]
    assert len(said) == len(problems), said
    for message in problems:
        assert any(message in one for one in said), said


def test_a_summary_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_ledger(tmp_path / "nowhere.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_ledger(tmp_path)


def test_what_an_alias_names_is_read_again(tmp_path: Path) -> None:
    text = HEAD.format(commit="0" * 40) + (
        "          - name: a\n            diff: &d\n              module_changes:\n"
        "                - {action: added, kind: method, name: f}\n"
        "          - {name: b, diff: *d}\n"
    )
    file = tmp_path / "patch_summary.yaml"
    file.write_text(text, "utf-8")
    (version,) = read_ledger(file).versions
    first, second = version.files
    assert [(one.action, one.kind, one.symbol) for one in first.entries] == [("added", "method", "f")]
    assert second.entries == first.entries


def test_a_commit_is_no_number(tmp_path: Path) -> None:
    file = tmp_path / "patch_summary.yaml"
    file.write_text("patches: [{repo: A_b, versions: [{rev: 12e4567, dir: 0123456, files: []}]}]\n", "utf-8")
    (version,) = read_ledger(file).versions
    assert (version.repo, version.revision, version.folder) == ("a-b", "12e4567", "0123456")
