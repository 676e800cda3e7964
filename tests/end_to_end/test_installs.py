"""Installed with pip and with uv: upstream displaced and not mixed, the summary told, everything removable.

What pip does, the install matrix tells of the newest and of the oldest.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.marks import VENV_MOSTLY_BY_UV
from support.venvs import Venv
from support.wheels import write_wheel

from .sample import ARCHIVE, Sample
from .test_commands import wheel_of

pytestmark = pytest.mark.slow

_CONSUMER = "Requires-Dist: lib>=1.0\nRequires-Dist: lib[fast]<2\n"


@pytest.fixture
def index(locked: Sample, wheels: Path, tmp_path: Path) -> Path:
    """Return an index with upstream's release, what it requires, a consumer of it, and the built wheels."""
    folder = tmp_path / "index"
    write_wheel(folder, "packaging", "24.0", {"packaging/__init__.py": b""})
    write_wheel(folder, "fastmath", "1.5", {"fastmath.py": b""}, metadata="Provides-Extra: gpu\n")
    write_wheel(folder, "anymath", "1.0", {"anymath.py": b""})
    write_wheel(folder, "consumer", "1.0", {"consumer.py": b"import lib\n"}, metadata=_CONSUMER)
    for wheel in (*wheels.glob("*.whl"), *(locked.environment.index or Path()).glob("*.whl")):
        (folder / wheel.name).write_bytes(wheel.read_bytes())
    return folder


@pytest.fixture
def upstream(index: Path) -> Path:
    """Return upstream's own release.

    It is installed as a file: to an index that holds both, ``lib==1.2.3`` means the companion, whose local
    version counts as equal and as newer.
    """
    return index / ARCHIVE


@pytest.fixture
def at_hand(venv: Venv, index: Path) -> Venv:
    """Return the virtual environment, served from the index."""
    return replace(venv, environment=replace(venv.environment, index=index))


def started(venv: Venv) -> str:
    return venv.python("-c", "import lib; print(lib.Engine().start())").out.strip()


def installed(venv: Venv) -> set[str]:
    """Return everything in the environment, installer's leftovers aside."""
    ignored = {"__pycache__", "_virtualenv.py", "_virtualenv.pth"}
    # pip removes even site-packages itself when nothing is left in it.
    return {path.name for path in venv.folder.glob("lib/python*/site-packages/*") if path.name not in ignored}


@VENV_MOSTLY_BY_UV
def test_an_upstream_that_was_there_is_displaced_and_not_mixed(at_hand: Venv, locked: Sample, upstream: Path) -> None:
    at_hand.install(upstream, "consumer")
    assert started(at_hand) == "upstream"
    assert (at_hand.site / "lib/stale.py").is_file()
    at_hand.install("app-npu")
    assert started(at_hand) == "npu+upstream"
    assert not (at_hand.site / "lib/stale.py").exists()
    names = {path.name for path in at_hand.site.glob("lib*.dist-info")}
    assert names == {f"lib-{locked.lib_version}.dist-info", f"lib_npu-{locked.lib_version}.dist-info"}
    checked = at_hand.check()
    assert checked.code == 0, checked.out + checked.err
    assert at_hand.python("-c", "import app; print(app.run())").out == "app:npu+upstream\n"


@VENV_MOSTLY_BY_UV
def test_wheels_named_on_the_command_line_displace_it_as_well(at_hand: Venv, wheels: Path, upstream: Path) -> None:
    at_hand.install(upstream)
    assert started(at_hand) == "upstream"
    at_hand.install(*sorted(wheels.glob("*.whl")))
    assert started(at_hand) == "npu+upstream"
    assert not (at_hand.site / "lib/stale.py").exists()


def test_without_dependencies_the_companions_go_first(at_hand: Venv, wheels: Path, upstream: Path) -> None:
    # pip knows no order of its own without dependencies: it would remove upstream after our files are there.
    at_hand.install(upstream)
    patched = sorted(wheels.glob("*_npu-*.whl"))
    at_hand.install("--no-deps", *sorted(set(wheels.glob("*.whl")) - set(patched)))
    at_hand.install("--no-deps", *patched)
    assert started(at_hand) == "npu+upstream"
    assert not (at_hand.site / "lib/stale.py").exists()


