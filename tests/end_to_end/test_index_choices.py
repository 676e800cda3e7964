"""What installers take from indexes that have the pair, upstream's releases or both: as the documents' table says."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import chain, product
from pathlib import Path

import pytest

from environments.once import once
from support.environment import Environment
from support.http_server import served
from support.installers import INSTALLERS, copy_installer, make_installer
from support.wheelhouse import PROJECT

from .choices import ARRANGEMENTS, ASKED, REQUIREMENTS, IndexChoice, cases, choose, fill_market, row, told

pytestmark = pytest.mark.slow

DOCUMENTS = [PROJECT / "docs" / name for name in ("package-index.md", "package-index.zh-CN.md")]
COLUMNS = [*product((False, True), INSTALLERS)]
# A hundred and twenty-eight times pip: minutes.
PIPS = [pytest.mark.slow, pytest.mark.thorough]
_ROWS = {row(key, ()).removesuffix(" |"): key for key in product(ASKED, REQUIREMENTS, ARRANGEMENTS)}


def table(document: Path) -> dict[tuple[str, str, str], list[str]]:
    """Return the cells of a document's table by what is asked for, what that requires, and the indexes."""
    found = {}
    for line in document.read_text("utf-8").splitlines():
        parts = line.removesuffix(" |").split(" | ")
        if key := _ROWS.get(" | ".join(parts[:3])):
            found[key] = parts[3:]
    return found


Chooser = Callable[[str, IndexChoice], str]


@pytest.fixture
def chooser(shared: Path, pips: Path, tmp_path: Path) -> Iterator[Chooser]:
    """Return what lets an installer, by its name, choose in an environment of its own, and says what is there then."""
    market = once(shared, "market", fill_market)
    extra = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "UV_OFFLINE": "0", "UV_FIND_LINKS": ""}
    environment = Environment(folder=tmp_path, extra=extra)

    def chosen(installer: str, case: IndexChoice) -> str:
        name = f"choosing-{installer.replace(' ', '-')}"
        template = once(shared, name, lambda place: make_installer(installer, place, environment, pips))
        venv = copy_installer(installer, template, tmp_path / "venv", environment)
        try:
            return choose(case, venv, market, there.url)
        finally:
            shutil.rmtree(venv.folder)

    with served(market / "site") as there:
        yield chosen


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("installer", [pytest.param(name, marks=[] if name == "uv" else PIPS) for name in INSTALLERS])
def test_what_is_chosen_is_what_the_documents_say(installer: str, arrangement: str, chooser: Chooser) -> None:
    seen = {case: chooser(installer, case) for case in cases(arrangement)}
    assert not [f"{case}: {what}" for case, what in seen.items() if what.startswith("mixed")]
    for asked, consumer, constrained in product(ASKED, REQUIREMENTS, (False, True)):
        key, column = (asked, consumer, arrangement), COLUMNS.index((constrained, installer))
        cell = told(
            {before: seen[IndexChoice.of(key, constrained=constrained, before=before)] for before in (False, True)}
        )
        said = [table(document)[key] for document in DOCUMENTS]
        assert [cells[column] for cells in said] == [cell] * 2, (key, constrained)


def test_with_constraints_upstreams_code_is_never_taken() -> None:
    for document in DOCUMENTS:
        rows = table(document)
        assert len(rows) == len(_ROWS)
        constrained = set(chain.from_iterable(cells[len(INSTALLERS) :] for cells in rows.values()))
        assert constrained <= {"ours", "companion", "refused"}
        named = [cells for (asked, _, _), cells in rows.items() if asked.startswith("lib-npu")]
        assert set(chain.from_iterable(named)) <= {"ours", "refused"}


def test_with_constraints_pip_takes_the_pair_though_a_newer_upstream_is_there(chooser: Chooser) -> None:
    key = ("lib-npu consumer", "consumer", "merged")
    assert chooser("newest pip", IndexChoice.of(key, constrained=True, before=True)) == "ours"
