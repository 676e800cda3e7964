"""Git patches: applied without fuzz in name order, refused where they do not fit or cannot be shipped."""

from __future__ import annotations

import quopri
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from npu_overlays.changes.patch_series import ineffective
from npu_overlays.changes.reconciliation import declarations
from npu_overlays.errors import MergeError
from npu_overlays.merge.patch_application import apply_as_git_does, apply_patch, placed_otherwise
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.mails import mails, with_mail
from npu_overlays.overlay.patches import line_of, read_patch
from npu_overlays.overlay.sections import letter
from support.environment import Environment

from .overlays import HEADER, apply, apply_files, git_diff, layer, load, mistakes, write
from .pairs import patched

LINES = b"".join(b"line %d\n" % number for number in range(20))
UPSTREAM = {
    "pkg/a.py": b"def f():\n    return 1\n\n\ndef g():\n    return 1\n",
    "pkg/b.yaml": LINES,
    "pkg/crlf.yaml": b"a: 1\r\nb: 1\r\n",
    "pkg/gone.yaml": b"x: 1\n",
}
_OTHER_MODE = "changes whether a file of upstream's is executable, which no overlay can do"


def _patch(diff: bytes, header: str = HEADER) -> OverlayFile:
    return OverlayFile(layer="o", path="0.patch", file="o/patches/0.patch", content=header.encode() + diff)


def _apply(diff: bytes, upstream: Mapping[str, bytes] = UPSTREAM) -> Mapping[str, bytes | None]:
    return apply_patch(read_patch(_patch(diff)), patched(upstream, {}), absent=frozenset()).changed


def _refused(diff: bytes, upstream: Mapping[str, bytes] = UPSTREAM) -> list[str]:
    with pytest.raises(MergeError) as caught:
        _apply(diff, upstream)
    return [message.removeprefix("o/patches/0.patch").removeprefix(": ") for message in mistakes(caught.value)]


def test_a_patch_changes_adds_deletes_and_renames(environment: Environment) -> None:
    after = {
        "pkg/a.py": b"x = 1\n",
        "pkg/gone.yaml": None,
        "pkg/new.yaml": b"new\n",
        "pkg/empty.txt": b"",
        "pkg/b.yaml": None,
        "pkg/renamed.yaml": LINES + b"more\n",
        "pkg/a b é.txt": b"odd\n",
    }
    diff = git_diff(environment, UPSTREAM, after, "--find-renames")
    assert b"rename from pkg/b.yaml" in diff
    assert set(read_patch(_patch(diff)).paths) == set(after)
    assert _apply(diff) == after


def test_an_empty_file_with_a_space_in_its_name(environment: Environment) -> None:
    after = {"pkg/a b.txt": b"", "pkg/é b.txt": b""}
    assert _apply(git_diff(environment, UPSTREAM, after)) == after


def test_binary_files_are_patched(environment: Environment) -> None:
    after = {"pkg/data.bin": bytes(range(256)) * 4}
    diff = git_diff(environment, UPSTREAM, after, "--binary")
    assert _apply(diff) == after


def test_text_in_a_hunk_is_not_taken_for_a_header(environment: Environment) -> None:
    before = {"pkg/q.sql": b"-- /etc/passwd\n++ x\nrename from ../y\nselect\n"}
    after = {"pkg/q.sql": b"select\ndiff --git a/../z b/../z\n-- b/w\n"}
    diff = git_diff(environment, before, after)
    assert b"\n--- /etc/passwd\n" in diff
    assert read_patch(_patch(diff)).paths == ("pkg/q.sql",)
    assert _apply(diff, before) == after


def test_text_in_a_hunk_of_one_line_is_not_taken_for_a_header(environment: Environment) -> None:
    diff = git_diff(environment, {"pkg/q.sql": b"-- /etc/passwd\n"}, {"pkg/q.sql": b"select\n"})
    assert b"@@ -1 +1 @@\n--- /etc/passwd\n" in diff
    assert read_patch(_patch(diff)).paths == ("pkg/q.sql",)


def test_moved_lines_are_found_but_changed_ones_are_not(environment: Environment) -> None:
    after = {"pkg/b.yaml": LINES.replace(b"line 10\n", b"line ten\n")}
    diff = git_diff(environment, UPSTREAM, after)
    moved = {"pkg/b.yaml": b"first\n" * 7 + LINES}
    assert _apply(diff, moved) == {"pkg/b.yaml": b"first\n" * 7 + after["pkg/b.yaml"]}
    other = {"pkg/b.yaml": LINES.replace(b"line 8\n", b"line  8\n")}
    assert _refused(diff, other) == [
        (
            ":6: does not apply: error: patch failed: pkg/b.yaml:8\nerror: pkg/b.yaml: patch does not apply;"
            " make it again on the pinned commit (npu-overlays show names it);"
            " the hunk at line 8 of pkg/b.yaml fits only with fuzz 2, at line 8, which has `line  8` for `line 8`"
        )
    ]


