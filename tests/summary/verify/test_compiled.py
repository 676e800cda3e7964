"""Bytecode is compared with its source, by a second process where there is much of it, to the same end."""

from __future__ import annotations

import marshal
import py_compile
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npu_summary.verify import compiled

MANY = 12
STALE = (1, 7)


@pytest.fixture
def candidates(tmp_path: Path) -> list[compiled.Candidate]:
    """Modules and their bytecode, some of it of another source, others none that Python would run or take."""
    made: list[compiled.Candidate] = []
    for number in range(MANY):
        source, bytecode = tmp_path / f"m\udc80{number}.py", tmp_path / f"m{number}.pyc"
        source.write_text(f"VALUE = {number}\n")
        py_compile.compile(str(source), cfile=str(bytecode), doraise=True)
        if number in STALE:
            source.write_text(f"VALUE = -{number}\n")
        made.append((str(source), str(bytecode), 0, True))
    Path(made[3][1]).write_bytes(Path(made[3][1]).read_bytes()[:40])
    Path(made[4][0]).unlink()
    return made


def expected(candidates: list[compiled.Candidate]) -> list[compiled.Candidate]:
    return [candidates[number] for number in STALE]


def test_a_second_process_finds_what_this_one_finds(candidates: list[compiled.Candidate]) -> None:
    command = [sys.executable, "-I", "-S", compiled.__file__]
    done = subprocess.run(command, input=marshal.dumps(candidates), capture_output=True, check=True)
    assert compiled.stale(candidates) == expected(candidates)
    assert done.stdout == bytes(number in STALE for number in range(MANY))


def test_two_processes_share_the_work(candidates: list[compiled.Candidate], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_cores", lambda: 2)
    compare, done_here = compiled.stale, []

    def slowly(these: list[compiled.Candidate]) -> list[compiled.Candidate]:
        done_here.extend(these)
        time.sleep(0.2)  # more than a start takes
        return compare(these)

    monkeypatch.setattr(compiled, "stale", slowly)
    assert sorted(compiled.comparison(candidates)()) == sorted(expected(candidates))
    assert 0 < len(done_here) < MANY


@pytest.mark.parametrize("executable", ["", "/absent", "/bin/false", "/bin/echo", "/bin/cat"])
def test_without_a_python_to_start_it_is_done_here(
    candidates: list[compiled.Candidate], monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setattr(compiled, "_cores", lambda: 2)
    monkeypatch.setattr(sys, "executable", executable)
    assert sorted(compiled.comparison(candidates)()) == sorted(expected(candidates))


@pytest.mark.parametrize(("cores", "number"), [(1, MANY), (2, 3)])
def test_no_process_is_started_where_it_gains_nothing(
    candidates: list[compiled.Candidate], monkeypatch: pytest.MonkeyPatch, cores: int, number: int
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(compiled, "_start", begun.append)
    monkeypatch.setattr(compiled, "_cores", lambda: cores)
    compiled.comparison(candidates[:number])()
    assert not begun
    monkeypatch.setattr(compiled, "_cores", lambda: 2)
    compiled.comparison(candidates)()
    assert begun
