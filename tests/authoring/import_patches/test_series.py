"""`import-patches` of series and mailboxes as distributions and pull requests have them: order, forms, reasons."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from language.overlays import git_diff
from support.marks import rarely

from .conftest import FILES, REPEATED, Team, files

pytestmark = pytest.mark.slow

CORE, NOTES, RUN, TESTS = "src/lib/core.py", "src/lib/notes.txt", "src/lib/run.sh", "tests/test_core.py"
STOP, SCALE = b'return "stopped"', b"value * 2"


class PatchSeries:
    """Patches of which each is made for what the one before leaves.

    Args:
        team: whose upstream they begin at.
        series: the folder of theirs that has a ``series``, below that of the revision.
    """

    def __init__(self, team: Team, series: str = "debian/patches") -> None:
        self.team = team
        self.place = f"lib/{team.commit[:9]}/{series}"
        self.now: dict[str, bytes | None] = dict(FILES)

    def diff(self, after: Mapping[str, bytes | None], *options: str) -> bytes:
        """Return the next patch, by git."""
        before = {path: content for path, content in self.now.items() if content is not None}
        self.now |= after
        return git_diff(self.team.environment, before, after, *options)

    def replace(self, path: str, old: bytes, new: bytes, *options: str) -> bytes:
        """Return the next patch, which changes one text."""
        content = self.now[path] or b""
        assert content.count(old) == 1
        return self.diff({path: content.replace(old, new)}, *options)

    def put(self, name: str, content: bytes) -> None:
        """Put a file beside the series."""
        self.team.put(name, content, place=self.place)

    def shipped(self) -> dict[str, tuple[bytes, bool]]:
        """Return the shipped files after the last patch, with whether each is executable."""
        found = ((path, content) for path, content in sorted(self.now.items()) if path.startswith("src/"))
        return {path: (content, path.endswith(".sh")) for path, content in found if content is not None}


def plain(diff: bytes, old: bytes = b"lib-1.orig/", new: bytes = b"lib-1/") -> bytes:
    """Return a patch as a program other than git writes it."""
    diff = re.sub(rb"^(?:diff --git|index|new file mode|deleted file mode) .*\n", b"", diff, flags=re.MULTILINE)
    time = b"\t2020-01-01 00:00:00.000000000 +0000"
    diff = re.sub(rb"^--- a/(.*)", rb"Index: lib-1/\1\n=====\n--- " + old + rb"\1" + time, diff, flags=re.MULTILINE)
    return re.sub(rb"^\+\+\+ b/(.*)", rb"+++ " + new + rb"\1" + time, diff, flags=re.MULTILINE)


def mail(number: int, subject: str, diff: bytes) -> bytes:
    """Return a mail as `git format-patch` writes it."""
    letter = (
        f"From {number:040} Mon Sep 17 00:00:00 2001\nFrom: Ann {number} <ann@example.invalid>\n"
        f"Date: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH {number}/3] {subject}\n\nBody of {number}.\n---\n"
        " src/lib/core.py | 2 +-\n\n"
    )
    return letter.encode() + diff + b"-- \n2.39.5\n\n"


def every_form(team: Team, *, binary: bool = True) -> PatchSeries:
    """Put a series of patches in every form that quilt takes, and if asked for a binary one of git's."""
    steps = PatchSeries(team)
    lines = [
        "# What Debian has.\n",
        "z-git.patch # first\n",
        "plain.diff\n",
        "level0.patch -p0\n\n",
        "level2.patch -p2\n",
        "empty.patch\n",
        "more/crlf.patch -p1\n",
        "moved.patch\n",
        "box.patch\n",
        "tests.patch\n",
        "twin.patch\n",
        "binary.patch\n" * binary,
    ]
    steps.put("series", "".join(lines).encode())
    dep3 = "Description: Stops at once.\n At long last.\nAuthor: \xc9 <e@example.invalid>\nForwarded: no\n"
    dep3 += "Bug: https://example.invalid/bug/1\nOrigin: upstream, https://example.invalid/commit/1\n\n"
    steps.put("z-git.patch", dep3.encode("latin-1") + steps.replace(CORE, STOP, STOP + b' + " at once"'))
    scaled = (steps.now[CORE] or b"").replace(SCALE, b"value * 3")
    mixed = steps.diff({CORE: scaled, TESTS: b"def test(): pass\n"})
    steps.put("plain.diff", b"Scales by three.\n\n" + plain(mixed))
    steps.put("level0.patch", b"Why: Level 0.\n" + plain(steps.replace(NOTES, b"two\n", b"2\n"), b"", b""))
    level2 = plain(steps.replace(NOTES, b"one\n", b"1\n"), b"a/b/", b"a/b/")
    steps.put("level2.patch", b"Why: Level 2.\n" + level2.partition(b"=====\n")[2])
    steps.put("empty.patch", b"")
    crlf = b"Subject: Was sent through a mailer.\n\n" + steps.replace("src/lib/old.py", b"return 1", b"return 2")
    steps.put("more/crlf.patch", crlf.replace(b"\n", b"\r\n"))
    moved = {"src/lib/new.py": steps.now["src/lib/old.py"], "src/lib/old.py": None, "src/lib/a b.txt": b"odd"}
    steps.put("moved.patch", b"Why: Moves.\n\n" + steps.diff(moved, "--find-renames"))
    box = mail(
        1, "Adds a helper", steps.diff({CORE: (steps.now[CORE] or b"") + b"\n\ndef helper(x):\n    return x + 7\n"})
    )
    box += mail(2, "Renames the helper", steps.replace(CORE, b"helper", b"aid"))
    box += mail(3, "Limits it", steps.replace(CORE, b"LIMIT = 1", b"LIMIT = 2"))
    steps.put("box.patch", box)
    steps.put("tests.patch", b"Why: Tests.\n" + steps.diff({TESTS: None, "docs/x.txt": b"x\n"}))
    changed = REPEATED.splitlines(keepends=True)
    changed[5] = b"  size: 2\n"
    steps.put("twin.patch", b"Why: Twin.\n" + steps.diff({"src/lib/items.yaml": b"".join(changed)}, "-U1"))
    if binary:
        steps.put("binary.patch", b"Why: Binary.\n" + steps.diff({"src/lib/table.bin": bytes(255)}, "--binary"))
    steps.put("unlisted.patch", b"Never applied.\n")
    return steps


