"""Layouts that real wheels have: each is installed as upstream's own is, verified as intact, and damage to it found."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from packaging.tags import sys_tags

from environments.once import once
from support.environment import Environment, copy_environment
from support.marks import VENV_MOSTLY_BY_UV
from support.venvs import Venv
from support.wheels import members, write_wheel

pytestmark = pytest.mark.slow

TAG = str(next(sys_tags()))
COMPILED = EXTENSION_SUFFIXES[0]
LICENCE = b"Free for all.\n"
LIBRARY = "demo.libs/libdemo-1a2b3c.so.1"
FILES = {
    "demo/__init__.py": b"def answer():\n    return 41\n\n\ndef main():\n    print(answer())\n",
    "demo/run.sh": b"#!/bin/sh\n",
    f"demo/_fast{COMPILED}": b"\x7fELF1",
    # Beside the package: what auditwheel brings, what cffi and mypyc compile, stubs, and what runs at every start.
    LIBRARY: b"\x7fELF2",
    f"_demo_backend{COMPILED}": b"\x7fELF3",
    f"0a1b2c__mypyc{COMPILED}": b"\x7fELF4",
    "demo-stubs/__init__.pyi": b"",
    "demo_single.py": b"",
    "demo_single.pyi": b"",
    "demo_start.pth": b"import demo\n",
    "demo.jar": b"PK",
    # The same as in the metadata, and another.
    "LICENSE": LICENCE,
    "NOTICE": b"Installed.\n",
    "space/part/__init__.py": b"",
    "shared/lib/libdemo.so": b"\x7fELF5",
    "legacy/__init__.py": b"__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n",
    "legacy/part/__init__.py": b"",
    "demo-1.5.data/purelib/placed/__init__.py": b"",
    "demo-1.5.data/platlib/placed_single.py": b"",
    "demo-1.5.data/scripts/demo-shell": b"#!/bin/sh\necho shell\n",
    "demo-1.5.data/scripts/demo-python": b"#!python\nimport demo\n\ndemo.main()\n",
    "demo-1.5.data/scripts/demo-binary": b"\x7fELF6",
    "demo-1.5.data/data/share/demo/a.json": b"{}\n",
    "demo-1.5.data/data/etc/demo/a.json": b"[]\n",
    "demo-1.5.dist-info/licenses/LICENSE": LICENCE,
    "demo-1.5.dist-info/licenses/NOTICE": b"Told.\n",
    # Where it lies in the repository, which installs it nowhere.
    "demo-1.5.dist-info/licenses/demo/vendored/LICENSE": b"Free for some.\n",
    "demo-1.5.dist-info/entry_points.txt": b"[console_scripts]\ndemo-run = demo:main\n",
}
CHANGE = """\
from npu_overlays.markers import upstream, wrapped


@wrapped(why="One more is right.")
def answer():
    return upstream() + 1
"""


def make_built(folder: Path) -> None:
    """Start an overlay of a wheel of every layout, change a function, and build it."""
    environment = Environment(folder=folder)
    write_wheel(folder / "index", "demo", "1.5", FILES, tag=TAG)
    environment.ok("init", "demo", "overlay", "--suffix", "acme", cwd=folder)
    (folder / "overlay" / "tree" / "demo").mkdir(parents=True)
    (folder / "overlay" / "tree" / "demo" / "__init__.py").write_text(CHANGE)
    environment.ok("lock", folder / "overlay")
    environment.ok("build", folder / "overlay", "--out", folder / "out")


@pytest.fixture
def built(shared: Path, tmp_path: Path) -> Path:
    """Return a folder with the overlay, upstream's wheel in ``index`` and ours in ``out``."""
    return copy_environment(once(shared, "layouts", make_built), tmp_path).folder


def wheels(built: Path) -> list[Path]:
    """Return our wheel and its companion."""
    return sorted((built / "out").glob("*.whl"))


def installed(folder: Path) -> dict[str, tuple[str, int]]:
    """Return digest and mode of every file below a folder, without metadata and bytecode."""
    files = (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    named = {file.relative_to(folder).as_posix(): file for file in files}
    return {
        path: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mode & 0o777)
        for path, file in named.items()
        if ".dist-info/" not in path
    }


def verify(venv: Venv, **more: str) -> tuple[int, set[str], str]:
    """Return the exit code of a verification, the kinds of what it found, and all it said."""
    command = (venv.executable, "-m", "demo_acme_summary", "--verify", "--json")
    done = venv.environment.run(*command, cwd=None, **more)
    assert done.err == ""
    return done.code, {one["kind"] for one in json.loads(done.out)["findings"]}, done.out


