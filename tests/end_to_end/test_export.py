"""`export`, run: patches that lead from upstream to the tree that a wheel is made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_overlays.authoring.checkout.commit_series import message
from npu_overlays.authoring.checkout.units import Unit
from npu_overlays.overlay.operations import Reason
from support.environment import Environment
from support.overlays import edit
from support.upstreams import make_upstream

from .sample import Sample
from .test_checkout import checked_out, files, git


def exported(sample: Sample, *arguments: str | Path, out: Path) -> list[Path]:
    command = ("export", sample.lib_name, *arguments, "--out", out, "--overlays", sample.overlays)
    sample.environment.ok(*command)
    return sorted(out.iterdir())


def clone(sample: Sample, folder: Path) -> Path:
    """Return a clone of upstream at the pinned commit."""
    sample.environment.succeed("git", "clone", "--quiet", sample.lib.path, folder)
    git(sample, folder, "checkout", "--quiet", sample.lib_name.removeprefix("lib@"))
    return folder


def test_mails_give_the_patched_tree_and_its_reasons(locked: Sample, tmp_path: Path) -> None:
    mails = exported(locked, out=tmp_path / "mails")
    assert len(mails) == 11
    upstream = clone(locked, tmp_path / "clone")
    git(locked, upstream, "am", "--quiet", "--keep-cr", *map(str, mails))
    checkout = checked_out(locked, tmp_path / "checkout")
    assert files(upstream) == files(checkout)
    messages = [git(locked, folder, "log", "-11", "--format=%an %ae %B") for folder in (upstream, checkout)]
    assert messages[0] == messages[1]


def test_a_folder_of_patches_gives_the_patched_tree_and_an_overlay_takes_it(sample: Sample, tmp_path: Path) -> None:
    patches = exported(sample, "--format", "patch-dir", out=tmp_path / "patches")
    upstream = clone(sample, tmp_path / "clone")
    for patch in patches:
        git(sample, upstream, "apply", str(patch))
    checkout = checked_out(sample, tmp_path / "checkout")
    assert files(upstream) == files(checkout)
    text = next(patch for patch in patches if "Engine.start" in patch.name).read_text("utf-8")
    assert text.startswith("Why: Says that it is patched.\nForwarded: https://example.invalid/pull/1\n\ndiff --git")


def test_the_same_overlay_gives_the_same_patches(locked: Sample, tmp_path: Path) -> None:
    first = exported(locked, out=tmp_path / "one")
    locked.environment.ok(
        *("export", locked.lib_name, "--out", tmp_path / "two", "--overlays", locked.overlays),
        GIT_CONFIG_PARAMETERS="'diff.noprefix=true' 'format.signature=x'",
        TZ="Asia/Shanghai",
    )
    second = sorted((tmp_path / "two").iterdir())
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


LONG = "is what stands at the beginning of a reason that is too long for the subject of a message"


def says(why: str, target: str) -> str:
    unit = Unit(action="edited", targets=(target,), file="a.py", layer="", reason=Reason(why=why), items=())
    return message([unit])


def test_whatever_a_reason_or_a_name_is_like_a_mail_keeps_it(environment: Environment, tmp_path: Path) -> None:
    """Git takes headers from the body of a mail, and what looks like a reply or a tag from its subject."""
    starts = ("From: A <a@b>", "Subject: x", "Date: Mon, 1 Jan 2001 00:00:00 +0000", "[PATCH] x", ">From me", "diff -u")
    messages = [says(f"{start} {LONG}", "a.py:f") for start in starts]
    messages += [says("三倍才对", name) for name in ("a/b.py:re", "a/[id].yaml")]
    upstream, base = make_upstream(tmp_path / "upstream", environment, {"a": b""})
    environment.succeed("git", "clone", "--quiet", upstream.path, tmp_path / "clone")
    for number, text in enumerate(messages):
        (upstream.path / "a").write_text(str(number), "utf-8")
        (tmp_path / "message").write_text(text, "utf-8")
        upstream.git("commit", "--quiet", "--all", "--file", str(tmp_path / "message"))
    upstream.git("format-patch", "--quiet", f"--output-directory={tmp_path / 'mails'}", f"{base}..")
    mails = sorted(map(str, (tmp_path / "mails").iterdir()))
    environment.succeed("git", "-C", tmp_path / "clone", "am", "--quiet", *mails)
    logs = [
        environment.succeed("git", "-C", folder, "log", "--format=%an %ad %B", f"{base}..").out
        for folder in (upstream.path, tmp_path / "clone")
    ]
    assert logs[0] == logs[1]


def test_a_reason_without_spaces_is_seen_in_the_subject() -> None:
    subject, _, body = says("这里三倍才对，" * 20, "a.py:scale").partition("\n")
    assert subject.startswith("scale: 这里三倍才对，这里三倍才对，")
    assert len(subject) <= 72
    assert "这里三倍才对，" * 20 in body
    assert says("w", f"a.py:{'x' * 100}").startswith("x" * 70 + " …\n")


@pytest.mark.parametrize("name", ["Engine.start", "src/lib/core.py:Engine.start"])
def test_one_operation_is_exported_alone_and_without_notices_for_upstream(
    locked: Sample, tmp_path: Path, name: str
) -> None:
    (mail,) = exported(locked, name, "--without-notices", out=tmp_path / "mails")
    upstream = clone(locked, tmp_path / "clone")
    git(locked, upstream, "am", "--quiet", str(mail))
    text = (upstream / "src/lib/core.py").read_text("utf-8")
    assert "npu+" in text
    assert "stopped at once" not in text
    assert "Changed for" not in text


def test_a_path_means_all_that_is_done_there(locked: Sample, tmp_path: Path) -> None:
    assert len(exported(locked, "src/lib/core.py", out=tmp_path / "mails")) == 6
    assert len(exported(locked, "notes.patch", out=tmp_path / "more")) == 1


def test_what_does_not_run_alone_is_said(sample: Sample, tmp_path: Path) -> None:
    core = sample.lib_overlay / "tree/src/lib/core.py"
    edit(core, "import functools\n", "import functools\n\nfrom lib.npu import NAME\n")
    edit(core, 'return "npu"', "return NAME")
    command = ("export", sample.lib_name, "Engine.device", "--out", tmp_path / "mails", "--overlays", sample.overlays)
    done = sample.environment.ok(*command)
    assert "alone it would not run" in done.err
    assert "lib.npu" in done.err


def test_names_that_mean_nothing_or_too_much_are_refused_together(sample: Sample, tmp_path: Path) -> None:
    other = sample.lib_overlay / "tree/src/lib/extra.py"
    edit(other, "from npu_overlays.markers import replaced", "from npu_overlays.markers import added, replaced")
    other.write_text(other.read_text("utf-8") + '\n\nscale = added(1, why="Another one.")\n', "utf-8")
    out = tmp_path / "mails"
    done = sample.environment.cli(
        "export", sample.lib_name, "Engine.stat", "scale", "--out", out, "--overlays", sample.overlays
    )
    assert done.code == 2
    assert "Engine.stat: the overlay has no such operation, file or patch" in done.err
    assert "did you mean `Engine.start`?" in done.err
    assert "scale: is the name of 2 operations: src/lib/core.py:scale, src/lib/extra.py:scale" in " ".join(
        done.err.split()
    )
    assert not out.exists()


def test_what_is_there_stays(locked: Sample, tmp_path: Path) -> None:
    (tmp_path / "mails").mkdir()
    (tmp_path / "mails" / "mine").touch()
    done = locked.environment.cli("export", locked.lib_name, "--out", tmp_path / "mails", "--overlays", locked.overlays)
    assert done.code == 2
    assert "exists already, and is not empty" in done.err
