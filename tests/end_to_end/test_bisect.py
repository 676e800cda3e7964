"""`bisect`, run: the fewest operations that make a command fail; and what it makes of parts that cannot run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.overlays import load, write
from language.pairs import source_tree
from npu_overlays.authoring.bisect.bisect import RunResult, hold, smallest
from npu_overlays.authoring.bisect.dependencies import needed
from npu_overlays.authoring.checkout.units import units_of
from npu_overlays.contracts.overlay_code import OverlayCode
from npu_overlays.merge.apply import merge_overlay
from npu_overlays.sources.tree import FileEntry, PatchedTree, Source, SourceTree
from support.environment import Done
from support.marks import rarely
from support.overlays import edit

from .sample import Sample

pytestmark = pytest.mark.slow

CORE = "src/lib/core.py"


def bisected(sample: Sample, *command: str, options: Sequence[str] = ()) -> Done:
    return sample.environment.cli("bisect", sample.lib_name, *options, "--overlays", sample.overlays, "--", *command)


def found(sample: Sample, *command: str) -> list[str]:
    done = bisected(sample, *command, options=["--json"])
    assert done.code == 0, done.err
    return list(chain.from_iterable(unit["targets"] for unit in done.json()["units"]))


def test_one_operation_is_found_with_its_reason_and_what_the_command_says(locked: Sample) -> None:
    done = bisected(locked, "python", "-c", "from lib.core import scale; assert scale(1) == 2, 'not two'")
    assert done.code == 0, done.err
    assert "fails with 1 operation alone" in done.out
    assert f"edited    {CORE}:scale  [{locked.lib_name}/tree/{CORE}]" in done.out
    assert "Three is right here." in done.out
    assert "AssertionError: not two" in done.out


def test_two_that_fail_only_together_are_found(locked: Sample) -> None:
    script = 'grep -q "value \\* 3" src/lib/core.py && grep -q four src/lib/notes.txt && exit 1; exit 0'
    assert sorted(found(locked, "sh", "-c", script)) == [f"{CORE}:scale", "src/lib/notes.txt"]


def test_what_an_operation_needs_is_applied_with_it(sample: Sample) -> None:
    core = sample.lib_overlay / "tree" / CORE
    edit(core, "import functools\n", "import functools\n\nfrom lib.npu import NAME\n")
    edit(core, 'return "npu"', "return NAME")
    code = "from lib.core import Engine; e = Engine(); assert not hasattr(e, 'device') or e.device() != 'npu'"
    assert sorted(found(sample, "python", "-c", code)) == [f"{CORE}:Engine.device", "src/lib/npu.py"]


@pytest.mark.thorough
def test_where_a_part_fails_otherwise_than_the_whole_does_that_is_said(sample: Sample) -> None:
    """What it needs is named in a text, which shows nothing."""
    edit(
        sample.lib_overlay / "tree/src/lib/npu.py", 'NAME = "npu"', 'import lib\n\nNAME = getattr(lib.Engine, "device")'
    )
    sample.environment.ok("lock", sample.lib_name)
    code = (
        "import importlib.util as f; from lib.core import scale; f.find_spec('lib.npu') and __import__('lib.npu'); "
        "assert scale(1) == 2, 'more'"
    )
    done = bisected(sample, "python", "-c", code)
    assert done.code == 0, done.err
    assert "file      src/lib/npu.py  [" in done.out
    assert "has no attribute 'device'" in done.out
    assert "with the whole overlay it fails otherwise: it exits with 1, and says:" in done.err
    assert "AssertionError: more" in done.err
    data = bisected(sample, "python", "-c", code, options=["--json"]).json()
    assert data["otherwise"]["output"].endswith("AssertionError: more\n")


ERROR = "Traceback (most recent call last):\n  File 'a.py', line {}, in f\n{}\n"
PYTEST = "FAILED tests/test_a.py::test_a - AssertionError: {}\n{} failed, 3 passed in {}s\n"


@pytest.mark.parametrize(
    ("part", "whole", "is_like"),
    [
        (ERROR.format(3, "ValueError: wrong"), ERROR.format(17, "ValueError: wrong"), True),
        (ERROR.format(3, "AttributeError: no z"), ERROR.format(3, "ValueError: wrong"), False),
        (PYTEST.format("wrong", 1, 0.02), PYTEST.format("wrong", 1, 1.3), True),
        (PYTEST.format("wrong", 1, 0.02), "FAILED tests/test_b.py::test_b\n" + PYTEST.format("wrong", 2, 1.3), True),
        (PYTEST.format("wrong", 1, 0.02), PYTEST.format("right", 1, 0.02), False),
        ("<object at 0x7f3a>\n", "<object at 0x55b0>\n", True),
        ("", "much\n", True),
    ],
)
def test_a_part_ends_as_the_whole_does_where_its_last_lines_are_said_there_too(
    part: str, whole: str, is_like: bool
) -> None:
    assert RunResult(code=1, output=part).is_like(RunResult(code=1, output=whole)) is is_like
    assert not RunResult(code=1, output=part).is_like(RunResult(code=2, output=part))


READS = """
    class E:
        @added(why="x")
        def z(self):
            return 1

        limit: int = added(5, why="x")

    class F:
        @added(why="x")
        def z(self):
            return 2

    @added(why="x")
    def helper():
        return 3

    class G:
        @replaced(why="x")
        def f(self, other):
            from pkg import conf
            from pkg.conf import Far
            return {}
