"""`refresh`, run: a work tree is edited with whatever tool, and the overlay then gives it."""

from __future__ import annotations

import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.overlays import edit

from .sample import Sample
from .test_checkout import checked_out, files, git

pytestmark = pytest.mark.slow

CORE = "src/lib/core.py"


@pytest.fixture
def folder(sample: Sample, tmp_path: Path) -> Path:
    """Return a checkout of the sample, which a test may change."""
    return checked_out(sample, tmp_path / "checkout")


def refresh(sample: Sample, folder: Path, *arguments: str, why: str = "Because.") -> str:
    given = ("--why", why) if why else ()
    command = ("refresh", sample.lib_name, folder, *given, *arguments, "--overlays", sample.overlays)
    return sample.environment.ok(*command).out


def overlay(sample: Sample) -> dict[str, bytes]:
    """Return the files of the overlay, less its lock."""
    root = sample.lib_overlay
    found = (path for path in sorted(root.rglob("*")) if path.is_file() and path.name != "overlay.lock")
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def core(sample: Sample) -> str:
    return (sample.lib_overlay / "tree" / CORE).read_text("utf-8")


def gives(sample: Sample, folder: Path, tmp_path: Path, *changed: str) -> None:
    """See that the overlay locks, and that a new checkout of it has the files of this one."""
    sample.environment.ok("lock", sample.lib_name, "--overlays", sample.overlays)
    sample.environment.ok("check", sample.lib_name, "--overlays", sample.overlays)
    again = checked_out(sample, tmp_path / "again")
    assert files(again) == files(folder)
    for text in changed:
        assert any(text.encode() in content for content, _ in files(again).values()), text


def test_nothing_edited_changes_nothing(sample: Sample, folder: Path) -> None:
    before = overlay(sample)
    assert "nothing to bring back" in refresh(sample, folder, why="")
    assert overlay(sample) == before


def test_each_operation_keeps_its_file_its_reason_and_what_is_beside_it(
    sample: Sample, folder: Path, tmp_path: Path
) -> None:
    """A wrapper, a replacement, a value, an addition and an edit are changed in the work tree."""
    before = core(sample)
    edit(folder / CORE, '"npu+" + __class__', '"NPU+" + __class__')
    edit(folder / CORE, '"stopped at once"', '"stopped now"')
    edit(folder / CORE, "LIMIT = 64", "LIMIT = 128")
    edit(folder / CORE, 'return "npu"', 'return "npu:0"')
    edit(folder / CORE, "value * 3", "value * 4")
    out = refresh(sample, folder, why="")
    assert out.count("changed") == 5
    expected = before
    for old, new in (
        ('"npu+"', '"NPU+"'), ("stopped at once", "stopped now"), ("64", "128"), ('"npu"', '"npu:0"'),
        ("value * 3", "value * 4"),
    ):  # fmt: skip
        expected = expected.replace(old, new, 1)
    assert core(sample) == expected
    gives(sample, folder, tmp_path, "NPU+", "stopped now", "LIMIT = 128", "npu:0", "value * 4")


def test_what_is_new_becomes_the_operation_that_depends_on_least(sample: Sample, folder: Path, tmp_path: Path) -> None:
    edit(folder / CORE, 'return "upstream " + name', 'return "upstream: " + name')
    edit(folder / CORE, "def main():\n    print(", "def main():\n    prepare()\n    print(")
    edit(
        folder / CORE,
        "def describe(name):",
        'def prepare():\n    """Get ready."""\n    return json.dumps(LIMIT)\n\n\ndef describe(name):',
    )
    edit(folder / CORE, "import os\n", "import json\nimport os\n")
    edit(folder / CORE, 'OLD = "old"\n', "")
    out = refresh(sample, folder, why="A reason.")
    for row in ("new      edited    ", "new      added     ", "new      deleted   "):
        assert row in out
    text = core(sample)
    assert '@edited(("return \\"upstream \\" + name"' in text.replace("'", '\\"') or "upstream: " in text
    assert text.count('why="A reason."') == 4
    assert 'deleted("OLD", why="A reason.")' in text
    assert "import json" in text
    gives(sample, folder, tmp_path, "prepare()", "upstream: ")
    assert b"OLD =" not in files(folder)[CORE][0]


