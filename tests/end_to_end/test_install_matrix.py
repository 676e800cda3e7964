"""The install matrix: the oldest pip, the newest pip and uv, offline; fresh, over upstream, upgraded, removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.marks import MOSTLY_BY_UV, rarely

from .cell import INTACT, CellEnvironment, make_cell
from .shelf import NEWER, Shelf, tree_of

pytestmark = pytest.mark.slow


def as_built(cell: CellEnvironment, revision: int = 1) -> None:
    """See that a revision of both is there, whole, paired, and nothing else of ours."""
    lib, app = (cell.shelf.version(name, revision) for name in ("lib", "app"))
    assert cell.registered() == {"lib": lib, "lib_npu": lib, "app": app, "app_npu": app}
    assert cell.start() == ("npu+upstream" if revision == 1 else "npu2+upstream")
    assert (cell.venv.site / "lib/npu.py").exists() == (revision == 1)
    assert (cell.venv.site / "lib/second.py").exists() == (revision == 2)
    assert cell.verify() == INTACT
    assert cell.check() == 0


def test_fresh(empty: CellEnvironment) -> None:
    empty.install_pair()
    as_built(empty)
    for summary in ("app_npu_summary", "lib_npu_summary"):
        done = empty.venv.python("-m", summary)
        assert (done.code, done.err) == (0, "")
        assert all(text in done.out for text in ("lib Patch Summary", "app Patch Summary", "Engine"))
    assert "Says that it is patched." in empty.venv.python("-m", "lib_npu_summary", "--why").out
    script = empty.venv.environment.succeed(empty.venv.folder / "bin" / "lib-run")
    assert script.out == "lib npu+upstream upstream main\n"
    assert empty.venv.python("-c", "import app; print(app.run())").out == "app:npu+upstream\n"


@MOSTLY_BY_UV
def test_one_wheel_alone_tells_what_the_summary_of_its_file_tells(empty: CellEnvironment) -> None:
    (wheel,) = (empty.shelf.folder / "revision-1").glob("lib_npu-*.whl")
    empty.install("--no-deps", wheel)
    for style in ((), ("--why",), ("--format", "json"), ("--format", "yaml"), ("--diff",)):
        told = empty.venv.python("-m", "lib_npu_summary", *style)
        assert (told.code, told.out) == (0, empty.venv.environment.ok("summary", wheel, *style).out)
    told = empty.venv.python("-m", "lib_npu_summary")
    assert ("Engine" in told.out, "app Patch Summary" in told.out) == (True, False)


@MOSTLY_BY_UV
def test_fresh_from_files_in_reverse_order(empty: CellEnvironment) -> None:
    # Upstream is there, so that an installer that kept to the order given would mix the two.
    empty.install(empty.shelf.release)
    assert (empty.venv.site / "lib/stale.py").exists()
    empty.install(*reversed(empty.shelf.wheels()))
    as_built(empty)
    assert not (empty.venv.site / "lib/stale.py").exists()


def test_without_dependencies_the_companions_go_first(empty: CellEnvironment) -> None:
    # pip knows no order of its own without dependencies: it would remove upstream after our files are there.
    empty.install(empty.shelf.release)
    patched = [wheel for wheel in empty.shelf.wheels() if "_npu-" in wheel.name]
    empty.install("--no-deps", *sorted(set(empty.shelf.wheels()) - set(patched)))
    empty.install("--no-deps", *patched)
    assert empty.start() == "npu+upstream"
    assert not (empty.venv.site / "lib/stale.py").exists()


@MOSTLY_BY_UV
def test_fresh_without_compiling(empty: CellEnvironment) -> None:
    compiling = ("--compile-bytecode",) if empty.is_uv else ("--no-compile",)
    empty.install(*compiling, empty.shelf.pinned("app-npu"), empty.shelf.pinned("lib-npu"))
    assert any(empty.venv.site.glob("lib/__pycache__/*.pyc")) == empty.is_uv
    as_built(empty)


@pytest.mark.parametrize("before", ["release", *rarely("consumer", "newer", "whole")])
def test_over_upstream(empty: CellEnvironment, before: str) -> None:
    there = {"release": str(empty.shelf.release), "newer": f"lib=={NEWER}"}.get(before, before)
    empty.seeing("index").install(there)
    assert empty.start() in ("upstream", "newer")
    empty.install_pair()
    as_built(empty)
    assert not (empty.venv.site / "lib/stale.py").exists()
    assert not (empty.venv.site / "lib/fresh.py").exists()


@MOSTLY_BY_UV
@pytest.mark.parametrize("consumer", ["consumer", *rarely("whole")])
def test_over_upstream_together_with_what_requires_it(empty: CellEnvironment, consumer: str) -> None:
    # `lib[all]` makes the companion require lib-npu, which requires the companion: a circle for pip to break.
    empty.seeing("index").install("lib==1.2.3")
    empty.install(consumer, empty.shelf.pinned("lib-npu"), empty.shelf.pinned("app-npu"))
    as_built(empty)
    assert not (empty.venv.site / "lib/stale.py").exists()


@MOSTLY_BY_UV
@pytest.mark.parametrize("consumer", ["consumer", *rarely("whole")])
def test_consumer_of_upstream_installed_afterwards(pair: CellEnvironment, consumer: str) -> None:
    assert pair.reaction("install", consumer) == "silent"
    as_built(pair)


@MOSTLY_BY_UV
def test_upgraded_and_downgraded(pair: CellEnvironment) -> None:
    as_built(pair, 1)
    for revision in (2, 1):
        pair.install_pair(revision)
        as_built(pair, revision)


def test_upgraded_by_name_alone(pair: CellEnvironment) -> None:
    pair.install("--upgrade", "app-npu")
    if not pair.is_uv:  # which upgrades what is required, too
        assert pair.verify() == (1, {"pair of another build"})
        pair.repair()
    as_built(pair, 2)


def test_upgraded_by_both_names(pair: CellEnvironment, request: pytest.FixtureRequest) -> None:
    """As the install page says it."""
    pair.install("--upgrade", "app-npu", "lib-npu")
    if "oldest pip" in request.node.name:  # which keeps what the other requires, named or not
        assert pair.verify() == (1, {"pair of another build"})
        pair.install_pair(2)
    as_built(pair, 2)


@MOSTLY_BY_UV
def test_the_newest_partner_is_not_always_the_one(empty: CellEnvironment) -> None:
    # Installers compare public versions: to them any build of the partner will do, and the newest is the best.
    empty.install(empty.shelf.pinned("app-npu"))
    assert empty.check() == 0
    assert empty.verify() == (1, {"pair of another build"})
    empty.repair()
    as_built(empty)


@MOSTLY_BY_UV
@pytest.mark.parametrize("alone", ["lib-npu", *rarely("app-npu")])
@pytest.mark.parametrize(
    "options", [*rarely(((),), ids=["with what it requires"]), pytest.param(("--no-deps",), id="alone")]
)
def test_one_of_the_pair_upgraded(pair: CellEnvironment, alone: str, options: tuple[str, ...]) -> None:
    companion = (pair.shelf.pinned(alone.removesuffix("-npu"), 2),) if options else ()
    assert pair.reaction("install", *options, *companion, pair.shelf.pinned(alone, 2)) == "silent"
    # Only verify knows which overlay and revision the other was made for.
    assert pair.check() == 0
    code, kinds = pair.verify()
    assert (code, "pair of another build" in kinds) == (1, True)
    pair.repair()
    assert pair.check() == 0


@pytest.mark.parametrize("companion", ["lib", *rarely("app")])
def test_companion_upgraded_alone(pair: CellEnvironment, companion: str) -> None:
    told = pair.reaction("install", "--upgrade", f"{companion}=={pair.shelf.version(companion, 2)}")
    assert told == ("silent" if pair.is_uv else "warns")
    assert pair.check() == 1
    assert pair.verify() == (1, {"companion replaced"})
    pair.repair()
    as_built(pair)


@MOSTLY_BY_UV
def test_reinstalled(pair: CellEnvironment) -> None:
    pair.install(pair.again, pair.shelf.pinned("app-npu"), pair.shelf.pinned("lib-npu"))
    as_built(pair)


@MOSTLY_BY_UV
def test_edited_and_reinstalled(pair: CellEnvironment) -> None:
    # uv links files to its cache: what is edited in place is damaged there, and reinstalling alone brings it back.
    pair.install(pair.again, pair.shelf.pinned("app-npu"), pair.shelf.pinned("lib-npu"))
    for name in ("lib/core.py", "app.py"):
        with (pair.venv.site / name).open("ab") as file:
            file.write(b"# edited in place\n")
    assert pair.verify() == (1, {"modified", "companion damaged"})
    pair.repair()
    as_built(pair)


def test_uninstalled(pair: CellEnvironment, bare: Path) -> None:
    # Bytecode that Python wrote since goes as well.
    compiled = pair.venv.python("-c", "import app, lib.extra")
    assert compiled.code == 0, compiled.err
    for summary in ("app_npu_summary", "lib_npu_summary"):
        assert pair.venv.python("-m", summary, "--verify").code == 0
    assert tree_of(pair.venv.folder) != tree_of(bare)
    pair.venv.uninstall("app-npu", "app", "lib-npu", "lib", "packaging", "fastmath", "anymath")
    assert tree_of(pair.venv.folder) == tree_of(bare)
    pair.told.append("nothing left")


@MOSTLY_BY_UV
@pytest.mark.parametrize("name", ["app-npu", "lib", *rarely("lib-npu", "app")])
def test_one_of_the_four_uninstalled(pair: CellEnvironment, name: str) -> None:
    summary = "lib_npu_summary" if name == "app-npu" else "app_npu_summary"
    kind = {"lib-npu": "pair missing", "app-npu": "companion alone"}.get(name, "companion missing")
    assert pair.reaction("uninstall", name) == "silent"
    # A companion that is left alone requires nothing; what misses its own does.
    assert pair.check() == (0 if name == "app-npu" else 1)
    assert pair.verify(summary) == (1, {kind})
    pair.repair(summary)
    as_built(pair)


@MOSTLY_BY_UV
def test_two_revisions_side_by_side(
    pair: CellEnvironment, installer: str, bare: Path, shelf: Shelf, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = make_cell(installer, bare, shelf, tmp_path / "other", pair.told)
    other.install_pair(2)
    as_built(pair, 1)
    as_built(other, 2)