"""
UPSTREAM = {
    "pkg/core.py": b"""\
class E:
    def f(self):
        return 1

    def g(self, a=1):
        if a:
            return 1


class F: ...


class G:
    def f(self, other):
        return 1
""",
    "pkg/conf.py": b"class Far: ...\n",
}
CONF = 'NEW = added(5, why="x")\n\nclass Far:\n    @added(why="x")\n    def z(self):\n        return 4\n'


def needs(root: Path, files: Mapping[str, str | bytes], symbol: str) -> set[str]:
    """Return the symbols of the operations that one on a symbol needs, itself among them."""
    content = load(root, write(root, files))
    units = units_of(content)
    code = OverlayCode(content, merge_overlay(content, source_tree(UPSTREAM)))
    names = [unit.targets[0].rpartition(":")[2] for unit in units]
    return {names[one] for one in needed(units, code, content.overlay.pin)[names.index(symbol)]}


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ("E, F", set()),
        ("helper()", {"helper"}),
        ("other.helper()", set()),
        ("other.z()", {"E.z", "F.z", "Far.z"}),
        ("E.z(other)", {"E.z"}),
        ("Far().z", {"E.z", "F.z", "Far.z"}),
        ("Far.z", {"Far.z"}),
        ("conf.NEW", {"NEW"}),
        ("other.NEW", set()),
        ("E(limit=3)", {"E.limit"}),
        ("other.limit", {"E.limit"}),
        ("f'{other.limit}'", {"E.limit"}),
    ],
)
def test_what_is_read_is_needed(tmp_path: Path, reads: str, expected: set[str]) -> None:
    """By its name; of a class that is read nobody needs a member."""
    files: dict[str, str | bytes] = {"tree/pkg/core.py": READS.format(reads), "tree/pkg/conf.py": CONF}
    assert needs(tmp_path, files, "G.f") == expected | {"G.f"}


def test_what_a_method_reads_of_its_own_object_is_of_its_own_class_first(tmp_path: Path) -> None:
    own = """
    class E:
        @replaced(why="x")
        def f(self):
            return self.z()

        @edited(("if a:", "if self.z():"), why="x")
        def g(self): ...

        @added(why="x")
        def z(self):
            return 1

    class F:
        @added(why="x")
        def z(self):
            return 2
    """
    assert needs(tmp_path / "f", {"tree/pkg/core.py": own}, "E.f") == {"E.f", "E.z"}
    assert needs(tmp_path / "g", {"tree/pkg/core.py": own}, "E.g") == {"E.g", "E.z"}


@pytest.mark.thorough
def test_the_folder_is_told_and_is_the_working_folder(locked: Sample) -> None:
    script = (
        f'test "$PWD" = "$NPU_OVERLAYS_CHECKOUT" || exit 127; ! test -e src/lib/npu.sh || ! test -x {CORE[:8]}npu.sh'
    )
    assert found(locked, "sh", "-c", script) == ["src/lib/npu.sh"]


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("exit 0", "does not fail with the whole overlay fix: name a command that fails"),
        ("exit 125", "cannot tell, with the whole overlay"),
        ("echo never; exit 1", "fails on upstream itself, without any operation: never"),
        *rarely(("exit 127", "sh: cannot be run: exit code 127")),
    ],
)
def test_a_command_that_tells_nothing_is_refused(locked: Sample, script: str, text: str) -> None:
    done = bisected(locked, "sh", "-c", script)
    assert done.code == 2
    assert text in " ".join(done.err.split())


def test_a_command_that_is_not_there_is_refused(locked: Sample) -> None:
    done = bisected(locked, "no-such-command")
    assert done.code == 2
    assert "no-such-command: cannot be run: No such file or directory" in done.err


@pytest.mark.thorough
def test_a_command_that_ends_now_so_and_now_so_is_refused(locked: Sample) -> None:
    """It fails at the first run, and then at every third: at that with the one operation that it seems to fail with."""
    count = locked.folder / "count"
    count.write_text("0", "utf-8")
    script = f'n=$(cat "{count}"); n=$((n + 1)); echo $n > "{count}"; test $n -ne 1 && test $((n % 3)) -ne 0'
    done = bisected(locked, "sh", "-c", script)
    assert done.code == 2
    assert "and does not when it is run again" in " ".join(done.err.split())


@pytest.mark.thorough
def test_what_a_command_writes_changes_nothing_and_a_signal_is_named(locked: Sample) -> None:
    script = 'r=0; grep -q "value \\* 3" src/lib/core.py && r=9; sed -i s/value/v/ src/lib/core.py; kill -$r $$'
    done = bisected(locked, "sh", "-c", script)
    assert done.code == 0, done.err
    assert "fails with 1 operation alone" in done.out
    assert "it then is ended by signal 9" in done.out


def tree(**changed: bytes | None) -> PatchedTree:
    content = {"a": b"a", "b/c": b"c", "b/d": b"d"}
    source = Source(kind="git", repository="", commit="")
    entries = {path: FileEntry(blob="", executable=path == "b/d") for path in content}
    return PatchedTree(upstream=SourceTree(entries=entries, content=content, source=source), changed=changed)


def held(folder: Path) -> dict[str, tuple[bytes, bool] | None]:
    """Return every file below a folder, and None for every folder."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.lstat().st_mode & 0o777 == 0o755)
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