def test_init_ships_every_file_of_a_wheel(built: Path) -> None:
    config = (built / "overlay" / "pyproject.toml").read_text()
    shipped = json.loads(config.partition("packages = ")[2].partition("  #")[0])
    assert shipped == [
        *(".data/data", ".data/scripts", f"0a1b2c__mypyc{COMPILED}", "LICENSE", "NOTICE", f"_demo_backend{COMPILED}"),
        *("demo", "demo-stubs", "demo.jar", "demo.libs", "demo_single.py", "demo_single.pyi", "demo_start.pth"),
        *("legacy", "placed", "placed_single.py", "shared/lib", "space/part"),
    ]
    (wheel,) = (built / "out").glob("demo_acme-*.whl")
    licences = {path.partition("/licenses/")[2]: text for path, text in members(wheel).items() if "/licenses/" in path}
    assert licences == {"LICENSE": LICENCE, "NOTICE": b"Told.\n", "demo/vendored/LICENSE": b"Free for some.\n"}
    environment = Environment(folder=built)
    environment.ok("verify-wheel", *sorted((built / "out").iterdir()))
    environment.ok("sdist", built / "overlay", "--out", built / "sdists")  # which builds the wheel again and compares


def test_a_module_that_is_also_compiled_cannot_be_changed(tmp_path: Path) -> None:
    environment = Environment(folder=tmp_path)
    files = {"demo/__init__.py": b"", "demo/a.py": FILES["demo/__init__.py"], "demo/b.py": FILES["demo/__init__.py"]}
    write_wheel(tmp_path / "index", "demo", "1.5", {**files, f"demo/a{COMPILED}": b"\x7fELF"}, tag=TAG)
    environment.ok("init", "demo", "overlay", "--suffix", "acme", cwd=tmp_path)
    assert "is tree/demo/b.py. It wraps" in (tmp_path / "overlay" / "pyproject.toml").read_text()
    for name in ("a", "b"):
        put(tmp_path / "overlay" / "tree" / "demo" / f"{name}.py", CHANGE.encode())
    done = environment.cli("lock", tmp_path / "overlay")
    assert done.code == 5
    assert done.err.count("error: ") == 1
    assert f"tree/demo/a.py:5: Python imports demo/a{COMPILED} as `demo.a`: a change in demo/a.py has no" in done.err


@VENV_MOSTLY_BY_UV
def test_every_layout_lies_where_upstreams_own_does_and_leaves_nothing(built: Path, venv: Venv) -> None:
    venv.install("--no-deps", built / "index" / f"demo-1.5-{TAG}.whl")
    upstream = installed(venv.folder)
    venv.uninstall("demo")
    before = installed(venv.folder)
    venv.install("--no-deps", *wheels(built))
    ours, site = installed(venv.folder), venv.site.relative_to(venv.folder).as_posix()
    own = {path for path in ours if path.startswith(f"{site}/demo_acme_summary/")}
    explained = {f"{site}/{name}.py" for name in ("demo", "legacy", "placed")}  # the companion's
    assert ours.keys() - own - explained == upstream.keys()
    assert [path for path in upstream if ours[path] != upstream[path]] == [f"{site}/demo/__init__.py"]
    assert verify(venv)[:2] == (0, set())
    for command in ("demo-python", "demo-run"):
        assert venv.environment.succeed(venv.folder / "bin" / command).out == "42\n"
    assert venv.check().code == 0
    venv.uninstall("demo-acme", "demo")
    assert installed(venv.folder) == before


@VENV_MOSTLY_BY_UV
def test_a_target_folder_is_intact(built: Path, venv: Venv, tmp_path: Path) -> None:
    target = tmp_path / "target"
    venv.install("--no-deps", "--target", target, *wheels(built))
    assert verify(venv, PYTHONPATH=str(target))[:2] == (0, set())
    (target / "bin" / "demo-shell").write_bytes(b"#!/bin/sh\n")
    (target / "share" / "demo" / "a.json").unlink()
    assert verify(venv, PYTHONPATH=str(target))[:2] == (1, {"missing", "modified"})


@VENV_MOSTLY_BY_UV
def test_a_script_whose_first_line_an_installer_wrote_over_several_is_intact(built: Path, venv: Venv) -> None:
    moved = venv.folder.with_name("an environment")
    shutil.rmtree(venv.folder)
    venv.environment.succeed(sys.executable, "-m", "venv", "--without-pip", moved)
    there = Venv(folder=moved, environment=venv.environment, installer=_of(venv, moved))
    there.install("--no-deps", *wheels(built))
    assert verify(there)[:2] == (0, set())
    script = moved / "bin" / "demo-python"
    script.write_bytes(script.read_bytes().replace(b"demo.main()", b"demo.main() "))
    assert verify(there)[:2] == (1, {"modified"})


def _of(venv: Venv, folder: Path) -> tuple[str, ...]:
    """Return the installer of an environment that lies elsewhere."""
    old = str(venv.executable)
    return tuple(str(folder / "bin" / "python") if word == old else word for word in venv.installer)


def _appended(path: str) -> Callable[[Venv], None]:
    def do(venv: Venv) -> None:
        put(venv.site / path, (venv.site / path).read_bytes() + b"\n")

    return do