def test_a_series_of_every_form_gives_what_quilt_gives(team: Team, tmp_path: Path) -> None:
    steps = every_form(team)
    (found,) = team.imported("--only-shipped")["overlays"]
    assert team.given(found["overlay"], tmp_path / "given") == steps.shipped()
    assert found["files"] == [
        f"patches/{name}.patch"
        for name in (
            "01-z-git", "02-plain", "03-level0", "04-level2", "06-crlf", "07-moved",
            "08-box-1", "09-box-2", "10-box-3", "12-twin", "13-binary",
        )
    ]  # fmt: skip
    assert found["left_out"] == [
        {"patch": "plain.diff", "path": TESTS, "hunks": 1},
        {"patch": "tests.patch", "path": "docs/x.txt", "hunks": 1},
        {"patch": "tests.patch", "path": TESTS, "hunks": 1},
    ]
    assert (found["mended"], found["empty"], found["widened"]) == (["crlf.patch"], ["empty.patch"], ["12-twin.patch"])
    third = (Path(found["folder"]) / "patches/10-box-3.patch").read_text("utf-8")
    assert "From: Ann 3 <ann@example.invalid>" in third
    assert "Subject: [PATCH 3/3] Limits it\n\nBody of 3.\n" in third


def test_what_a_series_leaves_out_and_passes_over_is_said(team: Team) -> None:
    every_form(team)
    team.overlays.mkdir()
    said = team.run("--only-shipped", "--why", "w", "--dry-run").err
    assert "unlisted.patch: is in no series, and was passed over" in said
    assert "empty.patch is empty, and was passed over" in said
    assert "crlf.patch was in CRLF, and was converted to LF" in said
    left = f"tests.patch: left out, with the number of hunks, what no wheel has: docs/x.txt (1), {TESTS} (1)"
    assert left in said


