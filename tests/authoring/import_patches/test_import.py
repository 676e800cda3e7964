"""`import-patches`, run: whatever a folder of patches holds is given by an overlay, or refused by name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import tomllib

from support.overlays import write_layer

from .conftest import FILES, REPEATED, Team, files

pytestmark = pytest.mark.slow

CORE = "src/lib/core.py"
STOP = ('return "stopped"', 'return "stopped at once"')
SCALE = ("value * 2", "value * 3")
FORMS = ("patches", "operations")


def everything(team: Team) -> None:
    """Put patches that change, add, delete and rename files of every kind."""
    team.edit(CORE, *STOP, "a_core.patch", "Why: Stops at once.\n\n")
    team.edit(CORE, *SCALE, "core.patch")
    after = {
        "src/lib/crlf.yaml": b"a: 1\r\nb: 2\r\n",
        "src/lib/notes.txt": b"one\ntwo\nthree\nfour",
        "src/lib/old.py": None,
        "src/lib/new.py": b'"""New."""\n\n\nclass New:\n    size = 1\n\n    def go(self):\n        return self.size\n',
        "src/lib/new.sh": b"#!/bin/sh\n",
        "src/lib/renamed.sh": FILES["src/lib/run.sh"] + b"echo again\n",
        "src/lib/run.sh": None,
        "src/lib/table.bin": bytes(range(255, -1, -1)),
    }
    diff = team.diff(after, "--binary", "--find-renames=40%")
    assert b"rename from src/lib/run.sh" in diff
    assert b"new file mode 100755" in diff
    assert b"No newline at end of file" in diff
    team.put("files.patch", diff)


@pytest.mark.parametrize("form", FORMS)
def test_whatever_patches_do_the_overlay_gives_it(team: Team, tmp_path: Path, form: str) -> None:
    everything(team)
    report = team.imported("--as", form)
    (found,) = report["overlays"]
    assert found["overlay"] == f"lib@{team.commit[:7]}"
    assert found["commit"] == team.commit
    assert all(found["forms"][each]["same"] and not found["forms"][each]["problems"] for each in FORMS)
    given, expected = team.given(found["overlay"], tmp_path / "given"), team.expected()
    if form == "operations":
        core = [ast.dump(ast.parse(tree.pop(CORE)[0])) for tree in (given, expected)]
        assert core[0] == core[1]
    assert given == expected


def test_a_module_of_which_only_a_comment_is_otherwise_is_counted(team: Team) -> None:
    team.put("core.patch", team.diff({CORE: FILES[CORE] + b"# The end.\n"}))
    (found,) = team.imported("--as", "operations")["overlays"]
    assert found["forms"]["operations"]["otherwise"] == [CORE]


def test_patches_are_kept_with_their_names_and_reasons(team: Team) -> None:
    everything(team)
    (found,) = team.imported()["overlays"]
    assert found["files"] == ["patches/a_core.patch", "patches/core.patch", "patches/files.patch"]
    folder = Path(found["folder"])
    assert (folder / "patches/a_core.patch").read_bytes().startswith(b"Why: Stops at once.\n\ndiff --git")
    assert (folder / "patches/core.patch").read_bytes().startswith(b"Why: As the plugin did.\n\ndiff --git")


def test_operations_are_what_the_patches_do_to_each_symbol(team: Team) -> None:
    everything(team)
    report = team.imported("--as", "operations")
    (found,) = report["overlays"]
    folder = Path(found["folder"])
    text = (folder / f"tree/{CORE}").read_text("utf-8")
    assert "@edited" in text
    assert text.count('why="Stops at once. ') == 0  # another patch of that file gives none
    assert (folder / "tree/src/lib/new.py").read_text("utf-8").startswith('"""New."""')
    assert (folder / "tree/src/lib/new.sh").stat().st_mode & 0o100
    assert {"files": 3, "edited": 2}.items() <= found["operations"].items()


def test_a_patch_that_says_why_says_it_of_its_operations(team: Team) -> None:
    team.edit(CORE, *STOP, "a.patch", "From 1234\nSubject: [PATCH] Stops at once.\n\n")
    (found,) = team.imported("--as", "operations", why="")["overlays"]
    assert 'why="Stops at once."' in (Path(found["folder"]) / f"tree/{CORE}").read_text("utf-8")


HEADER = (
    "Why: {}\nForwarded: https://example.invalid/pull/7\nDrop-when: version 9\nSince: 1.0\nUntil: 9\n"
    "Accept: print: on purpose\nAccept: seed\n\n"
)


def test_all_that_a_patch_says_of_itself_is_said_of_its_operations(team: Team, tmp_path: Path) -> None:
    """Of those it does: the other function of the file is another patch's, which says nothing."""
    team.edit(CORE, *STOP, "a.patch", HEADER.format("Stops."))
    team.edit(CORE, *SCALE, "b.patch")
    after: dict[str, bytes | None] = {
        "src/lib/notes.txt": b"one\n2\nthree",
        "src/lib/new.py": b'"""New."""\n',
        "src/lib/table.bin": bytes(255),
    }
    team.put("c.patch", HEADER.format("Files.").encode() + team.diff(after, "--binary"))
    (found,) = team.imported("--as", "operations")["overlays"]
    folder = Path(found["folder"])
    text = (folder / f"tree/{CORE}").read_text("utf-8")
    said = ['forwarded="https://example.invalid/pull/7"', 'drop_when="version 9"', 'since="1.0"', 'until="9"']
    assert all(text.count(one) == 1 for one in ('why="Stops."', 'why="As the plugin did."', *said))
    assert 'accept=["print: on purpose", "seed"]' in text
    settings = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["tool"]["overlay"]
    bounds = {"since": "1.0", "until": "9", "accept": ["print: on purpose", "seed"]}
    assert settings["file"] == [{"path": "src/lib/new.py", **bounds}]
    why = "Files. (forwarded: https://example.invalid/pull/7) (can go when: version 9)"
    (edit,) = settings["edit"]
    assert {key: edit.get(key) for key in (*bounds, "why")} == {**bounds, "why": why}
    (patch,) = (folder / "patches").iterdir()
    assert patch.read_bytes().startswith(HEADER.format("Files.").encode() + b"diff --git")
    assert team.given(found["overlay"], tmp_path / "given").keys() == team.expected().keys()


