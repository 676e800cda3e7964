"""Frames of patched code are marked in tracebacks when that is asked for, and only then."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.patched import Patched, Site, copy_site, make_patched
from support.pythons import SUPPORTED, some_python

RUN = "import transformers.models.model as m\nm.fail(1)\n"
WRAPPER = "wrapped fail: Names the value."
ORIGINAL = "upstream's own code, called by the transformers@"


@pytest.fixture
def site(shared: Path, tmp_path: Path) -> Site:
    patched: Patched = make_patched(shared)
    return copy_site(patched, tmp_path / "site")


def failed(site: Site, code: str, *, python: str = sys.executable, variable: str | None = None) -> str:
    done = site.python("-c", code, python=python, VERL_NPU_TRACEBACK=variable)
    assert done.code in {0, 1}
    assert "ValueError: 1" in done.err
    return done.err


@pytest.mark.parametrize("version", SUPPORTED)
@pytest.mark.parametrize("way", ["variable", "call"])
def test_frames_are_marked_with_operation_and_reason(site: Site, version: str, way: str) -> None:
    start = "import verl_npu_summary as s\n" + ("s.install_traceback()\n" * 2 if way == "call" else "")
    text = failed(site, start + RUN, python=some_python(version), variable="1" if way == "variable" else None)
    marks = [line.strip() for line in text.splitlines() if "[npu]" in line]
    assert len(marks) == 2, text
    assert marks[0].startswith("[npu] transformers@")
    assert marks[0].endswith(WRAPPER)
    assert ORIGINAL in marks[1]
    assert marks[1].endswith("wrapper around fail")
    assert "Traceback (most recent call last):" in text
    assert text.index(WRAPPER) < text.index(ORIGINAL) < text.index("ValueError: 1")


@pytest.mark.parametrize("value", ["", "0", None])
def test_nothing_is_marked_unasked(site: Site, value: str | None) -> None:
    assert "[npu]" not in failed(site, f"import verl_npu_summary\n{RUN}", variable=value)


@pytest.mark.parametrize(
    "code",
    [
        "import logging\ntry: m.fail(1)\nexcept ValueError: logging.exception('x')",
        "import traceback\ntry: m.fail(1)\nexcept ValueError: print(traceback.format_exc(), file=sys.stderr)",
        "import threading\nt = threading.Thread(target=m.fail, args=(1,)); t.start(); t.join()",
        (
            "try:\n  try: m.fail(1)\n  except ValueError as e: raise RuntimeError('outer') from e\n"
            "except RuntimeError: traceback.print_exc()"
        ),
    ],
    ids=["logging", "format_exc", "thread", "chain"],
)
def test_every_way_of_showing_an_error_is_marked(site: Site, code: str) -> None:
    head = "import sys, traceback, verl_npu_summary\nimport transformers.models.model as m\n"
    assert WRAPPER in failed(site, head + code, variable="1")


def test_replaced_and_added_symbols_and_added_files_are_marked(site: Site) -> None:
    code = (
        "import verl_npu_summary, transformers.models.model as m, transformers.npu as n, traceback\n"
        "for f in (lambda: m.rotary('x'), lambda: m.Norm().device(1), lambda: exec_(n)):\n"
        "    try: f()\n    except Exception: traceback.print_exc()\n"
    )
    code = code.replace("exec_(n)", "n.kernel.__call__(1)") + "raise ValueError(1)\n"
    text = failed(site, code, variable="1")
    assert "replaced rotary: One kernel instead of four. (forwarded: https://example.invalid/pull/7)" in text


def test_damaged_installation_does_not_stop_a_traceback(site: Site) -> None:
    site.write("transformers_npu_summary/changes.json", b"{")
    text = failed(site, f"import verl_npu_summary\n{RUN}", variable="1")
    assert "Traceback (most recent call last):" in text
    assert "[npu]" not in text


def test_both_copies_mark_once_and_it_can_be_undone(site: Site) -> None:
    code = (
        "import verl_npu_summary as a, transformers_npu_summary as b, traceback, sys\n"
        "a.install_traceback(); b.install_traceback()\nimport transformers.models.model as m\n"
        "try: m.fail(1)\nexcept ValueError: traceback.print_exc()\n"
        "from transformers_npu_summary import traceback_marks as t\nt.uninstall()\n"
        "print('--', file=sys.stderr)\n"
    )
    before, after = failed(site, code + RUN.splitlines()[1]).split("--\n")
    assert (before.count(WRAPPER), after.count("[npu]")) == (1, 0)