@pytest.mark.skipif(not shutil.which("quilt"), reason="needs quilt, to compare with")
def test_quilt_gives_the_same_of_a_series_of_every_form(team: Team) -> None:
    steps = every_form(team, binary=False)
    folder = team.environment.folder / "pushed"
    team.environment.succeed("git", "clone", "--quiet", team.upstream.path, folder)
    variables = {**team.environment.variables(), "QUILT_PATCHES": str(team.folder / steps.place)}
    subprocess.run(["quilt", "--quiltrc=-", "push", "-a"], cwd=folder, env=variables, check=True)
    assert files(folder) == steps.shipped()


def test_each_operation_has_the_reasons_of_the_patches_that_made_it(team: Team) -> None:
    every_form(team)
    (found,) = team.imported("--only-shipped", "--as", "operations")["overlays"]
    text = (Path(found["folder"]) / f"tree/{CORE}").read_text("utf-8")
    whys = re.findall(r'why="([^"]*)"', text)
    assert whys == ["Limits it", "Stops at once.", "Scales by three.", "Adds a helper; Renames the helper"]
    assert text.count('forwarded="https://example.invalid/commit/1"') == 1


def test_a_patch_that_another_takes_back_is_imported_and_said_to_have_no_effect(team: Team, tmp_path: Path) -> None:
    steps = PatchSeries(team)
    steps.put("series", b"a.patch\nb.patch\nc.patch\n")
    steps.put("a.patch", b"Why: A.\n" + steps.replace(CORE, SCALE, b"value * 3"))
    steps.put("b.patch", b"Why: B.\n" + steps.replace(CORE, STOP, b'return "halted"'))
    steps.put("c.patch", b"Why: C.\n" + steps.replace(CORE, b"value * 3", SCALE))
    (found,) = team.imported()["overlays"]
    said = [f"{name}.patch: has no effect in the end: other patches and it cancel out" for name in "ac"]
    assert [one.rpartition("/")[2] for one in found["forms"]["patches"]["notices"]] == said
    done = team.environment.ok("lock", found["overlay"], "--overlays", team.overlays)
    assert all(one in " ".join(done.err.split()) for one in said)
    assert team.given(found["overlay"], tmp_path / "given") == steps.shipped()


def test_all_findings_of_a_folder_are_reported_at_once(team: Team) -> None:
    steps = PatchSeries(team, "quilt")
    lines = b"good.patch\nnowhere.patch\ngood.patch\nback.patch -R\nfuzz.patch\nmode.patch\nprose.patch\ntests.patch\n"
    steps.put("series", lines)
    steps.put("good.patch", b"Why: Good.\n" + steps.replace(CORE, STOP, b'return "halted"'))
    steps.put("back.patch", b"Why: Back.\n")
    fuzzy = steps.replace(CORE, b"speed = 1", b"speed = 2").replace(b" class Engine:", b" class Motor:")
    steps.put("fuzz.patch", b"Why: Fuzz.\n" + fuzzy)
    mode = b"diff --git a/src/lib/run.sh b/src/lib/run.sh\nold mode 100755\nnew mode 100644\n"
    steps.put("mode.patch", b"Why: Mode.\n" + mode + mode.replace(RUN.encode(), b"tests/run.sh"))
    steps.put("prose.patch", b"Nothing but prose.\n")
    steps.put("tests.patch", b"Why: Tests.\n" + steps.diff({TESTS: None}))
    team.put("core.patch", FILES[CORE], place="other project/1.0")
    said = team.refused(code=2)
    for what in (
        "quilt/series:2: there is no nowhere.patch",
        "quilt/series:3: lists good.patch twice",
        "quilt/series:4: gives back.patch -R, and only -pN is known",
        "other project/: is no name of a project",
        "core.patch: holds no diff",
        "fuzz.patch:6: does not apply",
        f"the hunk at line 9 of {CORE} fits only with fuzz 1, at line 9, which has `class Engine:` for `class Motor:`",
        "mode.patch:4: changes whether a file of upstream's is executable",
        "prose.patch: holds no diff",
        f"tests.patch: changes files that are not shipped (only src/lib are): {TESTS}",
        "leave it out with --only-shipped",
    ):
        assert what in said
    assert "good.patch: " not in said