def test_a_patch_for_another_version_than_the_pinned_one_is_named(team: Team) -> None:
    team.edit(CORE, *STOP, "a.patch", "Why: Once.\nUntil: 1.0\n\n")
    said = team.refused(code=5)
    assert "would differ from what the patches give" in said
    assert "see that Since and Until of a.patch hold for the version that is pinned" in said


def test_patches_for_different_versions_are_no_operation_together(team: Team) -> None:
    team.edit(CORE, *STOP, "a.patch", "Why: Once.\nUntil: 9\n\n")
    stopped = FILES[CORE].replace(STOP[0].encode(), STOP[1].encode())
    both = team.diff({CORE: stopped.replace(b"stopped at once", b"stopped at last")})
    again = both.replace(b"-        " + STOP[0].encode(), b"-        " + STOP[1].encode())
    team.put("b.patch", b"Why: Twice.\nUntil: 8\n\n" + again)
    said = team.refused("--as", "operations", code=5)
    assert "Engine.stop: is changed by patches with different versions or drop conditions: " in said
    assert "a.patch" in said
    assert "b.patch" in said
    assert "give them the same Since, Until and Drop-when, or keep them as patches" in said
    assert team.run("--why", "w").code == 0


@pytest.mark.parametrize(
    ("form", "name"), [("patches", "patch lib/{}/a.patch"), ("operations", "edited lib/{}/" + CORE)]
)
def test_what_gives_no_reason_needs_one(team: Team, form: str, name: str) -> None:
    team.edit(CORE, *STOP, "a.patch")
    said = team.refused("--as", form, code=2, why="")
    assert name.format(team.commit[:9]) in said
    assert "is new and has no reason" in said


def test_everything_that_cannot_be_taken_over_is_refused_by_name_at_once(team: Team) -> None:
    team.edit(CORE, *STOP, "0-good.patch")
    fitting = team.diff({CORE: FILES[CORE].replace(b"value * 2", b"value * 3")})
    team.put("1-fuzz.patch", fitting.replace(b" \n def scale", b" # c\n def scale"))
    team.put("2-twice.patch", fitting)
    team.put("3-twice.patch", fitting)
    team.put("5-tests.patch", team.diff({"tests/test_core.py": b"def test_more(): ...\n"}))
    team.put("6-gone.patch", fitting.replace(b"core.py", b"nowhere.py"))
    said = team.refused(code=5)
    assert "1-fuzz.patch:5: does not apply" in said
    assert "only with fuzz" in said
    assert "2-twice.patch: was not tried: it changes the same file as 1-fuzz.patch, which does not fit" in said
    assert "5-tests.patch: changes files that are not shipped (only src/lib are): tests/test_core.py" in said
    assert "6-gone.patch:1: does not apply" in said
    assert "0-good.patch" not in said


