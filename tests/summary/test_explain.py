"""`--explain` reads the tracebacks of a log, and marks the frames of changed code with the reasons."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from npu_summary.explain import Symbols, explain
from npu_summary.installed import Place
from support.environment import Done
from support.patched import InstalledSite, copy_site, make_patched
from support.pythons import ENDS, some_python

from .samples import change, distribution, file, klass, typed

RUN = "import transformers.models.model as m\nm.fail(1)\n"
WRAPPER = "[transformers-npu] wrapped fail by transformers@"
WHY = ": Names the value."
ORIGINAL = "[transformers-npu] upstream's own code, called by the wrapper around fail"


@pytest.fixture
def site(shared: Path, tmp_path: Path) -> InstalledSite:
    return copy_site(make_patched(shared), tmp_path / "site")


def failed(site: InstalledSite, code: str, *, python: str = sys.executable) -> str:
    """Return what a failing program writes to standard error."""
    done = site.python("-c", code, python=python)
    assert "Traceback" in done.err
    return done.err


def ask(site: InstalledSite, log: str | bytes, *more: str, python: str = sys.executable) -> Done:
    file = site.folder.parent / "train.log"
    file.write_bytes(log.encode() if isinstance(log, str) else log)
    return site.python("-m", "verl_npu_summary", "--explain", str(file), *more, python=python)


def marks(text: str) -> list[str]:
    return [line.partition("[transformers-npu]")[2] for line in text.splitlines() if "[transformers-npu]" in line]


@pytest.mark.parametrize("version", ENDS)
def test_frames_are_marked_with_operation_and_reason(site: InstalledSite, version: str) -> None:
    log = f"epoch 1\n{failed(site, RUN, python=some_python(version))}done\n"
    done = ask(site, log, python=some_python(version))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Traceback (most recent call last):\n")
    assert done.out.endswith("ValueError: 1\n")
    frames = re.findall(r"in fail\n    (\[.*)|in _upstream_fail\n    (\[.*)", done.out)
    (wrapper, _), (_, original) = frames
    assert wrapper.startswith(WRAPPER)
    assert wrapper.endswith(WHY)
    assert original == ORIGINAL
    without = [line for line in done.out.splitlines() if "[transformers-npu]" not in line]
    assert without == failed(site, RUN, python=some_python(version)).splitlines()


def test_a_log_comes_from_standard_input_too(site: InstalledSite) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-m", "verl_npu_summary", "--explain", "-"],
        input=failed(site, RUN).encode() + b"\xff\n",
        env={"PYTHONPATH": str(site.folder)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, len(marks(done.stdout.decode()))) == (0, 2)


def test_chained_errors_several_tracebacks_and_groups_are_followed(site: InstalledSite) -> None:
    code = (
        "import traceback, transformers.models.model as m\n"
        "try:\n    try: m.fail(1)\n    except ValueError as e: raise RuntimeError('outer') from e\n"
        "except RuntimeError: traceback.print_exc()\n"
        "print('between', file=__import__('sys').stderr)\n"
        "try: m.fail(2)\nexcept ValueError as e: first = e\n"
    )
    group = "raise ExceptionGroup('both', [first])\n" if sys.version_info >= (3, 11) else "raise first\n"
    done = ask(site, failed(site, code + group))
    assert len(marks(done.out)) == 4
    assert "The above exception was the direct cause of the following exception:\n" in done.out
    assert "RuntimeError: outer\n" in done.out
    assert "between" not in done.out


def test_replaced_symbols_tell_where_they_were_forwarded(site: InstalledSite) -> None:
    done = ask(site, failed(site, "import transformers.models.model as m\nm.rotary('x')\n"))
    (mark,) = marks(done.out)
    assert mark.startswith(" replaced rotary by transformers@")
    assert mark.endswith(": One kernel instead of four. (forwarded: https://example.invalid/pull/7)")


RAY = "\x1b[36m(WorkerDict pid={pid}, ip=10.0.0.{pid})\x1b[0m "


def test_prefixes_of_ray_colours_and_alternating_workers_are_seen_through(site: InstalledSite) -> None:
    lines = failed(site, RUN).splitlines()
    both = [RAY.format(pid=pid) + line for line, pid in product(lines, (1, 2))]
    both.insert(5, "(TaskRunner pid=9) step 3")
    both[4] += " [repeated 7x across cluster]"
    ranks = [f"[rank0]: {line}" for line in lines]
    done = ask(site, "\n".join([*both, *ranks, "[rank1]: all is well", "step 4"]))
    assert "\x1b" not in done.out
    assert len(marks(done.out)) == 6
    assert "step" not in done.out
    assert "all is well" not in done.out
    assert f"(WorkerDict pid=2, ip=10.0.0.2)     {ORIGINAL}\n" in done.out
    assert f"[rank0]:     {ORIGINAL}\n" in done.out
    assert done.out.count("ValueError: 1") == 3


def test_a_log_of_another_machine_is_read_by_where_files_lie_in_the_wheel(site: InstalledSite) -> None:
    log = failed(site, RUN).replace(str(site.folder), "/opt/env/lib/python3.10/site-packages")
    assert len(marks(ask(site, log).out)) == 2
    windows = log.replace("/opt/env", "C:").replace("/", "\\")
    assert len(marks(ask(site, windows).out)) == 2


def test_another_copy_on_this_machine_is_not_taken_for_ours(site: InstalledSite, tmp_path: Path) -> None:
    copy = tmp_path / "src/transformers/models/model.py"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(site.path("transformers/models/model.py").read_bytes())
    log = failed(site, RUN).replace(str(site.path("transformers/models/model.py")), str(copy))
    assert marks(ask(site, log).out) == []


def test_a_log_of_another_build_is_told_so_instead_of_a_wrong_reason(site: InstalledSite) -> None:
    log = re.sub(r"line \d+, in fail\n", "line 1, in fail\n", failed(site, RUN))
    (first, _) = marks(ask(site, log).out)
    assert first.endswith("fail is not in line 1 of the file that is installed here: the log is of another build")


def test_what_cannot_be_read_or_holds_no_traceback_is_said_with_1(site: InstalledSite) -> None:
    done = ask(site, "all is well\n")
    assert (done.code, done.out) == (1, "")
    assert "train.log: holds no traceback" in done.err
    gone = site.python("-m", "verl_npu_summary", "--explain", "gone.log")
    assert (gone.code, gone.out) == (1, "")
    assert "gone.log: No such file or directory" in gone.err
    log = failed(site, RUN)
    site.write("transformers_npu_summary/changes.json", b"{")
    damaged = ask(site, log)
    assert (damaged.code, marks(damaged.out)) == (1, [])
    assert "ValueError: 1\n" in damaged.out
    assert "Traceback" not in damaged.err


def test_lines_that_only_look_alike_end_nothing_and_begin_nothing() -> None:
    lines = ["a File without a frame", '  File "x.py", line 1, in f', "    raise X", "X", "    more", ""]
    assert list(explain(lines, lambda *_: "")) == lines[1:4]


SEVERAL = """\
class Box:
    @property
    def size(self):
        return self._upstream_size()

    def _upstream_size(self):
        return 1 / 0

    @size.setter
    def size(self, new):
        self._upstream_size_setter(new)

    def _upstream_size_setter(self, new):
        raise ValueError(new)