@VENV_MOSTLY_BY_UV
def test_a_consumer_of_upstream_is_content_with_the_companion(at_hand: Venv, locked: Sample) -> None:
    at_hand.install(f"lib-npu=={locked.lib_version}")
    before = installed(at_hand)
    at_hand.install("consumer")
    assert {name.partition("-")[0] for name in installed(at_hand) - before} == {
        "consumer",
        "consumer.py",
        "anymath",
        "anymath.py",
        "fastmath",
        "fastmath.py",
    }
    assert started(at_hand) == "npu+upstream"
    version = at_hand.python("-c", "import importlib.metadata as m; print(m.version('lib'))")
    assert version.out.strip() == locked.lib_version
    checked = at_hand.check()
    assert checked.code == 0, checked.out + checked.err


@VENV_MOSTLY_BY_UV
def test_check_would_notice_a_missing_companion(at_hand: Venv, wheels: Path) -> None:
    at_hand.install("--no-deps", wheel_of(wheels, "lib_npu"))
    checked = at_hand.check()
    assert checked.code != 0
    assert "lib" in checked.out + checked.err


@VENV_MOSTLY_BY_UV
def test_the_summary_lists_what_is_installed(at_hand: Venv) -> None:
    at_hand.install("app-npu")
    for package in ("app_npu_summary", "lib_npu_summary"):
        done = at_hand.python("-m", package)
        assert done.code == 0, done.err
        assert "lib" in done.out
        assert "app" in done.out
        assert "Engine" in done.out
    reasons = at_hand.python("-m", "lib_npu_summary", "--why")
    assert "Says that it is patched." in reasons.out


@VENV_MOSTLY_BY_UV
def test_the_summary_works_with_one_of_the_two_alone(at_hand: Venv, wheels: Path) -> None:
    at_hand.install("--no-deps", wheel_of(wheels, "app_npu"))
    done = at_hand.python("-m", "app_npu_summary")
    assert done.code == 0, done.err
    assert "run" in done.out
    assert "Engine" not in done.out


@VENV_MOSTLY_BY_UV
def test_the_summary_of_a_wheel_and_of_its_installation_are_the_same(at_hand: Venv, wheels: Path) -> None:
    at_hand.install("--no-deps", wheel_of(wheels, "lib_npu"))
    for style in ((), ("--why",), ("--format", "json"), ("--format", "yaml"), ("--diff",)):
        ours = at_hand.environment.ok("summary", wheel_of(wheels, "lib_npu"), *style).out
        assert at_hand.python("-m", "lib_npu_summary", *style).out == ours


@VENV_MOSTLY_BY_UV
def test_a_script_of_upstream_is_installed(at_hand: Venv) -> None:
    at_hand.install("lib-npu")
    done = at_hand.environment.succeed(at_hand.folder / "bin" / "lib-run")
    assert done.out == "lib npu+upstream upstream main\n"


@VENV_MOSTLY_BY_UV
def test_uninstalling_leaves_nothing(at_hand: Venv) -> None:
    before = installed(at_hand)
    at_hand.install("app-npu")
    at_hand.python("-m", "lib_npu_summary")
    assert installed(at_hand) != before
    at_hand.uninstall("app-npu", "app", "lib-npu", "lib", "packaging", "fastmath", "anymath")
    assert installed(at_hand) == before
    assert not (at_hand.folder / "bin" / "lib-run").exists()


@VENV_MOSTLY_BY_UV
def test_upstream_comes_back_cleanly_after_uninstalling(at_hand: Venv, upstream: Path) -> None:
    at_hand.install("lib-npu")
    at_hand.uninstall("lib-npu", "lib")
    at_hand.install(upstream)
    assert started(at_hand) == "upstream"