def test_what_no_overlay_can_hold_is_refused_by_name_at_once(team: Team) -> None:
    fitting = team.diff({CORE: FILES[CORE].replace(b"value * 2", b"value * 3")})
    team.put("cut.patch", fitting.rpartition(b"\n ")[0] + b"\n")
    link = b"new file mode 120000\n--- /dev/null\n+++ b/src/lib/l\n@@ -0,0 +1 @@\n+t\n"
    team.put("link.patch", b"diff --git a/src/lib/l b/src/lib/l\n" + link)
    team.put("mode.patch", b"diff --git a/src/lib/run.sh b/src/lib/run.sh\nold mode 100755\nnew mode 100644\n")
    team.put("empty.patch", b"")
    said = team.refused(code=5)
    for place, what in {
        "cut.patch:5": "is cut off",
        "link.patch:2": "makes or changes a symbolic link",
        "mode.patch:3": "which no overlay can do",
        "empty.patch": "holds no diff",
    }.items():
        assert f"{place}: " in said
        assert what in said


def test_a_last_line_end_is_put_there_and_a_hunk_gets_the_context_it_needs(team: Team, tmp_path: Path) -> None:
    changed = REPEATED.splitlines(keepends=True)
    changed[5] = b"  size: 2\n"
    team.put("items.patch", team.diff({"src/lib/items.yaml": b"".join(changed)}, "-U1"))
    team.put("notes.patch", team.diff({"src/lib/crlf.yaml": b"a: 2\r\nb: 1\r\n"}).removesuffix(b"\n"))
    (found,) = team.imported()["overlays"]
    assert (found["mended"], found["widened"]) == (["notes.patch"], ["items.patch"])
    assert team.given(found["overlay"], tmp_path / "given") == team.expected()
    said = team.run("--why", "w", "--label", "again")
    assert "notes.patch ended in the middle of a line, and was given its end" in said.err
    assert "items.patch has hunks that fit in several places" in said.err


def test_what_a_build_would_refuse_is_written_and_said(team: Team) -> None:
    team.edit(CORE, "return value * 2", "return undefined_name * 2", "a.patch")
    (found,) = team.imported(code=7)["overlays"]
    assert "undefined_name" in found["problems"][0]["what"]
    assert found["forms"]["patches"]["same"]
    assert Path(found["folder"]).is_dir()


@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("src/lib/crlf.yaml", b"a: 1\r\nb: 1\r\na: 2\r\n"),
        ("src/lib/keys.yaml", b"b: 2\n\n- c\n- c\n- c\n- c\na: 1\r\n"),  # twice between two substitutions
    ],
)
def test_what_no_substitution_may_do_is_a_patch_among_the_operations(
    team: Team, tmp_path: Path, path: str, after: bytes
) -> None:
    team.put("a.patch", team.diff({path: after}))
    (found,) = team.imported("--as", "operations")["overlays"]
    assert found["operations"] == {"patches": 1}
    assert team.given(found["overlay"], tmp_path / "given") == team.expected()


def test_a_dry_run_writes_nothing(team: Team) -> None:
    team.edit(CORE, *STOP, "a.patch")
    report = team.imported("--dry-run")
    assert not report["written"]
    assert list(team.overlays.iterdir()) == []
    assert report["overlays"][0]["folder"] == str(team.overlays / f"lib@{team.commit[:7]}")


def test_each_state_of_each_project_is_an_overlay_or_those_that_are_named(team: Team) -> None:
    team.edit(CORE, *STOP, "a.patch")
    newer = team.upstream.commit({"src/lib/more.txt": b"more\n"})
    team.put("b.patch", team.diff({"src/lib/more.txt": b"much more\n"}), place=f"lib/{newer}")
    names = [f"lib@{newer[:7]}", f"lib@{team.commit[:7]}"]
    assert sorted(one["overlay"] for one in team.imported("--dry-run")["overlays"]) == sorted(names)
    only = team.imported("--only", f"lib/{newer}")
    assert [one["overlay"] for one in only["overlays"]] == names[:1]
    said = team.refused("--only", "lib/nothing", "--only", "other", code=2)
    assert "--only lib/nothing: there are no such patches" in said
    assert "--only other: there are no such patches" in said


def test_what_is_wrong_in_one_set_leaves_nothing_of_the_others(team: Team) -> None:
    team.edit(CORE, *STOP, "a.patch")
    newer = team.upstream.commit({"src/lib/more.txt": b"more\n"})
    team.put("b.patch", team.diff({"src/lib/more.txt": b"much\n"}).replace(b"-more", b"-less"), place=f"lib/{newer}")
    assert "b.patch:5: does not apply" in team.refused(code=5)


def test_two_folders_for_one_commit_are_refused(team: Team) -> None:
    team.edit(CORE, *STOP, "a.patch")
    team.put("a.patch", team.diff({CORE: FILES[CORE] + b"X = 1\n"}), place="lib/v1.2.3")
    said = team.refused(code=2)
    assert f"lib@{team.commit[:7]}: would be the name of the overlays of several folders of patches" in said