def f_(x):
    return _upstream_f__2(x)


def _upstream_f__2(x):
    return x


class Shelf:
    class Box:
        def made(x):
            return _upstream_Shelf_Box_made(x)

        global _upstream_Shelf_Box_made
        def _upstream_Shelf_Box_made(x):
            return x

        FIRST = made(1)
"""


@pytest.mark.parametrize(
    ("line", "function", "said"),
    [
        (4, "size", "wrapped Box.size by verl@796871d: Get."),
        (7, "_upstream_size", "upstream's own code, called by the wrapper around Box.size"),
        (11, "size", "wrapped Box.size[@size.setter] by verl@796871d: Set."),
        (
            14,
            "_upstream_size_setter",
            "upstream's own code, called by the wrapper around Box.size[@size.setter]",
        ),
        (18, "f_", "wrapped f_[else] by verl@796871d: Else."),
        (22, "_upstream_f__2", "upstream's own code, called by the wrapper around f_[else]"),
        (28, "made", "wrapped Shelf.Box.made by verl@796871d: Made."),
        (
            32,
            "_upstream_Shelf_Box_made",
            "upstream's own code, called by the wrapper around Shelf.Box.made",
        ),
    ],
)
def test_each_of_several_definitions_has_its_own_reason(tmp_path: Path, line: int, function: str, said: str) -> None:
    setter = change("replaced", "method", "size", operation="wrapped", line=10, where="@size.setter", why="Set.")
    members = [change("replaced", "method", "size", operation="wrapped", line=3, why="Get."), setter]
    other = change("replaced", "method", "f_", operation="wrapped", line=17, where="else", why="Else.")
    made = klass("Shelf.Box", [change("replaced", "method", "made", operation="wrapped", line=27, why="Made.")])
    (changes,) = typed(distribution("verl", [file("verl/x.py", [klass("Box", members), made], [other])]))
    (tmp_path / "verl").mkdir()
    (tmp_path / "verl" / "x.py").write_text(SEVERAL)
    symbols = Symbols([(Place(str(tmp_path), "verl_npu_summary"), changes)])
    assert symbols.mark(str(tmp_path / "verl" / "x.py"), line, function) == f"[verl-npu] {said}"
