"""What others replace at run time is found and named, whatever it is and however it is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.marks import rarely
from support.patched import InstalledSite
from support.pythons import ENDS, some_python
from support.venvs import Venv, make_venv

pytestmark = pytest.mark.slow

HEAD = "import functools, transformers.models.model as m\n\n\n"


@dataclass(frozen=True, kw_only=True)
class ReplacementCase:
    """One way to replace something.

    Args:
        name: in words.
        code: a module that does it; its first line of interest is marked with ``# here``.
        symbol: what it replaces.
        how: what the audit must call it.
        ours: our operation on that symbol; empty where it is upstream's.
    """

    name: str
    code: str
    symbol: str
    how: str
    ours: str = ""


CASES = [
    ReplacementCase(
        name="function",
        code="def f(q): return 0  # here\nm.rotary = f",
        symbol="rotary",
        how="replaced",
        ours="replaced",
    ),
    ReplacementCase(
        name="upstream's function", code="def f(): return 0  # here\nm.logged = f", symbol="logged", how="replaced"
    ),
    ReplacementCase(
        name="lambda", code="m.rotary = lambda q: 0  # here", symbol="rotary", how="replaced", ours="replaced"
    ),
    ReplacementCase(
        name="method",
        code="def f(self, x): return 0  # here\nm.Norm.forward = f",
        symbol="Norm.forward",
        how="replaced",
        ours="wrapped",
    ),
    ReplacementCase(
        name="added method of ours",
        code="def f(self): return 'cpu'  # here\nm.Norm.device = f",
        symbol="Norm.device",
        how="replaced",
        ours="added",
    ),
    ReplacementCase(
        name="property",
        code="def f(self): return 2  # here\nm.Norm.size = property(f)",
        symbol="Norm.size",
        how="replaced",
    ),
    ReplacementCase(
        name="property by a method",
        code="def f(self): return 2  # here\nm.Norm.size = f",
        symbol="Norm.size",
        how="replaced",
    ),
    ReplacementCase(
        name="staticmethod",
        code="def f(): return 2  # here\nm.Norm.make = staticmethod(f)",
        symbol="Norm.make",
        how="replaced",
    ),
    ReplacementCase(
        name="classmethod",
        code="def f(cls): return 2  # here\nm.Norm.build = classmethod(f)",
        symbol="Norm.build",
        how="replaced",
    ),
    ReplacementCase(
        name="decorated method",
        code="def f(self, x): return 2  # here\nm.Norm.logged = f",
        symbol="Norm.logged",
        how="replaced",
    ),
    ReplacementCase(
        name="cached function", code="def f(): return 2  # here\nm.cached = f", symbol="cached", how="replaced"
    ),
    ReplacementCase(
        name="cached function, cached again",
        code="def f(): return 2  # here\nm.cached = functools.lru_cache(maxsize=None)(f)",
        symbol="cached",
        how="replaced",
    ),
    ReplacementCase(
        name="wrapped with functools.wraps",
        code=(
            "def w(g):\n    @functools.wraps(g)  # here\n    def run(*a): return g(*a)\n    return run\n"
            "m.rotary = w(m.rotary)"
        ),
        symbol="rotary",
        how="wrapped",
        ours="replaced",
    ),
    ReplacementCase(
        name="wrapped without functools",
        code="def w(g):\n    def run(*a): return g(*a)  # here\n    return run\nm.Norm.forward = w(m.Norm.forward)",
        symbol="Norm.forward",
        how="wrapped",
        ours="wrapped",
    ),
    ReplacementCase(
        name="decorated method wrapped once more",
        code="def w(g):\n    def run(*a): return g(*a)  # here\n    return run\nm.Norm.logged = w(m.Norm.logged)",
        symbol="Norm.logged",
        how="wrapped",
    ),
    ReplacementCase(
        name="classmethod wrapped",
        code=(
            "def w(g):\n    def run(cls): return g(cls)  # here\n    return run\n"
            "m.Norm.build = classmethod(w(m.Norm.build.__func__))"
        ),
        symbol="Norm.build",
        how="wrapped",
    ),
    ReplacementCase(
        name="partial of another",
        code="def f(a, q): return 0  # here\nm.rotary = functools.partial(f, 1)",
        symbol="rotary",
        how="replaced",
        ours="replaced",
    ),
    ReplacementCase(
        name="callable object",
        code="class F:\n    def __call__(self, q): return 0  # here\nm.rotary = F()",
        symbol="rotary",
        how="replaced",
        ours="replaced",
    ),
    ReplacementCase(
        name="code swapped in place",
        code="def f(q): return 0  # here\nm.rotary.__code__ = f.__code__",
        symbol="rotary",
        how="replaced",
        ours="replaced",
    ),
    ReplacementCase(
        name="class",
        code="class Norm:\n    def forward(self, x): return 0  # here\nm.Norm = Norm",
        symbol="Norm",
        how="replaced",
    ),
    ReplacementCase(
        name="class by its child",
        code="class Norm(m.Norm):\n    def forward(self, x): return 0  # here\nm.Norm = Norm",
        symbol="Norm",
        how="replaced",
    ),
    ReplacementCase(
        name="attribute added",
        code="def f(self): return 0  # here\nm.Norm.extra = f",
        symbol="Norm.extra",
        how="added",
    ),
    ReplacementCase(name="function added", code="def f(): return 0  # here\nm.extra = f", symbol="extra", how="added"),
]


def audit(site: InstalledSite, *arguments: str, **more: Any) -> dict[str, Any]:
    done = site.python("-m", "verl_npu_summary", "--audit", "--json", *arguments, **more)
    assert done.out, done.err
    assert not done.err, done.err
    return {**done.json(), "exit": done.code}


def write(site: InstalledSite, name: str, code: str) -> Path:
    file = site.folder.parent / name
    file.write_text(code)
    return file


def touch(one: ReplacementCase, other: ReplacementCase) -> bool:
    """Return whether what the one replaces is what the other does, or is in it."""
    outer, inner = sorted((one.symbol, other.symbol))
    return f"{inner}.".startswith(f"{outer}.")


def apart() -> list[list[ReplacementCase]]:
    """Return the cases in groups that can be audited together: it is starting Python that costs."""
    groups: list[list[ReplacementCase]] = []
    for case in CASES:
        free = [group for group in groups if not any(touch(case, other) for other in group)]
        if free:
            free[0].append(case)
        else:
            groups.append([case])
    return groups


@pytest.mark.parametrize("cases", apart(), ids=lambda cases: f"{cases[0].name} and {len(cases) - 1} more")
def test_replacement_is_found_with_who_did_it(
    site: InstalledSite, cases: list[ReplacementCase], subtests: pytest.Subtests
) -> None:
    files = [write(site, f"patches{n}.py", HEAD + case.code + "\n") for n, case in enumerate(cases)]
    report = audit(site, *(f"--import={file.stem}" for file in files))
    assert report["exit"] == 1
    by_symbol = {one["symbol"]: one for one in report["replacements"]}
    assert len(report["replacements"]) == len(by_symbol) == len(cases)
    for case, file in zip(cases, files, strict=True):
        with subtests.test(case.name):
            found = by_symbol[case.symbol]
            assert (found["module"], found["how"]) == ("transformers.models.model", case.how)
            line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "# here" in text)
            assert (found["by"]["module"], found["by"]["file"], found["by"]["line"]) == (file.stem, str(file), line)
            assert (found["kind"], found["reason"]) == ("unexpected", "")
            assert (found["ours"] or {}).get("operation", "") == case.ours


def test_deleted_symbol_is_found(site: InstalledSite) -> None:
    write(site, "patches.py", HEAD + "del m.Norm.forward\n")
    (found,) = audit(site, "--import", "patches")["replacements"]
    assert (found["symbol"], found["how"], found["ours"]["why"]) == ("Norm.forward", "deleted", "Fused on the NPU.")


def test_mock_has_no_file_but_is_named(site: InstalledSite) -> None:
    write(site, "patches.py", HEAD + "from unittest import mock\nm.rotary = mock.Mock()\nm.cached = mock.Mock()\n")
    report = audit(site, "--import", "patches")
    assert {(one["symbol"], one["how"], one["by"]["module"]) for one in report["replacements"]} == {
        ("rotary", "replaced", "unittest.mock"),
        ("cached", "replaced", "unittest.mock"),
    }


def test_imported_name_replaced_in_the_importing_module(site: InstalledSite) -> None:
    site.write("verl/uses.py", b"")  # an added file is not audited: nothing says what it should define
    write(
        site,
        "patches.py",
        "import verl.trainer as t\n\n\ndef f(q): return 0\n\n\nclass M: rotary = f\n\n\nt.model = M\n",
    )
    (found,) = audit(site, "--import", "patches")["replacements"]
    assert (found["module"], found["symbol"], found["by"]["module"]) == ("verl.trainer", "model", "patches")


def test_torch_npu_is_expected_and_named(site: InstalledSite) -> None:
    for name, code in {
        "torch_npu/__init__.py": b"",
        "torch_npu/contrib/__init__.py": b"",
        "torch_npu/contrib/transfer_to_npu.py": (
            b"import functools, transformers.models.model as m\n\n\ndef w(g):\n    @functools.wraps(g)\n"
            b"    def run(*a): return g(*a)\n    return run\n\n\nm.rotary = w(m.rotary)\n"
        ),
        "torch_npu/ops.py": b"import transformers.models.model as m\ndef f(s, x): return 0\nm.Norm.forward = f\n",
    }.items():
        (site.folder.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (site.folder.parent / name).write_bytes(code)
    report = audit(site, "--import", "torch_npu.contrib.transfer_to_npu", "--import", "torch_npu.ops")
    assert report["exit"] == 0
    assert {(one["symbol"], one["kind"], one["reason"].split()[0]) for one in report["replacements"]} == {
        ("rotary", "expected", "transfer_to_npu"),
        ("Norm.forward", "expected", "torch_npu"),
    }
    done = site.python("-m", "verl_npu_summary", "--audit", "--import", "torch_npu.ops")
    assert (done.code, "replaced at run time by design: 1" in done.out) == (0, True)
    assert "ours is lost: wrapped: Fused on the NPU." in done.out


def test_patched_packages_patching_each_other_are_told_apart(site: InstalledSite) -> None:
    # verl does such things itself; it is no stranger's doing, and no reason for alarm.
    site.write("verl/trainer.py", site.path("verl/trainer.py").read_bytes() + b"\n\nmodel.rotary = fit\n")
    report = audit(site)
    assert report["exit"] == 0
    assert [(one["symbol"], one["kind"], one["by"]["module"]) for one in report["replacements"]] == [
        ("rotary", "own", "verl.trainer")
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("version", ENDS)
def test_untouched_process_is_clean_on_every_python(site: InstalledSite, version: str) -> None:
    report = audit(site, python=some_python(version))
    assert (report["exit"], report["replacements"], report["failures"]) == (0, [], [])
    assert report["modules"] >= 4


@pytest.mark.parametrize("version", ENDS)
def test_replacement_is_found_on_every_python(site: InstalledSite, version: str) -> None:
    write(site, "patches.py", HEAD + "def f(self, x): return 0\n\n\nm.Norm.forward = f\n")
    (found,) = audit(site, "--import", "patches", python=some_python(version))["replacements"]
    assert (found["symbol"], found["by"]["line"], found["by"]["name"]) == ("Norm.forward", 4, "f")


def test_script_runs_with_its_arguments_and_is_audited_afterwards(site: InstalledSite) -> None:
    write(site, "helper.py", "NAME = 'helper'\n")
    script = write(
        site,
        "train.py",
        "import sys, helper, transformers.models.model as m\nprint(sys.argv)\nassert sys.argv[1:] == ['--steps', '1']\n"
        "assert __name__ == '__main__'\nm.rotary = lambda q: helper.NAME\nsys.exit(0)\n",
    )
    report = audit(site, "--script", str(script), "--", "--steps", "1", cwd=site.folder)
    (found,) = report["replacements"]
    assert (report["exit"], found["symbol"]) == (1, "rotary")
    assert (found["by"]["module"], found["by"]["file"]) == ("__main__", str(script))


@pytest.mark.parametrize("end", ["sys.exit(3)", *rarely("raise ValueError('broken')")])
def test_script_that_fails_is_told_and_still_audited(site: InstalledSite, end: str) -> None:
    script = write(site, "train.py", f"import sys, transformers.models.model as m\n{end}\n")
    report = audit(site, "--script", str(script))
    assert (report["exit"], report["modules"] > 0, len(report["failures"])) == (2, True, 1)


def test_process_that_dies_cannot_be_told(site: InstalledSite) -> None:
    write(site, "patches.py", "import os\nprint('last words', flush=True)\nos.abort()\n")
    report = audit(site, "--import", "patches")
    assert (report["exit"], report["modules"]) == (2, 0)
    assert "last words" in report["problems"][0]


def test_first_error_of_a_chain_is_the_one_shown(site: InstalledSite) -> None:
    code = "try:\n    import absent_thing.deep\nexcept ImportError as error:\n    raise RuntimeError('no') from error\n"
    write(site, "patches.py", code)
    report = audit(site, "--import", "patches")
    (failure,) = report["failures"]
    assert (report["exit"], failure["absent"]) == (2, "absent_thing")
    assert failure["error"].startswith("ModuleNotFoundError: No module named 'absent_thing'")


@pytest.mark.thorough
def test_module_of_the_summary_without_its_dependency_is_no_failure(site: InstalledSite) -> None:
    site.write("verl/trainer.py", b"import absent_thing\n")
    report = audit(site)
    assert report["exit"] == 0
    done = site.python("-m", "verl_npu_summary", "--audit")
    assert "not audited: verl.trainer: absent_thing is not installed" in done.out


def test_module_without_what_its_wheel_requires_cannot_be_told(site: InstalledSite) -> None:
    file = site.info("verl_npu") / "METADATA"
    file.write_text(file.read_text("utf-8").replace("\nName:", "\nRequires-Dist: absent-thing>=1\nName:", 1), "utf-8")
    site.write("verl/trainer.py", b"import absent_thing\n")
    report = audit(site)
    assert report["exit"] == 2
    assert [one["required"] for one in report["failures"]] == ["verl-npu"]
    done = site.python("-m", "verl_npu_summary", "--audit")
    assert "not audited: verl.trainer: absent_thing is not installed, which verl-npu requires\n" in done.out
    assert "could not tell for all" in done.out


@pytest.mark.thorough
def test_audit_that_could_look_at_little_says_so_in_one_line_for_each_reason(site: InstalledSite) -> None:
    for path in ("verl/trainer.py", "transformers/models/model.py"):
        site.write(path, b"import absent_thing\n")
    site.write("verl/__init__.py", b"")
    report = audit(site, "--import", "verl")  # what is asked for by name is there
    assert report["exit"] == 0
    done = site.python("-m", "verl_npu_summary", "--audit")
    assert done.code == 2
    (line,) = [line for line in done.out.splitlines() if "absent_thing" in line]
    assert line == "not audited: transformers.models.model and 1 more: absent_thing is not installed"
    assert "2 not: could not tell for all" in done.out


def test_import_of_no_module_or_of_another_package_is_an_error(site: InstalledSite) -> None:
    done = site.python("-m", "verl_npu_summary", "--audit", "--import", "nosuch", "--import", "verl")
    assert done.code == 2
    assert "error: nosuch: ModuleNotFoundError: No module named 'nosuch'\n" in done.out
    other = site.python("-m", "verl_npu_summary", "--audit", "--import", "json")
    assert other.code == 2
    assert "error: nothing that was imported belongs to a patched distribution\n" in other.out


def test_hook_of_pythonpath_is_found_by_an_isolated_audit_as_well(site: InstalledSite, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(f"{HEAD}def f(q): return 0\nm.rotary = f\n")
    venv = _with_the_site(site, tmp_path)
    command = (venv.executable, "-I", "-m", "verl_npu_summary", "--audit", "--json")
    done = site.patched.environment.run(*command, cwd=tmp_path, PYTHONPATH=str(hooks))
    assert [one["symbol"] for one in done.json()["replacements"]] == ["rotary"]
    assert done.code == 1


def test_current_folder_is_kept_out_of_an_isolated_audit(site: InstalledSite, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("print('mine'); raise SystemExit(0)\n")
    venv = _with_the_site(site, tmp_path)
    done = site.patched.environment.run(venv.executable, "-I", "-m", "verl_npu_summary", "--audit", cwd=tmp_path)
    assert "mine" not in done.out
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("modules audited: everything is what its file defines\n")


def _with_the_site(site: InstalledSite, folder: Path) -> Venv:
    """Return an environment that names the site's folder itself, since ``-I`` leaves PYTHONPATH out."""
    venv = make_venv(folder / "venv", site.patched.environment)
    (venv.site / "site.pth").write_text(f"{site.folder}\n")
    return venv