def test_a_function_that_still_stands_beside_its_successor_is_wrapped(
    sample: Sample, folder: Path, tmp_path: Path
) -> None:
    wrapper = "def describe(name):\n    return _upstream_describe(name).upper()\n\n\ndef _upstream_describe(name):\n"
    edit(folder / CORE, "def describe(name):\n", wrapper)
    assert "new      wrapped   src/lib/core.py:describe" in refresh(sample, folder)
    assert "return upstream(name).upper()" in core(sample)
    gives(sample, folder, tmp_path)


def test_what_is_as_upstream_has_it_is_no_operation_any_more(sample: Sample, folder: Path, tmp_path: Path) -> None:
    edit(folder / CORE, "value * 3", "value * 2")
    edit(folder / CORE, "LIMIT = 64", "LIMIT = 1")
    out = refresh(sample, folder, why="")
    assert out.count("gone") == 2
    assert "edited" not in core(sample)
    assert "LIMIT" not in core(sample)
    gives(sample, folder, tmp_path)


def test_files_come_change_and_go(sample: Sample, folder: Path, tmp_path: Path) -> None:
    (folder / "src/lib/new.py").write_text('"""New."""\n', "utf-8")
    (folder / "src/lib/new.sh").write_text("#!/bin/sh\n", "utf-8")
    (folder / "src/lib/new.sh").chmod(0o755)
    edit(folder / "src/lib/npu.py", '"npu"', '"NPU"')
    (folder / "src/lib/npu.sh").unlink()
    (folder / "src/lib/notes.txt").unlink()
    refresh(sample, folder)
    assert "tree/src/lib/new.py" in overlay(sample)
    assert "tree/src/lib/npu.sh" not in overlay(sample)
    assert b"deleted file mode" in overlay(sample)["patches/notes.patch"]
    assert overlay(sample)["patches/notes.patch"].startswith(b"Why: Four is missing.\n")
    gives(sample, folder, tmp_path, '"NPU"')


def test_other_files_are_substituted_or_patched(sample: Sample, folder: Path, tmp_path: Path) -> None:
    edit(folder / "src/lib/data/settings.yaml", "pkg://lib.config", "pkg://lib.settings")  # what an edit puts in
    edit(folder / "src/lib/run.sh", "echo run", "echo 'run it'")
    edit(folder / "src/lib/notes.txt", "four\n", "four\nfive\n")  # what a patch puts in
    out = refresh(sample, folder)
    assert "changed  edit      src/lib/data/settings.yaml" in out
    assert "new      edit      src/lib/run.sh" in out
    assert "changed  patch     src/lib/notes.txt" in out
    assert [path for path in overlay(sample) if path.startswith("patches/")] == ["patches/notes.patch"]
    gives(sample, folder, tmp_path, "lib.settings", "run it", "five")


def test_what_no_symbol_says_is_a_patch_below_the_operations(sample: Sample, folder: Path, tmp_path: Path) -> None:
    edit(folder / CORE, "import os\n", "import os\n\nos.environ.setdefault('LIB', '1')\n")
    before = core(sample)
    assert "new      patch     src/lib/core.py" in refresh(sample, folder)
    assert core(sample) == before
    assert overlay(sample)["patches/core.patch"].startswith(b"Why: Because.\n\ndiff --git a/src/lib/core.py")
    gives(sample, folder, tmp_path, "setdefault")
    edit(folder / CORE, "'LIB', '1'", "'LIB', '2'")
    assert "changed  patch" in refresh(sample, folder, why="")
    gives(sample, folder, tmp_path / "second", "'LIB', '2'")