def _deleted(path: str) -> Callable[[Venv], None]:
    return lambda venv: (venv.site / path).unlink()


def _written(path: str) -> Callable[[Venv], None]:
    return lambda venv: put(venv.site / path, b"import demo, space.part\n")


def _another(*paths: str, **texts: bytes) -> Callable[[Venv], None]:
    """Install another distribution that has files of those paths, upstream's where upstream has them, and texts."""

    def do(venv: Venv) -> None:
        files = {path: FILES.get(path, b"import space\n") for path in paths} | texts
        venv.install("--no-deps", write_wheel(venv.environment.folder / "others", "other", "1.0", files))

    return do


def put(file: Path, content: bytes) -> None:
    """Write a file, and the folders it lies in; not into one that uv has linked to its cache."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_bytes(content)


INTACT: set[str] = set()
FOUND: list[tuple[Callable[[Venv], None], set[str], str]] = [
    (_appended(LIBRARY), {"modified"}, LIBRARY),
    (_deleted(LIBRARY), {"missing"}, LIBRARY),
    (_written("demo.libs/more.so"), {"added"}, "demo.libs/more.so"),
    (_appended(f"_demo_backend{COMPILED}"), {"modified"}, "_demo_backend"),
    (_appended("demo_start.pth"), {"modified"}, "demo_start.pth"),
    (_written("other.pth"), {"startup hook"}, "other.pth"),
    (_deleted("../../../share/demo/a.json"), {"missing"}, "share/demo/a.json"),
    (_appended("../../../etc/demo/a.json"), {"modified"}, "etc/demo/a.json"),
    (_appended("../../../bin/demo-python"), {"modified"}, "bin/demo-python"),
    (_deleted("../../../bin/demo-binary"), {"missing"}, "bin/demo-binary"),
    (_another("other-1.0.data/scripts/demo-shell"), {"modified", "overwritten"}, "has written its own file over it"),
    (_another("other-1.0.data/scripts/demo-run"), {"overwritten"}, "other 1.0 claims 1 of our files"),
    (_written("space/part/more.py"), {"added"}, "space/part/more.py"),
    (_another("space/part/more.py"), {"added"}, "installed by other 1.0"),
    (_written("shared/lib/more.so"), {"added"}, "shared/lib/more.so"),
    (_written("space/more.py"), {"added"}, "space/more.py"),
    (_written("legacy/more.py"), {"added"}, "legacy/more.py"),
    (
        _another(
            **{"legacy/__init__.py": b"from pkgutil import extend_path\n\n__path__ = extend_path(__path__, 'legacy')\n"}
        ),
        {"modified", "overwritten"},
        "has written its own file over it",
    ),
    (_another("legacy/part/__init__.py"), {"overwritten"}, "other 1.0 claims 1 of our files"),
    # What belongs to a namespace, or to nobody's package, is none of ours.
    (_another("shared/lib/more.so"), INTACT, ""),
    (_another("space/more/__init__.py"), INTACT, ""),
    (_another("legacy/__init__.py", "legacy/more.py", "legacy/sub/__init__.py"), INTACT, ""),
    (_another("other-nspkg.pth"), INTACT, ""),
    (_written("../../../bin/more"), INTACT, ""),
]


@VENV_MOSTLY_BY_UV
def test_damage_to_any_layout_is_found_and_nothing_else_is_taken_for_damage(built: Path, venv: Venv) -> None:
    for do, kinds, says in FOUND:
        venv.install("--no-deps", "--force-reinstall", *wheels(built))
        assert verify(venv)[:2] == (0, set())
        before = installed(venv.folder)
        do(venv)
        code, found, said = verify(venv)
        assert (code, found) == (int(bool(kinds)), kinds), said
        assert says in said
        if "other" in venv.ask("list").out:
            venv.uninstall("other")
        for path in installed(venv.folder).keys() - before.keys():
            (venv.folder / path).unlink()


@VENV_MOSTLY_BY_UV
def test_a_namespace_elsewhere_counts_where_it_has_a_package_of_ours(built: Path, venv: Venv, tmp_path: Path) -> None:
    venv.install("--no-deps", *wheels(built))
    put(tmp_path / "more" / "space" / "more.py", b"")
    assert verify(venv, PYTHONPATH=str(tmp_path / "more"))[:2] == (0, set())
    put(tmp_path / "more" / "space" / "part" / "__init__.py", b"")
    code, kinds, said = verify(venv, PYTHONPATH=str(tmp_path / "more"))
    assert (code, kinds) == (1, {"shadowed"})
    assert f"`import space.part` gives {tmp_path / 'more' / 'space' / 'part'}, not {venv.site / 'space/part'}" in said
    assert f"PYTHONPATH names the folder it lies in; to repair, take {tmp_path / 'more'} out of PYTHONPATH" in said