MESSES = {
    "changed": "echo longer > a",
    "changed to as much, at the same time": "touch -r a ../then; printf x > a; touch -r ../then a",
    "executable": "chmod +x a",
    "new": "mkdir -p new/er; touch new/er/x b/y",
    "deleted": "rm a",
    "all": 'rm -r "$PWD"',
    "a folder": "rm a; mkdir a; touch a/x",
    "a file": "rm -r b; touch b",
    "a link": "ln -sf ../outside a",
    "a link to a folder": "rm -r b; ln -s ../beside b",
    "a link in place of all": 'rm -r "$PWD"; ln -s beside "$PWD"',
    "unwritable": "chmod a-rwx b",
}


@pytest.mark.parametrize("mess", MESSES.values(), ids=MESSES)
def test_whatever_was_done_in_a_folder_it_holds_a_tree_and_nothing_else(tmp_path: Path, mess: str) -> None:
    (tmp_path / "outside").write_bytes(b"stays")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "c").write_bytes(b"stays")
    folder = tmp_path / "folder"
    for after in (tree(), tree(), tree(a=b"other", e=b"e"), tree(a=None), tree()):
        hold(folder, after)
        expected = {path: (after.after(path), path == "b/d") for path in after.paths()}
        assert held(folder) == {**expected, "b": None}
        subprocess.run(["sh", "-c", mess], cwd=folder, check=False, stderr=subprocess.DEVNULL)
    assert (tmp_path / "outside").read_bytes() == (tmp_path / "beside" / "c").read_bytes() == b"stays"


@given(st.integers(1, 40), st.data())
def test_a_smallest_part_fails_and_none_of_it_can_be_left_out(size: int, data: st.DataObject) -> None:
    causes = [data.draw(st.sets(st.integers(0, size - 1), min_size=1)) for _ in range(data.draw(st.integers(1, 3)))]

    def fails(part: Sequence[int]) -> bool:
        assert part
        return any(cause <= set(part) for cause in causes)

    part = smallest(range(size), fails)
    assert set(part) in causes
    assert part == sorted(part)