def test_operations_stay_unless_a_patch_is_asked_for_that_hands_their_reasons_on(
    sample: Sample, folder: Path, tmp_path: Path
) -> None:
    """A statement of a module that calls an addition."""
    edit(folder / CORE, "def describe(name):", "def prepare():\n    return 1\n\n\ndef describe(name):")
    refresh(sample, folder, why="First.")
    with (folder / CORE).open("a", encoding="utf-8") as file:
        file.write("\n\nif LIMIT > 2:\n    prepare()\n")
    before = overlay(sample)
    command = ("refresh", sample.lib_name, folder, "--why", "Second.", "--overlays", sample.overlays)
    done = sample.environment.cli(*command)
    assert (done.code, overlay(sample)) == (5, before)
    said = " ".join(done.err.split())
    assert "no operation can express the change, and a patch of it would overlap `prepare`" in said
    assert "the overlay changes it in" not in said
    assert "gone     added     src/lib/core.py:prepare" in sample.environment.ok(*command, "--as-patch").out
    assert overlay(sample)["patches/core.patch"].startswith(b"Why: Second. First.\n\ndiff --git ")
    gives(sample, folder, tmp_path, "if LIMIT > 2:")


def test_it_can_be_done_again_and_again_and_what_was_edited_is_kept(sample: Sample, folder: Path) -> None:
    edit(folder / CORE, 'return "upstream " + name', 'return "first " + name')
    git(sample, folder, "commit", "--quiet", "--all", "--message", "mine")
    mine = git(sample, folder, "rev-parse", "HEAD").strip()
    refresh(sample, folder)
    kept = git(sample, folder, "log", "-2", "--format=%H", "refs/npu-overlays/edited").split()
    assert kept[1] == mine
    assert git(sample, folder, "status", "--porcelain") == ""
    assert git(sample, folder, "log", "--format=%s", "-12").count("describe: Because.") == 1
    sample.environment.ok("lock", sample.lib_name, "--overlays", sample.overlays)
    edit(folder / CORE, '"first " + name', '"second " + name')
    assert "changed  edited    src/lib/core.py:describe" in refresh(sample, folder, why="")
    assert "nothing to bring back" in refresh(sample, folder, why="")