def test_a_tag_is_a_commit(team: Team) -> None:
    team.put("a.patch", team.diff({CORE: FILES[CORE] + b"X = 1\n"}), place="lib/v1.2.3")
    (found,) = team.imported()["overlays"]
    assert found["commit"] == team.commit
    assert 'tag = "v1.2.3"' in (Path(found["folder"]) / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize(("place", "what"), [("lib/main", "has no tag `main`"), ("lib/0123456", "not found in")])
def test_what_names_no_commit_is_refused(team: Team, place: str, what: str) -> None:
    team.put("a.patch", team.diff({CORE: FILES[CORE] + b"X = 1\n"}), place=place)
    assert what in team.refused(code=4 if "main" in place else 2)


def test_what_is_missing_is_said_at_once(team: Team) -> None:
    team.edit(CORE, *STOP, "a.patch")
    done = team.environment.cli("import-patches", team.folder.parent, "--why", "w")
    said = " ".join(done.err.split())
    assert done.code == 2
    assert "--suffix: is missing" in said
    assert f"lib/{team.commit[:9]}: is a commit, and no repository of it is known" in said


def test_overlays_at_hand_say_what_is_not_said(team: Team) -> None:
    """Of the same project: repository, packages and suffix; the layer beside has no part in it."""
    team.edit(CORE, *STOP, "a.patch")
    first = Path(team.imported("--label", "first")["overlays"][0]["folder"])
    write_layer(team.overlays / "lib", project="lib", files={"tree/src/lib/x.py": b'"""X."""\n'})
    command = ("import-patches", team.folder.parent, "--label", "second", "--why", "w", "--overlays", team.overlays)
    team.environment.ok(*command)
    texts = [
        (team.overlays / f"lib@{team.commit[:7]}-{label}" / "pyproject.toml").read_text("utf-8")
        for label in ("first", "second")
    ]
    assert texts[1].replace("second", "first").replace("layers = []", "").split() != []
    assert "layers = []" in texts[1]
    assert "layers = []" not in texts[0]
    assert 'suffix = "npu"' in texts[1]
    assert (first / "patches/a.patch").is_file()


def test_an_overlay_that_is_there_already_is_not_written_over(team: Team) -> None:
    team.edit(CORE, *STOP, "a.patch")
    team.imported()
    for more in ((), ("--dry-run",)):
        said = team.refused(*more, code=2)
        assert "exists already, and is not empty" in said
        assert "tell it apart with --label WORD" in said


def test_patches_of_a_release_are_for_its_archive(team: Team, tmp_path: Path) -> None:
    from end_to_end.sample import write_archive  # noqa: PLC0415  # of one test

    write_archive(tmp_path / "index")
    diff = team.diff({CORE: FILES[CORE].replace(b"value * 2", b"value * 3")}).replace(b"src/lib", b"lib")
    team.put("a.patch", diff, place="lib/1.2.3")
    (found,) = team.imported("--not-built", "tests")["overlays"]
    assert found["overlay"] == "lib@1.2.3"
    assert [one["file"] for one in found["archives"]] == ["lib-1.2.3-py3-none-any.whl"]


def test_the_report_is_for_people_too(team: Team) -> None:
    team.edit(CORE, *STOP, "a.patch")
    (team.folder / "readme.txt").write_text("Read me.\n", "utf-8")
    team.overlays.mkdir()
    done = team.run("--why", "w")
    assert done.code == 0
    assert f"lib@{team.commit[:7]}: written, from 1 patch file of lib/{team.commit[:9]}" in done.out
    assert "as patches     the same tree as git's, byte for byte (kept)" in done.out
    assert "as operations  the same program in each module, the same bytes elsewhere: 1 edited" in done.out
    assert f"next: npu-overlays lock lib@{team.commit[:7]}\n" in done.out
    assert "readme.txt: is no *.patch, and was passed over" in done.err


def test_a_form_that_cannot_be_had_is_said_of_the_other(team: Team) -> None:
    """A module that is no Python can be patched, and no operation is on it."""
    template = b"def {{ name }}():\n    return 1\n"
    team.upstream.commit({"src/lib/template.py": template})
    commit = team.upstream.git("rev-parse", "HEAD")
    team.put("a.patch", team.diff({"src/lib/template.py": template.replace(b"1", b"2")}), place=f"lib/{commit}")
    (found,) = team.imported()["overlays"]
    assert found["forms"]["patches"]["same"]
    assert not found["forms"]["operations"]["same"]
    assert "template.py" in team.refused("--as", "operations", "--label", "other", code=5)
    assert files(Path(found["folder"])) == {}