def test_the_users_git_configuration_makes_no_difference(
    tmp_path: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    diff = git_diff(environment, UPSTREAM, {"pkg/b.yaml": LINES.replace(b"line 10\n", b"line ten\n")})
    config = tmp_path / "loose"
    config.write_text("[apply]\n\tignoreWhitespace = change\n\twhitespace = fix\n[core]\n\tautocrlf = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert _refused(diff, {"pkg/b.yaml": LINES.replace(b"line 8\n", b"line  8\n")})[0].startswith(":6: does not")


def test_a_patch_that_is_upstream_already_is_refused(environment: Environment) -> None:
    after = {"pkg/a.py": b"x = 1\n"}
    diff = git_diff(environment, UPSTREAM, after)
    assert _refused(diff, after) == [":6: is already upstream; delete the patch"]


def test_a_patch_that_another_one_made_needless_is_refused(environment: Environment) -> None:
    after = {"pkg/a.py": b"x = 1\n"}
    patch = read_patch(_patch(git_diff(environment, UPSTREAM, after)))
    with pytest.raises(MergeError, match=r"is done already, by operations before it\n    fix: delete the patch"):
        apply_patch(patch, patched(UPSTREAM, after), absent=frozenset())


def test_a_patch_of_what_is_not_there_is_refused(environment: Environment) -> None:
    diff = git_diff(environment, UPSTREAM, {"pkg/a.py": b"x = 1\n"})
    (message,) = _refused(diff, {"pkg/b.yaml": b""})
    assert message.startswith(":2: does not apply: error: pkg/a.py: No such file or directory")


@pytest.mark.parametrize("content", [b"", b"\n", b"Why: something\n", b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"])
def test_a_patch_without_a_diff_is_refused(content: bytes) -> None:
    with pytest.raises(MergeError, match=r"0.patch: holds no `diff --git`\n    fix: export it with git diff"):
        read_patch(_patch(content, header=""))


@pytest.mark.parametrize(
    "lines",
    [
        "old mode 100644\nnew mode 100755\n",
        "old mode 100644\nnew mode 100755\n--- a/pkg/s\n+++ b/pkg/s\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_a_mode_that_no_overlay_can_say_is_refused(lines: str) -> None:
    assert _refused(f"diff --git a/pkg/s b/pkg/s\n{lines}".encode(), {"pkg/s": b"a\n"}) == [
        f":4: {_OTHER_MODE}; take the lines with its modes out"
    ]


@pytest.mark.parametrize(("upstream", "new"), [(True, b"644"), (False, b"755")])
def test_a_file_of_upstreams_that_is_deleted_and_made_anew_with_another_mode_is_refused(
    upstream: bool, new: bytes
) -> None:
    tree = patched({"pkg/s": b"a\n"}, {})
    entry = replace(tree.upstream.entries["pkg/s"], executable=upstream)
    tree = replace(tree, upstream=replace(tree.upstream, entries={"pkg/s": entry}), changed={"pkg/s": None})
    made = b"diff --git a/pkg/s b/pkg/s\nnew file mode 100%s\n--- /dev/null\n+++ b/pkg/s\n@@ -0,0 +1 @@\n+b\n"
    with pytest.raises(MergeError) as caught:
        apply_patch(read_patch(_patch(made % new)), tree, absent=frozenset())
    assert mistakes(caught.value) == [f"o/patches/0.patch:3: {_OTHER_MODE}; make the file with upstream's mode"]
    same = read_patch(_patch(made % (b"755" if upstream else b"644")))
    assert apply_patch(same, tree, absent=frozenset()).modes == {}


@pytest.mark.parametrize("how", ["rename", "copy"])
def test_a_renamed_or_copied_file_gets_the_mode_that_the_patch_gives_it(how: str) -> None:
    modes = b"old mode 100644\nnew mode 100755\nsimilarity index 100%\n"
    moved = f"{how} from pkg/s\n{how} to pkg/t\n".encode()
    patch = read_patch(_patch(b"diff --git a/pkg/s b/pkg/t\n" + modes + moved))
    assert apply_patch(patch, patched({"pkg/s": b"a\n"}, {}), absent=frozenset()).modes == {"pkg/t": True}


def test_a_new_file_is_executable_where_a_patch_says_so_and_a_renamed_one_stays_so() -> None:
    new = b"new file mode 100755\nindex 0000000..1111111\n--- /dev/null\n+++ b/pkg/s\n@@ -0,0 +1 @@\n+#!/bin/sh\n"
    made = apply_patch(read_patch(_patch(b"diff --git a/pkg/s b/pkg/s\n" + new)), patched({}, {}), absent=frozenset())
    assert made.modes == {"pkg/s": True}
    moved = b"diff --git a/pkg/s b/pkg/t\nsimilarity index 100%\nrename from pkg/s\nrename to pkg/t\n"
    tree = replace(patched({}, {"pkg/s": b"x\n"}), executable=frozenset(["pkg/s"]))
    assert apply_patch(read_patch(_patch(moved)), tree, absent=frozenset()).modes == {"pkg/t": True}


def test_a_file_has_the_mode_of_the_patch_that_made_it_last(tmp_path: Path, environment: Environment) -> None:
    made = b"new file mode 100755\nindex 0000000..1111111\n--- /dev/null\n+++ b/pkg/%s\n@@ -0,0 +1 @@\n+1\n"
    first = b"".join(b"diff --git a/pkg/%s b/pkg/%s\n" % (name, name) + made % name for name in (b"s", b"t"))
    before = {"pkg/s": b"1\n", "pkg/t": b"1\n"}
    files: dict[str, str | bytes] = {
        "patches/1.patch": b"Why: 1\n" + first,
        "patches/2.patch": b"Why: 2\n" + git_diff(environment, before, {"pkg/s": b"2\n", "pkg/t": None}),
        "patches/3.patch": b"Why: 3\n" + git_diff(environment, {}, {"pkg/t": b"3\n"}),
    }
    tree = apply_files(tmp_path, UPSTREAM, files).tree
    assert [(tree.after(path), tree.is_executable(path)) for path in before] == [(b"2\n", True), (b"3\n", False)]


def test_a_later_patch_changes_the_mode_of_a_file_that_an_earlier_one_added(
    tmp_path: Path, environment: Environment
) -> None:
    mode = b"diff --git a/pkg/%s b/pkg/%s\nold mode 100%s\nnew mode 100%s\n"
    modes = mode % (b"s", b"s", b"644", b"755") + mode % (b"t", b"t", b"755", b"644")
    made = git_diff(environment, {}, {"pkg/s": b"1\n", "pkg/t": b"1\n"})
    files: dict[str, str | bytes] = {
        "patches/1.patch": b"Why: 1\n"
        + made.replace(b"new file mode 100644", b"new file mode 100755").replace(
            b"new file mode 100755", b"new file mode 100644", 1
        ),
        "patches/2.patch": b"Why: 2\n" + modes,
    }
    content = load(tmp_path, write(tmp_path, files))
    applied = apply(UPSTREAM, content)
    assert [applied.tree.is_executable(path) for path in ("pkg/s", "pkg/t")] == [True, False]
    assert list(ineffective(content.patches, applied.patched)) == [
        "pkg@1111111/patches/2.patch: no summary lists what it changes: modes alone, or files that this source lacks"
    ]


HUNK = b"diff --git a/pkg/s b/pkg/s\n--- a/pkg/s\n+++ b/pkg/s\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+C\n c\n"


@pytest.mark.parametrize(
    ("diff", "what"),
    [
        (HUNK.removesuffix(b" c\n"), "at line 1 of pkg/s is cut off: it has fewer lines than its head counts"),
        (HUNK.replace(b"-b\n", b""), "at line 1 of pkg/s is cut off"),
        (HUNK.replace(b"+C\n", b"") + HUNK.replace(b"pkg/s", b"pkg/t"), "at line 1 of pkg/s is cut off"),
        (HUNK.replace(b"+C\n", b"+C\n+D\n"), "at line 1 of pkg/s has other lines than its head counts"),
        (HUNK + b" d\n", "at line 1 of pkg/s goes on behind the lines that its head counts, which git leaves out"),
        (HUNK.removesuffix(b"\n"), "ends in the middle of a line"),
        (
            HUNK.replace(b"--- a/pkg/s\n", b"Binary files a/pkg/s and b/pkg/s differ\n"),
            "says that a binary file differs",
        ),
        (HUNK.replace(b"--- a", b"index 0000000..1111111 160000\n--- a"), "makes or changes a submodule"),
    ],
)
def test_what_git_would_leave_out_or_cannot_read_is_refused_by_name(diff: bytes, what: str) -> None:
    with pytest.raises(MergeError, match=what):
        read_patch(_patch(diff))


@pytest.mark.parametrize(
    "tail", [b"", b"-- \n2.39.5\n\n", b"--\n2.39.5\n", b"--- a/pkg/t\n+++ b/pkg/t\n@@ -1 +1 @@\n-a\n+b\n"]
)
def test_what_may_follow_a_hunk_is_no_part_of_it(tail: bytes) -> None:
    assert read_patch(_patch(HUNK + tail)).hunks[0].before == (b"a\n", b"b\n", b"c\n")


def test_a_mode_inside_a_hunk_is_text(environment: Environment) -> None:
    after = {"pkg/notes.txt": b"old mode 100644\nnew mode 100755\n"}
    assert _apply(git_diff(environment, UPSTREAM, after)) == after


def test_a_patch_in_crlf_is_refused_and_one_of_a_crlf_file_is_not(environment: Environment) -> None:
    after = {"pkg/crlf.yaml": b"a: 1\r\nb: 2\r\n"}
    diff = git_diff(environment, UPSTREAM, after)
    assert _apply(diff) == after
    with pytest.raises(MergeError, match="has CRLF line ends, so that no hunk can fit"):
        _apply(diff.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


@pytest.mark.parametrize("lost", [True, False])
def test_a_patch_whose_lines_were_converted_is_told_so(environment: Environment, lost: bool) -> None:
    ends = (b"\r\n", b"\n") if lost else (b"\n", b"\r\n")
    before = {"pkg/x.yaml": LINES.replace(b"\n", ends[0])}
    diff = git_diff(environment, before, {"pkg/x.yaml": before["pkg/x.yaml"].replace(b"10", b"ten")})
    head, mark, body = diff.partition(b" @@")
    context, newline, rest = body.partition(b"\n")
    body = context + newline + rest.replace(*ends)
    (message,) = _refused(head + mark + body, before)
    assert "pkg/x.yaml has other line ends (CRLF, LF) than the patch" in message


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside", "pkg/../../outside", "pkg//a", "./a", "pkg/./a", "a\\b"])
def test_paths_that_leave_the_repository_are_refused(path: str) -> None:
    diff = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n".encode()
    with pytest.raises(MergeError, match="which is not a plain path inside the repository"):
        read_patch(_patch(diff))
    bare = f"diff --git {path} {path}\n--- {path}\n+++ {path}\n@@ -0,0 +1 @@\n+x\n".encode()
    with pytest.raises(MergeError, match="which is not a plain path inside the repository"):
        read_patch(_patch(bare))
    renamed = f"diff --git a/pkg/a b/{path}\nsimilarity index 100%\nrename from pkg/a\nrename to {path}\n".encode()
    with pytest.raises(MergeError, match="which is not a plain path inside the repository"):
        read_patch(_patch(renamed))


@pytest.mark.parametrize(
    "lines",
    [
        "new file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/pkg/l\n@@ -0,0 +1 @@\n+target\n",
        "index 0000000..1111111 120000\n--- a/pkg/l\n+++ b/pkg/l\n@@ -1 +1 @@\n-a\n+b\n",
        "old mode 100644\nnew mode 120000\n",
        "deleted file mode 120000\nindex 1111111..0000000\n--- a/pkg/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    ],
)
def test_symbolic_links_are_refused(lines: str) -> None:
    with pytest.raises(MergeError, match="makes or changes a symbolic link, which a wheel cannot hold"):
        read_patch(_patch(f"diff --git a/pkg/l b/pkg/l\n{lines}".encode()))


def test_all_mistakes_of_a_patch_are_reported_at_once() -> None:
    diff = b"diff --git a/../x b/../x\r\nnew file mode 120000\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+y\n"
    with pytest.raises(MergeError) as caught:
        read_patch(_patch(diff, header="\n"))
    assert [problem.what.partition(",")[0] for problem in caught.value.problems] == [
        "has CRLF line ends",
        "makes or changes a symbolic link",
        "touches `../x`",
        "gives no reason",
    ]


@pytest.mark.parametrize(
    ("header", "why", "forwarded", "drop_when"),
    [
        ("Why: one\nForwarded: url\nDrop-when: never\n", "one", "url", "never"),
        ("Description: two\n", "two", "", ""),
        ("From 1234 Mon\nFrom: A <a@b>\nDate: today\nSubject: [PATCH 1/2] three\n---\n x | 1 +\n", "three", "", ""),
        ("Subject: [PATCH] a long\n subject\n\tgoes on\nwhy: short\n", "short", "", ""),
        ("Subject: [PATCH] a long\n subject\n\tgoes on\n\nBody.\n", "a long subject goes on", "", ""),
        (
            "Subject: [PATCH] =?UTF-8?q?scale:=20=E4=B8=89=E5=80=8D?=\n =?UTF-8?b?77yM5LiJ5YCN?=\n---\n",
            "scale: 三倍，三倍",
            "",
            "",
        ),
        ("Subject: [PATCH] is =?no?q?charset?=\n---\n", "is =?no?q?charset?=", "", ""),
        (
            "".join(f"From {number:040} Mon Sep 17 00:00:00 2001\nSubject: {number}\n---\n" for number in (1, 2)),
            "1; 2",
            "",
            "",
        ),
        ("Just prose.\nMore of it.\n", "Just prose.", "", ""),
        ("Description: short\n long\n .\n more\nForwarded: no\nBug: https://u/1\n", "short", "https://u/1", ""),
        ("Description:\n short\nForwarded:\nLast-Update: 2020-02-02\n", "short", "", ""),
        ("Origin: backport, https://u/c\nForwarded: not-needed\n\nProse.\n", "Prose.", "https://u/c", ""),
        ("Author: A <a@b>\nBug-Debian: https://d/1\nReviewed-by: B\nLast-Update: 2020\n\n# Prose.\n", "Prose.", "", ""),
        ("Applied-Upstream: 1.2, https://u/c\nSubject: [PATCH] one\n\n pkg/a.py | 2 +-\n", "one", "https://u/c", ""),
        ("---\n pkg/a.py | 2 +-\n 1 file changed, 1 insertion(+)\n\nProse.\n", "Prose.", "", ""),
        ("From 1234 Mon\nFrom: A <a@b>\nDate: today\n\n---\nProse.\n", "Prose.", "", ""),
        (
            "commit 0123456789 (HEAD)\nAuthor: A <a@b>\nDate:   today\n\n    As git show has it.\n",
            "As git show has it.",
            "",
            "",
        ),
    ],
)
def test_the_reason_stands_above_the_first_diff(header: str, why: str, forwarded: str, drop_when: str) -> None:
    diff = b"diff --git a/pkg/a b/pkg/a\n--- a/pkg/a\n+++ b/pkg/a\n@@ -1 +1 @@\n-a\n+Why: not me\n"
    reason = read_patch(_patch(diff, header=header)).reason
    assert (reason.why, reason.forwarded, reason.drop_when) == (why, forwarded, drop_when)


def _mail(number: int, subject: str, diff: bytes, letter: str = "") -> bytes:
    first = (
        f"From {number:040} Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH {number}/3] {subject}\n{letter}\n"
    )
    return first.encode() + b"Body.\n---\n pkg/a.py | 2 +-\n\n" + diff + b"-- \n2.39.5\n\n"


def _mailbox(environment: Environment) -> bytes:
    """Return a letter, a mail that adds a function, one that renames it, and one that was encoded."""
    added = UPSTREAM["pkg/a.py"] + b"\n\ndef h():\n    return 3\n"
    renamed = {"pkg/a.py": added.replace(b"def h", b"def k")}
    other = git_diff(environment, UPSTREAM, {"pkg/gone.yaml": b"x: 'd\xc3\xa9j\xc3\xa0 vu'\n"})
    encoded = quopri.encodestring(b"Body.\n---\n\n" + other)
    return (
        _mail(0, "Cover letter", b"")
        + _mail(1, "Adds", git_diff(environment, UPSTREAM, {"pkg/a.py": added}))
        + _mail(2, "Renames", git_diff(environment, {**UPSTREAM, "pkg/a.py": added}, renamed))
        + b"From a@b  Tue Jan  2 03:04:05 2024\nSubject: =?utf-8?q?D=C3=A9j=C3=A0?=\n"
        b"Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: quoted-printable\n\n" + encoded
    )


def test_each_mail_of_a_mailbox_is_a_patch_of_its_own(tmp_path: Path, environment: Environment) -> None:
    applied = apply_files(tmp_path, UPSTREAM, {"patches/pr.patch": _mailbox(environment)})
    assert [(one.symbol, one.reason.why, one.where.partition("/")[2]) for one in declarations(applied)] == [
        ("k", "Adds", "patches/pr.patch#2"),
        ("k", "Renames", "patches/pr.patch#3"),
        ("gone.yaml", "Déjà", "patches/pr.patch#4"),
    ]
    assert applied.tree.after("pkg/gone.yaml") == "x: 'déjà vu'\n".encode()


def test_several_letters_above_one_diff_are_one_patch(environment: Environment) -> None:
    diff = git_diff(environment, UPSTREAM, {"pkg/a.py": b"x = 1\n"})
    squashed = _mail(1, "First", b"") + _mail(2, "Second", diff)
    assert [one[:2] for one in mails(squashed)] == [(0, squashed)]
    assert read_patch(_patch(squashed, header="")).reason.why == "First; Second"


@pytest.mark.parametrize(("name", "left"), [("pr.patch", []), ("pr.patch#3", ["pr.patch#2", "pr.patch#4"])])
def test_a_mailbox_or_one_of_its_mails_is_dropped_by_name(
    tmp_path: Path, environment: Environment, name: str, left: list[str]
) -> None:
    layer(tmp_path, {"patches/pr.patch": _mailbox(environment)})
    drop = f'[[tool.overlay.drop]]\nname = "{name}"\nwhy = "w"\n'
    assert [one.path for one in load(tmp_path, write(tmp_path, {}, config=drop)).patches] == left


def test_a_mail_gets_another_diff_or_is_taken_out(environment: Environment) -> None:
    mailbox = _mailbox(environment)
    other = _mail(2, "Renames", b"diff --git a/x b/x\n")
    assert {one.number: one.content for one in mails(with_mail(mailbox, 3, other))}[3] == other
    without = with_mail(mailbox, 2, b"")
    assert [one[:2] for one in mails(without)] == [(number - 1, part) for number, part, _ in mails(mailbox)[1:]]
    assert with_mail(with_mail(without, 3, b""), 2, b"") == b""


def test_patches_are_applied_in_name_order_and_before_merges(tmp_path: Path, environment: Environment) -> None:
    first = {"pkg/a.py": UPSTREAM["pkg/a.py"].replace(b"def g():\n    return 1", b"def g():\n    return 2")}
    second = {"pkg/a.py": first["pkg/a.py"].replace(b"return 2", b"return 2 + 1") + b"\n\ndef h():\n    return 3\n"}
    files: dict[str, str | bytes] = {
        "patches/2.patch": b"Why: second\n" + git_diff(environment, first, second),
        "patches/1.patch": b"Why: first\n" + git_diff(environment, UPSTREAM, first),
        "tree/pkg/a.py": """
            @wrapped(why="w")
            def f():
                return upstream() + g()
            @edited(("1", "2"), why="e")
            def g(): ...
        """,
    }
    applied = apply_files(tmp_path, UPSTREAM, files)
    namespace: dict[str, object] = {}
    exec(applied.tree.after("pkg/a.py") or b"", namespace)  # noqa: S102  # the test's own text
    assert [namespace[name]() for name in "fgh"] == [5, 4, 3]  # type: ignore[operator]  # they are functions
    assert [(one.symbol, one.operation, one.reason.why) for one in declarations(applied)] == [
        ("g", "patch", "first"),
        ("g", "patch", "second"),
        ("h", "patch", "second"),
        ("f", "wrapped", "w"),
        ("g", "edited", "e"),
    ]


def test_a_patch_says_of_classes_with_members_that_they_came_and_went(tmp_path: Path, environment: Environment) -> None:
    upstream = {"pkg/a.py": b"class Old:\n    x = 1\n\n\nY = 1\n"}
    after = {"pkg/a.py": b"class New:\n    z = 1\n\n\nY = 1\n", "pkg/b.py": b"class B:\n    def b(self): ...\n"}
    applied = apply_files(tmp_path, upstream, {"patches/1.patch": b"Why: w\n" + git_diff(environment, upstream, after)})
    assert {"Old", "Old.x", "New", "New.z", "B", "B.b"} <= {one.symbol for one in declarations(applied)}


def test_a_patch_under_a_wrapper_is_refused_because_the_original_is_not_upstreams(
    tmp_path: Path, environment: Environment
) -> None:
    changed = {"pkg/a.py": UPSTREAM["pkg/a.py"].replace(b"return 1", b"return 2")}
    files: dict[str, str | bytes] = {
        "patches/1.patch": HEADER.encode() + git_diff(environment, UPSTREAM, changed),
        "tree/pkg/a.py": "@wrapped(why='w')\ndef f():\n    return upstream()\n",
    }
    with pytest.raises(MergeError, match="the original of `f` was not kept as upstream has it"):
        apply_files(tmp_path, UPSTREAM, files)


@pytest.mark.parametrize(
    "operation", ["@wrapped(why='w')\ndef new():\n    return upstream()\n", "deleted('new', why='w')\n"]
)
def test_an_operation_on_what_a_patch_adds_is_refused_with_what_to_do(
    operation: str, tmp_path: Path, environment: Environment
) -> None:
    changed = {"pkg/a.py": UPSTREAM["pkg/a.py"] + b"def new():\n    return 9\n"}
    files: dict[str, str | bytes] = {
        "patches/1.patch": HEADER.encode() + git_diff(environment, UPSTREAM, changed),
        "tree/pkg/a.py": operation,
    }
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, UPSTREAM, files)
    assert "keep one of the two, and write the whole change there" in str(caught.value)
    assert "`new`" in str(caught.value)


OPENS = """
from .b import *
from json import loads as load
def open(path): return path
def f(): return open(1), load, star
def star(): ...
class A:
    load = 2
    use = load
    def g(self, max, x):
        return max(x)
    def h(self):
        from json import loads as load
        return load
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "def open(path): return path\n",
            "",
            "`open` is taken away, and upstream's own text would read another object",
        ),
        ("def star(): ...\n", "", "`star` is taken away, and upstream's own text would read another object"),
        ("    load = 2\n", "", "`load` is taken away, and upstream's own text would read another object"),
        ("self, max, x)", "self, x)", "`max` is taken away, and upstream's own text would read another object"),
        ("self, max, x):\n        return max(x)", "self, x):\n        return max(*x)", ""),
        ("def open(path): return path\n", "open = print\n", ""),
        ("def open(path): return path\n", "from io import open\n", ""),
        ("        from json import loads as load\n", "", ""),
        ("        from json import loads as load\n", "        load = 1\n", ""),
    ],
)
def test_a_patch_that_uncovers_another_name_is_refused(
    tmp_path: Path, environment: Environment, old: str, new: str, told: str
) -> None:
    assert OPENS.count(old) == 1
    before = {"pkg/__init__.py": b"", "pkg/a.py": OPENS.encode(), "pkg/b.py": b"star = 1\n"}
    patch = b"Why: w\n\n" + git_diff(environment, before, {"pkg/a.py": OPENS.replace(old, new).encode()})
    try:
        apply_files(tmp_path, before, {"patches/1.patch": patch})
    except MergeError as error:
        (message,) = mistakes(error)
        assert told
        assert message.startswith(f"pkg@1111111/patches/1.patch:11: {told} of that name (pkg/a.py:")
    else:
        assert not told


def test_hunks_for_files_the_source_lacks_are_left_out(environment: Environment) -> None:
    after = {"pkg/a.py": b"x = 1\n", "pkg/gone.yaml": b"x: 2\n"}
    patch = read_patch(_patch(git_diff(environment, UPSTREAM, after)))
    kept = {path: content for path, content in UPSTREAM.items() if path != "pkg/gone.yaml"}
    tree = patched(kept, {})
    assert apply_patch(patch, tree, absent=frozenset({"pkg/gone.yaml"})).changed == {"pkg/a.py": b"x = 1\n"}
    all_absent = frozenset({"pkg/a.py", "pkg/gone.yaml"})
    assert apply_patch(patch, patched({}, {}), absent=all_absent).changed == {}


def test_a_python_file_in_another_encoding_can_be_patched(tmp_path: Path, environment: Environment) -> None:
    before = {"pkg/latin.py": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n"}
    after = {"pkg/latin.py": b"# -*- coding: latin-1 -*-\nx = '\xe8'\n"}
    applied = apply_files(tmp_path, before, {"patches/0.patch": HEADER.encode() + git_diff(environment, before, after)})
    assert applied.tree.changed == after
    assert [(one.symbol, one.operation) for one in declarations(applied)] == [("x", "patch")]


def test_a_patch_that_breaks_the_syntax_is_refused(tmp_path: Path, environment: Environment) -> None:
    diff = git_diff(environment, UPSTREAM, {"pkg/a.py": b"def f(:\n"})
    with pytest.raises(MergeError, match=r"0\.patch:2: line 1 of the patched pkg/a\.py"):
        apply_files(tmp_path, UPSTREAM, {"patches/0.patch": HEADER.encode() + diff})


TWINS = b"class A:\n    def forward(self, x):\n        y = x + 1\n        z = y + 1\n        return z\n\n\n"
TWO = {"pkg/a.py": TWINS + TWINS.replace(b"A", b"B") + b"# end\n" * 5}
CHANGED = {"pkg/a.py": TWINS + TWINS.replace(b"A", b"B").replace(b"y + 1", b"y + 2") + b"# end\n" * 5}


def test_a_hunk_that_fits_in_several_places_is_refused(environment: Environment) -> None:
    """Carried to a commit on which the twin stands at the old line, it would change the twin."""
    assert _refused(git_diff(environment, TWO, CHANGED, "-U2"), TWO) == [
        (
            ":6: the hunk at line 9 fits in 2 places of pkg/a.py (lines 2, 9); "
            "make the patch with more lines of context, so that it fits in one place only: git diff -U20"
        )
    ]
    assert _apply(git_diff(environment, TWO, CHANGED, "-U20"), TWO) == CHANGED


def test_a_hunk_at_the_beginning_or_the_end_of_a_file_fits_there_only(environment: Environment) -> None:
    before = {"pkg/x.txt": b"a\nb\na\nb\na\nb"}
    first, last = {"pkg/x.txt": b"c\nb\na\nb\na\nb"}, {"pkg/x.txt": b"a\nb\na\nb\na\nc"}
    assert _apply(git_diff(environment, before, first, "-U1"), before) == first
    assert _apply(git_diff(environment, before, last, "-U1"), before) == last
    before, middle = {"pkg/x.txt": b"a\nb\n" * 3}, {"pkg/x.txt": b"a\nb\nc\nb\na\nb\n"}
    assert "fits in 2 places" in _refused(git_diff(environment, before, middle, "-U1"), before)[0]


@pytest.mark.parametrize(("fewer", "told"), [(0, 0), (4, 0), (6, 1)])
def test_hunks_that_gnu_patch_puts_elsewhere_than_git_are_told(fewer: int, told: int) -> None:
    """GNU patch counts on from the place of the hunk before, and git from the stated line."""
    twin = b"A\nb\nC\n" + b"n\n" * 5
    tree = patched({"pkg/t": b"m\n" * 8 + b"x\ny\nz\n" + b"m\n" + twin * 3}, {})
    first, second = (b"@@ -%d,3 +%d,3 @@\n" % (line - fewer, line - fewer) for line in (9, 21))
    hunks = first + b" x\n-y\n+Y\n z\n" + second + b" A\n-b\n+B\n C\n"
    patch = read_patch(_patch(b"diff --git a/pkg/t b/pkg/t\n--- a/pkg/t\n+++ b/pkg/t\n" + hunks))
    assert len(list(placed_otherwise(patch, tree, apply_as_git_does(patch, tree)))) == told


@pytest.mark.parametrize("option", ["mnemonicPrefix", "noprefix"])
def test_patches_made_with_other_prefixes_are_taken(option: str, environment: Environment) -> None:
    (environment.folder / "gitconfig").write_text(f"[diff]\n\t{option} = true\n")
    before = {**UPSTREAM, "a/b.py": b"x = 1\n", "pkg/a b é.txt": b"1\n", "pkg/empty": b""}
    after = {
        "pkg/a.py": b"x = 1\n",
        "pkg/gone.yaml": None,
        "pkg/empty": None,
        "pkg/new.yaml": b"new\n",
        "a/b.py": b"x = 2\n",
        "pkg/b.yaml": None,
        "pkg/renamed.yaml": LINES + b"more\n",
        "pkg/a b é.txt": b"2\n",
    }
    diff = git_diff(environment, before, after, "--find-renames")
    assert b" b/pkg/a.py" not in diff
    assert set(read_patch(_patch(diff)).paths) == set(after)
    assert _apply(diff, before) == after


@pytest.mark.parametrize("options", [("--src-prefix=old/", "--dst-prefix=new/"), ("--dst-prefix=", "--src-prefix=a/")])
def test_patches_with_prefixes_of_ones_own_are_refused_with_the_way_to_make_them(
    options: tuple[str, ...], environment: Environment
) -> None:
    diff = git_diff(environment, UPSTREAM, {"pkg/a.py": b"x = 1\n"}, *options)
    with pytest.raises(MergeError, match=r"neither as a/PATH.*\n    fix: make it with git diff --src-prefix=a/"):
        read_patch(_patch(diff))


def test_a_coloured_patch_is_refused(environment: Environment) -> None:
    diff = git_diff(environment, UPSTREAM, {"pkg/a.py": b"x = 1\n"}, "--color")
    with pytest.raises(MergeError, match=r"is coloured\n    fix: make it with git diff --no-color"):
        read_patch(_patch(diff))


def test_a_reason_with_control_characters_is_refused(environment: Environment) -> None:
    diff = git_diff(environment, UPSTREAM, {"pkg/a.py": b"x = 1\n"})
    with pytest.raises(MergeError, match=r"holds the character U\+001B in its reason"):
        read_patch(_patch(diff, header="Why: \x1b[31mred\n"))


def test_a_reason_in_another_encoding_is_refused(environment: Environment) -> None:
    diff = git_diff(environment, UPSTREAM, {"pkg/a.py": b"x = 1\n"})
    file = replace(_patch(diff, header=""), content="Why: 你好\n".encode("gbk") + diff)
    with pytest.raises(MergeError, match=r"gives its reason in another encoding than UTF-8\n    fix: save it as UTF-8"):
        read_patch(file)


@pytest.mark.parametrize("place", ["variables", "parameters", "attributes"])
def test_no_configuration_reaches_git_by_another_way(
    place: str, tmp_path: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "variables":
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", "apply.ignorewhitespace")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", "change")
    elif place == "parameters":
        monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'apply.ignorewhitespace'='change'")
    diff = git_diff(environment, UPSTREAM, {"pkg/b.yaml": LINES.replace(b"line 10\n", b"line ten\n")})
    if place == "attributes":
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        (tmp_path / "git").mkdir()
        (tmp_path / "git" / "attributes").write_text("* text eol=crlf\n")
        after = LINES.replace(b"line 10\n", b"line ten\n")
        assert _apply(diff) == {"pkg/b.yaml": after}
    else:
        loose = {"pkg/b.yaml": LINES.replace(b"line 8\n", b"line  8\n")}
        assert _refused(diff, loose)[0].startswith(":6: does not apply")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Why: x\n\nFILE--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1,4 +1,4 @@\n x = 1\n-y\n", 6),
        ("Why: x\nAccept: nosuch\n\nFILE", 2),
        ("Why: x\n\nFILEBinary files a/pkg/a.py and b/pkg/a.py differ\n", 4),
        ("Drop-when: x\n\nFILE", 1),
    ],
)
def test_a_mistake_in_a_patch_names_its_line(text: str, line: int) -> None:
    content = text.replace("FILE", "diff --git a/pkg/a.py b/pkg/a.py\n").encode()
    with pytest.raises(MergeError) as raised:
        read_patch(OverlayFile(layer="", path="p.patch", file="p.patch", content=content))
    assert raised.value.problems[0].where == f"p.patch:{line}"


def _formatted(number: int, body: str, diff: bytes) -> bytes:
    head = f"From {number:040} Mon Sep 17 00:00:00 2001\nFrom: A <a@example.invalid>\nSubject: [PATCH] {number}\n\n"
    return f"{head}{body}---\n pkg/b.yaml | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n".encode() + diff


QUOTED = [
    "diff --git a/pkg/b.yaml b/pkg/b.yaml\n",
    "diff --git a/pkg/x.py b/pkg/x.py\n--- a/pkg/x.py\n+++ b/pkg/x.py\n@@ -1 +1 @@\n-a\n+b\n",
    "diff --git a/pkg/x.py b/pkg/x.py\nnew mode 100755\nBinary files a and b differ\n",
    "--- expected\n+++ actual\n@@ -1,3 +1,3 @@\n-a\n+b\n",
    "    diff --git a/pkg/x.py b/pkg/x.py\n    --- a/pkg/x.py\n    +++ b/pkg/x.py\n    @@ -1 +1 @@\n    -a\n    +b\n",
]


@pytest.mark.parametrize("quoted", QUOTED)
@pytest.mark.parametrize("form", ["mail", "dep-3"])
def test_what_looks_like_a_diff_in_the_text_of_a_mail_is_text(environment: Environment, quoted: str, form: str) -> None:
    after = {"pkg/b.yaml": LINES.replace(b"line 10\n", b"line ten\n")}
    diff = git_diff(environment, UPSTREAM, after)
    above = f"Before it was:\n\n{quoted}\nAs said.\n"
    whole = _formatted(1, above, diff) if form == "mail" else f"Description: x\n{above}---\n\n".encode() + diff
    patch = read_patch(_patch(whole, ""))
    assert patch.paths == ("pkg/b.yaml",)
    assert apply_patch(patch, patched(UPSTREAM, {}), absent=frozenset()).changed == after
    assert line_of(whole, "pkg/b.yaml") == whole.count(b"\n", 0, whole.rindex(b"diff --git a/pkg/b.yaml")) + 1


def test_the_text_above_a_diff_goes_on_to_its_first_line() -> None:
    above = b"Description: x\n--- a\n+++ b\n---\n\nIndex: c\n=====\n"
    assert letter(above + b"--- a/c\n+++ b/c\n@@ -1 +1 @@\n-a\n+b\n") == above


def test_dashes_that_a_hunk_takes_out_end_no_text(environment: Environment) -> None:
    before = {"pkg/a.sql": b"x\n--\n", "pkg/b.sql": b"x\n"}
    diff = git_diff(environment, before, {"pkg/a.sql": b"x\n", "pkg/b.sql": b"y\n"})
    assert b"\n---\ndiff --git" in diff
    assert read_patch(_patch(diff)).paths == ("pkg/a.sql", "pkg/b.sql")


def test_a_patch_above_another_mail_is_not_taken_for_its_text(environment: Environment) -> None:
    first = git_diff(environment, UPSTREAM, {"pkg/a.py": b"x = 1\n"})
    second = git_diff(environment, UPSTREAM, {"pkg/gone.yaml": b"x: 2\n"})
    both = b"Why: x\n\n" + first + b"Subject: y\n---\n\n" + second
    assert letter(both) == b"Why: x\n\n"


def test_a_mistake_in_a_mail_names_the_line_of_its_file(tmp_path: Path, environment: Environment) -> None:
    first = git_diff(environment, UPSTREAM, {"pkg/gone.yaml": b"x: 2\n"})
    second = git_diff(environment, UPSTREAM, {"pkg/b.yaml": LINES.replace(b"line 8\n", b"line eight\n")})
    box = _formatted(1, "", first) + _formatted(2, "", second.replace(b" line 7\n", b" line seven\n"))
    line = box.count(b"\n", 0, box.index(b"@@ -6,7")) + 1
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, UPSTREAM, {"patches/pr.patch": box})
    assert caught.value.problems[0].where.endswith(f"patches/pr.patch:{line}")


def test_a_mistake_in_an_encoded_mail_names_the_first_line_of_the_mail() -> None:
    encoded = b"From: A <a@b>\nContent-Transfer-Encoding: quoted-printable\nSubject: y\n\nx =3D=\n 1\n"
    one, two = mails(
        _formatted(1, "", b"diff --git a/x b/x\n")
        + _formatted(2, "", b"diff --git a/y b/y\n").replace(
            b"From: A <a@example.invalid>\nSubject: [PATCH] 2\n\n", encoded
        )
    )
    assert one.lines == tuple(range(1, one.content.count(b"\n") + 1))
    assert set(two.lines) == {one.lines[-1] + 1}


def test_commits_newest_first_are_refused_with_the_option_that_turns_them(
    tmp_path: Path, environment: Environment
) -> None:
    between = {**UPSTREAM, "pkg/gone.yaml": b"x: 2\n"}
    commits = [
        f"commit {number:040}\nAuthor: A <a@b>\nDate: x\n\n    Step {number}\n\n".encode() + diff
        for number, diff in enumerate(
            [
                git_diff(environment, between, {"pkg/gone.yaml": b"x: 3\n"}),
                git_diff(environment, UPSTREAM, {"pkg/gone.yaml": b"x: 2\n"}),
            ]
        )
    ]
    with pytest.raises(MergeError, match="git log -p --reverse"):
        apply_files(tmp_path, UPSTREAM, {"patches/log.patch": b"\n".join(commits)})
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path / "one", UPSTREAM, {"patches/log.patch": commits[0]})
    assert "--reverse" not in str(caught.value)