def test_what_lies_beside_in_the_work_tree_is_in_nobodys_way(sample: Sample, folder: Path) -> None:
    """Caches of a test run, a repository in the repository, flags of git's index; and what .gitignore hides is told."""
    for path in ("src/lib/__pycache__/core.cpython-311.pyc", "src/lib/.core.py.swp", ".pytest_cache/x"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(b"x")
    git(sample, folder, "init", "--quiet", "src/lib/mine")
    (folder / "src/lib/mine/own.py").write_text("OWN = 1\n", "utf-8")
    git(sample, folder, "update-index", "--assume-unchanged", CORE)
    with (folder / ".git/info/exclude").open("a", encoding="utf-8") as exclude:
        exclude.write("*.log\n")
    (folder / "src/lib/run.log").write_text("mine", "utf-8")
    edit(folder / CORE, 'return "upstream " + name', 'return "first " + name')
    told = json.loads(refresh(sample, folder, "--json"))
    assert (told["passed_over"], told["nested"]) == (["src/lib/run.log"], ["src/lib/mine/"])
    assert "src/lib/mine is a repository of its own" in sample.environment.ok(
        "refresh", sample.lib_name, folder, "--overlays", sample.overlays
    ).err.replace("\n", " ")
    assert "tree/src/lib/run.log" not in overlay(sample)
    kept = git(sample, folder, "show", f"refs/npu-overlays/edited:{CORE}")
    assert '"first " + name' in kept
    for path in ("src/lib/mine/own.py", "src/lib/run.log", "src/lib/__pycache__/core.cpython-311.pyc"):
        assert (folder / path).is_file()
    assert git(sample, folder, "status", "--porcelain").split() == ["??", "src/lib/mine/"]


def test_one_that_was_killed_behind_its_writing_goes_on(sample: Sample, folder: Path, tmp_path: Path) -> None:
    """The overlay holds what was edited then, and the work tree is as it was left."""
    edit(folder / CORE, 'return "upstream " + name', 'return "first " + name')
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    refresh(sample, folder)
    digest = git(sample, folder, "config", "npu-overlays.next").strip()
    assert digest == git(sample, folder, "config", "npu-overlays.digest").strip()
    git(sample, copy, "config", "npu-overlays.next", digest)
    assert "nothing to bring back" in refresh(sample, copy, why="")
    edit(copy / CORE, '"first " + name', '"second " + name')
    assert "changed  edited    src/lib/core.py:describe" in refresh(sample, copy, why="")
    gives(sample, copy, tmp_path, '"second " + name')


def test_nothing_is_done_while_git_waits_for_somebody_to_go_on(sample: Sample, folder: Path) -> None:
    git(sample, folder, "branch", "side")
    edit(folder / CORE, 'return "upstream " + name', 'return "first " + name')
    git(sample, folder, "commit", "--quiet", "--all", "--message", "mine")
    git(sample, folder, "checkout", "--quiet", "side")
    edit(folder / CORE, 'return "upstream " + name', 'return "second " + name')
    git(sample, folder, "commit", "--quiet", "--all", "--message", "theirs")
    before = overlay(sample)
    assert sample.environment.run("git", "-C", folder, "rebase", "overlay").code == 1
    done = sample.environment.cli("refresh", sample.lib_name, folder, "--why", "w", "--overlays", sample.overlays)
    assert (done.code, "a rebase is under way" in done.err) == (2, True)
    assert overlay(sample) == before


def refused(sample: Sample, folder: Path, *, code: int = 2) -> str:
    before, tree = overlay(sample), files(folder)
    done = sample.environment.cli("refresh", sample.lib_name, folder, "--why", "w", "--overlays", sample.overlays)
    assert done.code == code, done.out + done.err
    assert (overlay(sample), files(folder)) == (before, tree)
    return " ".join(done.err.split())


def test_commits_of_the_overlay_that_the_work_tree_lacks_are_not_taken_for_undone(
    sample: Sample, folder: Path, tmp_path: Path
) -> None:
    """In a bisect, at an earlier commit, and where the last one was made anew; kept files are what is wanted."""
    git(sample, folder, "bisect", "start", "HEAD", "upstream")
    assert "a bisect is under way" in refused(sample, folder)
    git(sample, folder, "bisect", "reset")
    git(sample, folder, "checkout", "--quiet", "HEAD~2")
    edit(folder / CORE, 'return "upstream " + name', 'return "first " + name')
    assert "which lacks 2 of the overlay's commits" in refused(sample, folder)
    git(sample, folder, "checkout", "--quiet", "--merge", "overlay")
    git(sample, folder, "commit", "--quiet", "--all", "--amend", "--message", "mine")
    said = refused(sample, folder)
    assert "which lacks 1 of the overlay's commits" in said
    git(sample, folder, *said.rpartition("as you want them, `git ")[2].removesuffix("`").split())
    refresh(sample, folder)
    gives(sample, folder, tmp_path, '"first " + name')


def test_nothing_is_written_where_git_cannot_move_the_branch(sample: Sample, folder: Path, tmp_path: Path) -> None:
    edit(folder / CORE, 'return "upstream " + name', 'return "first " + name')
    lock = folder / ".git/index.lock"
    lock.touch()
    assert "git is at work there" in refused(sample, folder)
    lock.unlink()
    git(sample, folder, "checkout", "--quiet", "-b", "mine")
    git(sample, folder, "worktree", "add", "--quiet", str(tmp_path / "other"), "overlay")
    assert f"is checked out in {tmp_path / 'other'} too" in refused(sample, folder)
    git(sample, folder, "worktree", "remove", str(tmp_path / "other"))
    lock = folder / ".git/refs/heads/overlay.lock"
    lock.touch()
    done = sample.environment.cli("refresh", sample.lib_name, folder, "--why", "w", "--overlays", sample.overlays)
    assert (done.code, '"first "' in core(sample)) == (6, True)
    assert "1 file refreshed" in done.out
    assert "the overlay was refreshed, and the work tree is as you left it" in " ".join(done.err.split())
    lock.unlink()
    edit(folder / CORE, '"first " + name', '"second " + name')
    refresh(sample, folder, why="")
    gives(sample, folder, tmp_path, '"second " + name')


def test_what_a_sparse_checkout_leaves_out_is_not_deleted(sample: Sample, folder: Path, tmp_path: Path) -> None:
    edit(folder / "src/lib/run.sh", "echo run", "echo 'run it'")
    git(sample, folder, "commit", "--quiet", "--all", "--message", "mine")
    git(sample, folder, "sparse-checkout", "set", "--no-cone", f"/{CORE}", "/src/lib/notes.txt", "/packaging")
    assert not (folder / "src/lib/run.sh").exists()
    edit(folder / CORE, 'return "upstream " + name', 'return "first " + name')
    (folder / "src/lib/notes.txt").unlink()
    out = refresh(sample, folder)
    changed = [line.split()[1:] for line in out.splitlines() if line.startswith("  new ") or "  changed" in line]
    assert changed == [
        ["edited", f"{CORE}:describe"],
        ["patch", "src/lib/notes.txt", "(deletes", "it)"],
        ["edit", "src/lib/run.sh"],
    ]
    assert git(sample, folder, "show", "refs/npu-overlays/edited:src/lib/run.sh") == "#!/bin/sh\necho 'run it'\n"
    assert not (folder / "src/lib/run.sh").exists()
    git(sample, folder, "sparse-checkout", "disable")
    gives(sample, folder, tmp_path, "run it", '"first " + name')


def test_a_shared_definition_changes_for_all_targets_or_leaves_one_out(
    own_upstream: Sample, locked: Sample, tmp_path: Path
) -> None:
    sample = own_upstream
    targets = 'targets=["src/lib/core.py:scale", "src/lib/more.py:scale"]'
    (sample.lib_overlay / "shared").mkdir()
    shared = sample.lib_overlay / "shared/both.py"
    shared.write_text(
        "from npu_overlays.markers import upstream, wrapped\n\n\n"
        f'@wrapped(\n    {targets},\n    why="Both.",\n)\ndef both(value):\n    return upstream(value)\n\n\n'
        '@wrapped(targets=["src/lib/more.py:tell"], why="One.")\ndef one(name, say):\n    return upstream(name, say)\n',
        "utf-8",
    )
    edit(sample.lib_overlay / "tree" / CORE, '@edited(("value * 2", "value * 3"), why="Three is right here.")\n', "")
    edit(sample.lib_overlay / "tree" / CORE, "def scale(value): ...\n", "")
    edit(sample.lib_overlay / "tree" / CORE, "deleted, edited, replaced", "deleted, replaced")
    scale, tell = "def scale(value):\n    return value\n", "def tell(name, say: describe):\n    return say(name)\n"
    commit = sample.lib.commit({"src/lib/more.py": f"from .core import describe\n\n\n{scale}\n\n{tell}".encode()})
    config = (sample.lib_overlay / "pyproject.toml").read_text("utf-8")
    pinned = config.partition('commit = "')[2][:40]
    edit(sample.lib_overlay / "pyproject.toml", pinned, commit)
    edit(sample.lib_overlay / "pyproject.toml", locked.lib.url, sample.lib.url)
    root = sample.overlays / f"lib@{commit[:7]}"
    sample.lib_overlay.rename(root)
    (root / "overlay.lock").unlink()
    folder = tmp_path / "checkout"
    sample.environment.ok("checkout", root, folder, "--source", "git", "--overlays", sample.overlays)
    more = folder / "src/lib/more.py"
    for file in (more, folder / CORE):
        edit(file, "return _upstream_scale(value)", "return _upstream_scale(value) + 1")
    command = ("refresh", root, folder, "--source", "git", "--overlays", sample.overlays)
    sample.environment.ok(*command)
    assert "return upstream(value) + 1" in (root / "shared/both.py").read_text("utf-8")
    edit(more, "return _upstream_scale(value) + 1", "return _upstream_scale(value) + 2")
    sample.environment.ok(*command)
    assert '"src/lib/core.py:scale",\n' in (root / "shared/both.py").read_text("utf-8")
    assert "src/lib/more.py:scale" not in (root / "shared/both.py").read_text("utf-8")
    assert 'why="Both."' in (root / "tree/src/lib/more.py").read_text("utf-8")
    # A shared definition cannot have the relative import of its only target: it leaves as well.
    edit(more, "return _upstream_tell(name, say)", "return _upstream_tell(name, say or describe)")
    sample.environment.ok(*command)
    assert "from .core import describe" in (root / "tree/src/lib/more.py").read_text("utf-8")
    assert "tell" not in (root / "shared/both.py").read_text("utf-8")
    sample.environment.ok("diff", root, "--source", "git", "--overlays", sample.overlays)


def test_reasons_are_asked_for_in_an_editor_or_missed(sample: Sample, folder: Path, tmp_path: Path) -> None:
    edit(folder / CORE, 'return "upstream " + name', 'return "first " + name')
    before = overlay(sample)
    done = sample.environment.cli("refresh", sample.lib_name, folder, "--overlays", sample.overlays)
    assert done.code == 2
    assert "edited src/lib/core.py:describe: is new and has no reason" in done.err
    assert "--why" in done.err
    assert overlay(sample) == before
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/describe:.*/describe: Typed by hand./" "$1"\n', "utf-8")
    editor.chmod(0o755)
    command = ["-m", "npu_overlays", "refresh", sample.lib_name, str(folder), "--overlays", str(sample.overlays)]
    master, slave = pty.openpty()
    variables = sample.environment.variables(EDITOR=shlex.quote(str(editor)))
    run = subprocess.run([sys.executable, *command], stdin=slave, env=variables, capture_output=True, check=False)
    os.close(master)
    os.close(slave)
    assert run.returncode == 0, run.stderr
    assert 'why="Typed by hand."' in core(sample)


def test_a_dry_run_proves_and_writes_nothing(sample: Sample, folder: Path) -> None:
    edit(folder / CORE, 'return "upstream " + name', 'return "first " + name')
    before, tree = overlay(sample), files(folder)
    assert "would be written" in refresh(sample, folder, "--dry-run")
    assert (overlay(sample), files(folder)) == (before, tree)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda folder: edit(folder / CORE, 'return "upstream " + name', "return undefined_name + name"),
            "undefined_name",
        ),
        (lambda folder: edit(folder / CORE, "def describe(name):", "def describe(name:"), "/tree/src/lib/core.py:7,"),
        (lambda folder: edit(folder / CORE, "def describe(name):", "def describe(name:"), "not valid Python"),
        (
            lambda folder: edit(folder / "README.md", "A library", "The library"),
            "lie in none of the overlay's packages",
        ),
        (lambda folder: (folder / "src/lib/run.sh").chmod(0o644), "has another executable bit than upstream's file"),
        (lambda folder: (folder / "src/lib/link").symlink_to("run.sh"), "is a symbolic link"),
    ],
)
def test_what_cannot_be_said_is_refused_and_changes_nothing(
    sample: Sample, folder: Path, change: Callable[[Path], None], text: str
) -> None:
    change(folder)
    before, tree = overlay(sample), files(folder)
    done = sample.environment.cli("refresh", sample.lib_name, folder, "--why", "w", "--overlays", sample.overlays)
    assert done.code == 5, done.out + done.err
    assert text in " ".join(done.err.split())
    assert (overlay(sample), files(folder)) == (before, tree)


def test_a_folder_that_is_no_checkout_of_this_overlay_as_it_is_is_refused(
    sample: Sample, folder: Path, tmp_path: Path
) -> None:
    def refused(name: str, place: Path) -> str:
        done = sample.environment.cli("refresh", name, place, "--overlays", sample.overlays)
        assert done.code == 2
        return " ".join(done.err.split())

    assert "there is no such folder" in refused(sample.lib_name, tmp_path / "nowhere")
    assert "is no checkout of an overlay" in refused(sample.lib_name, sample.lib.path)
    assert f"is a checkout of {sample.lib_name}, not of {sample.app_name}" in refused(sample.app_name, folder)
    edit(sample.lib_overlay / "tree" / CORE, "replaced(64", "replaced(65")
    assert "was changed since this checkout was made" in refused(sample.lib_name, folder)