def test_a_patch_of_another_program_that_does_not_fit_is_refused_by_the_line_of_its_file(team: Team) -> None:
    steps = PatchSeries(team, "")
    fitting = plain(steps.diff({"src/lib/new.txt": b"x\n"}))
    other = plain(steps.replace(CORE, STOP, b'return "halted"').replace(b"def stop", b"def halt"))
    steps.put("a.patch", b"Why: A.\n" + fitting + other)
    steps.put("b.patch", b"Why: B.\n" + plain(git_diff(team.environment, {}, {NOTES: b"x\n"})))
    said = team.refused(code=5)
    line = 2 + (fitting + other).count(b"\n", 0, (fitting + other).rindex(b"\n@@"))
    assert f"a.patch:{line + 1}: does not apply: error: patch failed: {CORE}" in said
    assert f"b.patch:2: does not apply: error: {NOTES}: already exists" in said


def test_packages_of_a_wheel_are_found_where_the_patches_have_them(team: Team, tmp_path: Path) -> None:
    from end_to_end.sample import write_archive  # noqa: PLC0415  # of one test

    write_archive(tmp_path / "index")
    steps = PatchSeries(team, "")
    steps.put("series", b"a.patch\n")
    steps.put("a.patch", b"Why: Three.\n" + steps.replace(CORE, SCALE, b"value * 3"))
    shutil.move(team.folder / steps.place, team.folder / "lib/1.2.3")
    (found,) = team.imported("--not-built", "tests")["overlays"]
    assert 'packages = ["src/lib", ' in (Path(found["folder"]) / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("suffix", [*rarely(".gz", ".bz2"), ".xz"])
def test_a_compressed_patch_of_a_series_is_unpacked(team: Team, tmp_path: Path, suffix: str) -> None:
    steps = PatchSeries(team)
    pack: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    steps.put("series", f"a.patch{suffix}\n".encode())
    steps.put(f"a.patch{suffix}", pack[suffix](b"Why: A.\n" + steps.replace(CORE, STOP, b'return "over"')))
    (found,) = team.imported()["overlays"]
    assert found["files"] == ["patches/a.patch"]
    assert team.given(found["overlay"], tmp_path / "given") == steps.shipped()


def test_a_patch_that_cannot_be_unpacked_and_context_diffs_are_named(team: Team) -> None:
    steps = PatchSeries(team)
    context = f"*** a/{NOTES}\n--- b/{NOTES}\n***************\n*** 1 ****\n! one\n--- 1 ----\n! 1\n".encode()
    steps.put("series", b"broken.patch.gz\ncontext.patch\nmixed.patch\n")
    steps.put("broken.patch.gz", gzip.compress(b"Why: A.\n")[:-9])
    steps.put("context.patch", b"Why: Context.\n" + context)
    steps.put("mixed.patch", b"Why: Mixed.\n" + steps.replace(CORE, STOP, b'return "over"') + context)
    refused = team.refused(code=2)
    assert "broken.patch.gz: cannot be unpacked: Compressed file ended before" in refused
    assert "context.patch: is a context diff fix: make it with git diff" in refused
    assert "mixed.patch:15: holds a context diff" in refused


def test_options_of_a_series_mean_what_they_mean_to_quilt(team: Team, tmp_path: Path) -> None:
    steps = PatchSeries(team)
    steps.put("series", b"\xef\xbb\xbfa.patch -p 0\nb.patch --strip=2 --fuzz=0\nc.patch -F 1\n")
    steps.put("a.patch", b"Why: A.\n" + plain(steps.replace(NOTES, b"two\n", b"2\n"), b"", b""))
    level2 = plain(steps.replace(NOTES, b"one\n", b"1\n"), b"a/b/", b"a/b/")
    steps.put("b.patch", b"Why: B.\n" + level2.partition(b"=====\n")[2])
    steps.put("c.patch", b"Why: C.\n" + steps.replace(CORE, STOP, b'return "halted"'))
    (found,) = team.imported()["overlays"]
    assert team.given(found["overlay"], tmp_path / "given") == steps.shipped()


def test_an_unknown_option_of_a_series_is_not_taken_for_a_patch_backwards(team: Team) -> None:
    steps = PatchSeries(team)
    steps.put("series", b"a.patch -E\n")
    steps.put("a.patch", b"Why: A.\n" + steps.replace(CORE, STOP, b'return "halted"'))
    assert "series:1: gives a.patch -E, and only -pN is known fix: delete that option" in team.refused(code=2)


def test_a_cover_letter_in_a_file_of_its_own_is_passed_over(team: Team) -> None:
    steps = PatchSeries(team, "")
    steps.put("0000-cover.patch", b"From: A <a@example.invalid>\nSubject: [PATCH 0/1] All of it\n\nHello.\n")
    steps.put("0001-halt.patch", mail(1, "Halts", steps.replace(CORE, STOP, b'return "halted"')))
    (found,) = team.imported(why="")["overlays"]
    assert (found["files"], found["mended"]) == (["patches/0001-halt.patch"], ["0000-cover.patch"])


@pytest.mark.parametrize(
    ("above", "why"),
    [
        ("Subject: Re: [PATCH] Talk\n\nHello.\n\n-- >8 --\nSubject: [PATCH] Halts at last\n\nBody.\n", "Halts at last"),
        ("Subject: Re: [PATCH v2] Halts\n\nHello.\n\n-- 8< --\nBody.\n", "Halts"),
        ("# HG changeset patch\n# User A\n# Date 1 0\n# Node ID ab\n# Parent  cd\nHalts hard\n\nBody.\n", "Halts hard"),
        ("From: A <a@example.invalid>\nSubject: \n\n---\n", "As the plugin did."),
    ],
)
def test_a_reason_is_what_the_commit_would_say(team: Team, above: str, why: str) -> None:
    steps = PatchSeries(team, "")
    steps.put("a.patch", above.encode() + steps.replace(CORE, STOP, b'return "halted"'))
    (found,) = team.imported("--as", "operations")["overlays"]
    assert f'why="{why}"' in (Path(found["folder"]) / f"tree/{CORE}").read_text("utf-8")


def test_a_file_whose_name_is_not_in_utf8_is_refused_as_such(team: Team) -> None:
    steps = PatchSeries(team, "")
    named = steps.diff({"src/lib/x.txt": b"x\n"}).replace(b"src/lib/x.txt", b"src/lib/\xfc.txt")
    steps.put("a.patch", b"Why: A.\n" + named)
    assert "whose name is not in UTF-8 fix: leave that file out" in team.refused(code=5)


@pytest.mark.parametrize("form", ["operations", *rarely("patches")])
def test_a_mail_that_changes_the_mode_of_a_file_an_earlier_one_added(team: Team, tmp_path: Path, form: str) -> None:
    steps, tool = PatchSeries(team, ""), "src/lib/tool.sh"
    box = mail(1, "Adds a tool", steps.diff({tool: b"#!/bin/sh\n"}).replace(b"mode 100755", b"mode 100644"))
    box += mail(2, "Runs it", f"diff --git a/{tool} b/{tool}\nold mode 100644\nnew mode 100755\n".encode())
    steps.put("pr.patch", box)
    (found,) = team.imported("--as", form)["overlays"]
    assert team.given(found["overlay"], tmp_path / "given") == steps.shipped()


def test_a_mistake_in_a_mailbox_and_beside_what_is_left_out_names_the_line_of_its_file(team: Team) -> None:
    steps = PatchSeries(team, "")
    tests = steps.diff({TESTS: b"def test(): pass\n"})
    other = steps.replace(CORE, b"speed = 1", b"speed = 2").replace(b" class Engine:", b" class Motor:")
    box = mail(1, "Tests", tests) + mail(2, "Speeds", steps.diff({TESTS: None}) + other)
    steps.put("pr.patch", box)
    line = box.count(b"\n", 0, box.index(b"@@", box.index(b"a/" + CORE.encode()))) + 1
    assert f"pr.patch:{line}: does not apply" in team.refused("--only-shipped", code=5)
